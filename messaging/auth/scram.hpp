#pragma once
#include <string>
#include <string_view>

#include "messaging/auth/credentials.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// A fresh nonce: 24 random bytes in base64.
std::string makeNonce(const RandomSource& random);

/// The server's half of SCRAM (RFC 5802, RFC 7677) as a state machine over the messages of the exchange. No input but
/// its arguments. All failures are AuthenticationFailed (18) with a reason for the log; tell the client only
/// "Authentication failed."
class ScramServer {
 public:
  /// `nonce`: this side's part, from `makeNonce`.
  ScramServer(Mechanism mechanism, std::string nonce) : mechanism_(mechanism), nonce_(std::move(nonce)) {}

  /// Takes the client's first message ("n,,n=user,r=nonce"); `user()` is known afterwards and its credentials can be
  /// read.
  Status clientFirst(std::string_view message);
  const std::string& user() const { return user_; }
  Mechanism mechanism() const { return mechanism_; }

  /// The server's first message ("r=...,s=...,i=..."). Pass `decoyCredentials` for users that do not exist.
  std::string challenge(ScramCredentials credentials);

  /// Takes the client's final message and checks its proof; gives the server's final message ("v=...").
  StatusWith<std::string> clientFinal(std::string_view message);
  bool proven() const { return phase_ == Phase::kProven; }

 private:
  enum class Phase { kStart, kUserKnown, kChallenged, kProven, kFailed };
  Status fail(std::string reason);

  Mechanism mechanism_;
  Phase phase_ = Phase::kStart;
  std::string nonce_;  // the combined one once the client's is known
  std::string user_;
  std::string gs2Header_;
  std::string clientFirstBare_;
  std::string serverFirst_;
  ScramCredentials credentials_;
};

/// The client's half.
class ScramClient {
 public:
  /// `preparedPassword` from `preparePassword`; `nonce` from `makeNonce`.
  ScramClient(Mechanism mechanism, std::string_view user, std::string preparedPassword, std::string nonce);

  std::string first() const;
  /// Takes the server's first message, gives the client's final one. Errors: AuthenticationFailed (a nonce that is not
  /// ours, fewer than 4096 iterations, a malformed message).
  StatusWith<std::string> final(std::string_view serverFirst);
  /// Checks that the server knows the password as well. Errors: AuthenticationFailed.
  Status verify(std::string_view serverFinal) const;

 private:
  Mechanism mechanism_;
  std::string password_;
  std::string nonce_;
  std::string firstBare_;
  std::string serverSignature_;
};

}  // namespace troupe::auth
