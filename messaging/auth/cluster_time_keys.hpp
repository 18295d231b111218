#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// A key that signs cluster times: a document of `admin.system.keys` (CLK-008).
struct SigningKey {
  static constexpr size_t kSecretBytes = 20;
  static constexpr std::string_view kPurpose = "HMAC";

  int64_t id = 0;
  std::string secret;         ///< kSecretBytes bytes
  bson::Timestamp expiresAt;  ///< it proves earlier times only
  bson::Timestamp since;      ///< when it was written, where that is known; no part of its document

  /// Nothing for a document of another purpose or shape: newer servers may keep other keys beside these.
  static std::optional<SigningKey> of(bson::View stored);
  /// {_id, purpose, key, expiresAt}
  bson::Document toDocument() const;
};

/// Shows that a node of the cluster has given a time out: the HMAC-SHA1 of its eight bytes under a key that clients do
/// not have (CLK-006). The default is the one of nodes that sign nothing: zeros, and the key 0.
struct TimeProof {
  std::string hash = std::string(SigningKey::kSecretBytes, '\0');
  int64_t keyId = 0;

  bool isDummy() const { return keyId == 0; }
  bool operator==(const TimeProof&) const = default;
};

/// The last time that has the same proof: all times of a second that differ in the low 16 bits of their increment share
/// one, so that a busy node need not sign for each reply.
bson::Timestamp lastProvenWith(bson::Timestamp time);

/// Pure; takes about a microsecond.
TimeProof proofOf(const SigningKey& key, bson::Timestamp time);

/// The keys that a node knows. A plain value.
class KeyRing {
 public:
  KeyRing() = default;
  explicit KeyRing(std::vector<SigningKey> keys);

  const std::vector<SigningKey>& keys() const { return keys_; }  ///< the first to expire first
  /// The key that signs this time: of those that have not expired then, and were written at `committed` or before, the
  /// first that will expire. Null: there is none.
  const SigningKey* signer(bson::Timestamp time, bson::Timestamp committed) const;
  /// The key of that id, if it may prove the time. Null: there is none.
  const SigningKey* find(int64_t id, bson::Timestamp time) const;
  /// Errors: KeyNotFound (no key of that id proves such a time), TimeProofMismatch.
  Status verify(bson::Timestamp time, const TimeProof& proof) const;

 private:
  std::vector<SigningKey> keys_;
};

}  // namespace troupe::auth
