#pragma once
#include <span>
#include <string>
#include <string_view>

#include "messaging/auth/crypto.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// The stored credentials of one mechanism; raw bytes. The password cannot be computed from them.
struct ScramCredentials {
  int iterationCount = 0;
  std::string salt;
  std::string storedKey;
  std::string serverKey;
};

inline constexpr int kDefaultIterationsSha1 = 10'000;
inline constexpr int kDefaultIterationsSha256 = 15'000;
/// Clients refuse servers that ask for fewer, servers refuse to store fewer.
inline constexpr int kMinIterations = 4096;
int defaultIterations(Mechanism mechanism);

/// The text that is hashed: for SHA-1 the MD5 digest of "user:mongo:password", for SHA-256 the SASLprepped password.
/// Errors: BadValue for a password that SASLprep refuses.
StatusWith<std::string> preparePassword(Mechanism mechanism, std::string_view user, std::string_view password);

/// Derives the keys from a prepared password. Takes milliseconds: that is its purpose.
ScramCredentials deriveCredentials(Mechanism mechanism, std::string_view preparedPassword, std::string_view salt,
                                   int iterations);

/// The iteration count of each mechanism (parameters scramIterationCount, scramSHA256IterationCount).
struct IterationCounts {
  int sha1 = kDefaultIterationsSha1;
  int sha256 = kDefaultIterationsSha256;
};

/// The `credentials` field of a user in admin.system.users: `{"SCRAM-SHA-1": {iterationCount, salt, storedKey,
/// serverKey}, ...}` with a fresh salt for each mechanism. Errors: BadValue (password or user name empty, password
/// refused).
StatusWith<bson::Document> makeUserCredentials(std::string_view user, std::string_view password,
                                               std::span<const Mechanism> mechanisms, const RandomSource& random,
                                               const IterationCounts& iterations = {});

/// Reads the credentials for a mechanism from that field. Errors: MechanismUnavailable when the user has none for it,
/// UnsupportedFormat when they are malformed.
StatusWith<ScramCredentials> readUserCredentials(bson::View credentials, Mechanism mechanism);

/// The names of the mechanisms a user has credentials for (hello's `saslSupportedMechs`): an array of strings.
bson::Value mechanismsOf(bson::View credentials);

/// Credentials that no password fits, for a user that does not exist: the same name gets the same salt as long as
/// `secret` (random bytes made at start-up) lives, so that a stranger cannot tell which users exist.
ScramCredentials decoyCredentials(Mechanism mechanism, std::string_view user, std::string_view database,
                                  std::string_view secret, const IterationCounts& iterations = {});

}  // namespace troupe::auth
