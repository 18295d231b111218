#include "actors/server/time_proofs.hpp"

#include <utility>
#include <vector>

namespace troupe::server {

StatusWith<std::shared_ptr<const auth::KeyRing>> TimeProofs::ring() {
  const uint64_t version = stored_.version();
  {
    const std::lock_guard lock(mutex_);
    if (ring_ && ringVersion_ == version) return ring_;
  }
  TROUPE_ASSIGN(const auto documents, stored_.all());
  std::vector<auth::SigningKey> keys;
  for (const auto& [_, known] : *documents) {
    auto key = auth::SigningKey::of(known.document);
    if (!key) continue;
    key->since = known.since;
    keys.push_back(std::move(*key));
  }
  const auto made = std::make_shared<const auth::KeyRing>(std::move(keys));
  const std::lock_guard lock(mutex_);
  ring_ = made;
  ringVersion_ = version;  // of before they were read: what changed meanwhile makes another ring
  provenWith_ = {};
  return made;
}

auth::TimeProof TimeProofs::sign(bson::Timestamp time) {
  const bson::Timestamp shared = auth::lastProvenWith(time);
  {
    const std::lock_guard lock(mutex_);
    if (ring_ && ringVersion_ == stored_.version() && provenWith_ == shared) return last_;
  }
  const auto ring = this->ring();
  const auth::SigningKey* const key = ring.isOK() ? (*ring)->signer(time, progress_.majority()) : nullptr;
  if (!key) return {};
  auth::TimeProof proof = auth::proofOf(*key, time);
  const std::lock_guard lock(mutex_);
  if (ring_ == *ring) {
    provenWith_ = shared;
    last_ = proof;
  }
  return proof;
}

Status TimeProofs::verify(bson::Timestamp time, bson::View signature) {
  const bson::Element hash = signature["hash"];
  auth::TimeProof given;
  given.keyId = signature["keyId"].toInt64();
  if (hash.is(bson::Type::kBinary)) given.hash = hash.asBinary().bytes;
  TROUPE_ASSIGN(const auto ring, this->ring());
  return ring->verify(time, given);
}

}  // namespace troupe::server
