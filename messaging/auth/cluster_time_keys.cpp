#include "messaging/auth/cluster_time_keys.hpp"

#include <algorithm>
#include <utility>

#include "messaging/auth/crypto.hpp"

namespace troupe::auth {

namespace {

constexpr uint32_t kSharedBits = 0xffff;

/// Most significant byte first.
std::string signedBytesOf(bson::Timestamp time) {
  const uint64_t value = time.asUint64();
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

}  // namespace

std::optional<SigningKey> SigningKey::of(bson::View stored) {
  const bson::Element id = stored["_id"], key = stored["key"], expires = stored["expiresAt"];
  if (!id.isNumber() || !key.is(bson::Type::kBinary) || !expires.is(bson::Type::kTimestamp)) return std::nullopt;
  if (stored["purpose"].toStringOr() != kPurpose || key.asBinary().bytes.size() != kSecretBytes) return std::nullopt;
  return SigningKey{id.toInt64(), std::string(key.asBinary().bytes), expires.asTimestamp(), {}};
}

bson::Document SigningKey::toDocument() const {
  return bson::doc("_id", id, "purpose", kPurpose, "key", bson::Binary{bson::kBinaryGeneric, secret}, "expiresAt",
                   expiresAt);
}

bson::Timestamp lastProvenWith(bson::Timestamp time) { return {time.seconds, time.increment | kSharedBits}; }

TimeProof proofOf(const SigningKey& key, bson::Timestamp time) {
  return {hmac(Mechanism::kScramSha1, key.secret, signedBytesOf(lastProvenWith(time))), key.id};
}

KeyRing::KeyRing(std::vector<SigningKey> keys) : keys_(std::move(keys)) {
  std::ranges::sort(keys_, {}, [](const SigningKey& key) { return std::pair(key.expiresAt, key.id); });
}

const SigningKey* KeyRing::signer(bson::Timestamp time, bson::Timestamp committed) const {
  const auto found = std::ranges::find_if(
      keys_, [&](const SigningKey& key) { return key.expiresAt > time && key.since <= committed; });
  return found == keys_.end() ? nullptr : &*found;
}

const SigningKey* KeyRing::find(int64_t id, bson::Timestamp time) const {
  const auto found =
      std::ranges::find_if(keys_, [&](const SigningKey& key) { return key.id == id && key.expiresAt > time; });
  return found == keys_.end() ? nullptr : &*found;
}

Status KeyRing::verify(bson::Timestamp time, const TimeProof& proof) const {
  const SigningKey* const key = find(proof.keyId, time);
  if (!key)
    return {ErrorCode::kKeyNotFound, "No key with the id " + std::to_string(proof.keyId) +
                                         " is known that signs cluster times of " + std::to_string(time.seconds) +
                                         " seconds"};
  if (equalInConstantTime(proofOf(*key, time).hash, proof.hash)) return Status::OK();
  return {ErrorCode::kTimeProofMismatch, "The signature of the cluster time does not match"};
}

}  // namespace troupe::auth
