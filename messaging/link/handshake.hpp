#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "messaging/auth/random.hpp"
#include "messaging/link/frame.hpp"
#include "messaging/link/rejection.hpp"

namespace troupe::link {

/// A node's identity and limits, the same in each of its handshakes.
struct Identity {
  std::string node;                 ///< the own name, as "host:port"
  std::string key;                  ///< the cluster's key; empty: links without authentication
  size_t maxFrame = kLargestFrame;  ///< the largest frame this node takes
};

/// Keys that authenticate the two directions of one link; empty without the cluster's key.
struct LinkKeys {
  std::string outgoing, incoming;
};

/// The outcome of a handshake.
struct Established {
  std::string peer;     ///< name of the other node
  size_t maxFrame = 0;  ///< the largest frame the other side takes
  bool authenticated = false;
  LinkKeys keys = {};
};

/// Reaction to an input: send these bytes, if any; then either wait for the next frame, or close because of
/// `rejected`, or begin: `established`.
struct HandshakeStep {
  std::string send = {};
  std::optional<Rejected> rejected = {};
  std::optional<Established> established = {};
};

/// Mutual authentication of two nodes by the cluster's key, without sending it. Pure: bytes in, bytes out; chance is
/// given.
///
///   opener                             acceptor
///   magic, Hello(names, nonce)  ──▶
///                               ◀──    Challenge(nonce)
///   Proof("opener")             ──▶                         the opener first: who only connects learns nothing
///                               ◀──    Proof("acceptor")    as kWelcome
///
/// A proof is HMAC-SHA-256, under a key derived from the cluster's for this purpose alone, over the prover's role, the
/// version, both names, both nonces and both limits: it fits one direction of one handshake of one pair. The keys that
/// prove all that follows are derived from the same (HKDF), one for each direction.
class OpenerHandshake {
 public:
  /// `peer`: the node that is meant.
  OpenerHandshake(Identity self, std::string peer, const auth::RandomSource& random);
  /// The first bytes, magic included.
  std::string start() const;
  HandshakeStep take(const Frame& frame);

 private:
  HandshakeStep takeChallenge(const Frame& frame);
  HandshakeStep takeWelcome(const Frame& frame);
  Identity self_;
  std::string peer_, nonce_, transcript_;
  size_t peerMaxFrame_ = 0;
  FrameType due_ = FrameType::kChallenge;
};

class AcceptorHandshake {
 public:
  /// `anonymous`: whether links without authentication are taken from there; with a key they never are.
  AcceptorHandshake(Identity self, bool anonymous, const auth::RandomSource& random);
  HandshakeStep take(const Frame& frame);

 private:
  HandshakeStep takeHello(const Frame& frame);
  HandshakeStep takeProof(const Frame& frame);
  Identity self_;
  bool anonymous_;
  std::string nonce_, transcript_;
  Established agreed_;
  FrameType due_ = FrameType::kHello;
};

/// The last frame of a connection, with the reason for its end.
std::string closingFrame(std::string_view reason);
/// The reason in a frame of type kClosing.
std::string closingReason(const Frame& frame);

}  // namespace troupe::link
