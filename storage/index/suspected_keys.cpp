#include "storage/index/suspected_keys.hpp"

namespace troupe::storage {

namespace {
/// Of a node of the map and its two strings, beside their bytes.
constexpr size_t kBytesOfEntry = 128;
}  // namespace

void SuspectedKeys::note(const IndexKey& key) {
  const std::lock_guard lock(mutex_);
  if (all_ || !keys_.try_emplace(key.key, key.typeBits).second) return;
  bytes_ += key.key.size() + key.typeBits.size() + kBytesOfEntry;
  if (bytes_ <= kMostBytes) return;
  drop();
  all_ = true;
}

size_t SuspectedKeys::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void SuspectedKeys::suspectAll() {
  const std::lock_guard lock(mutex_);
  drop();
  all_ = true;
}

std::optional<std::vector<IndexKey>> SuspectedKeys::keys() const {
  const std::lock_guard lock(mutex_);
  if (all_) return std::nullopt;
  std::vector<IndexKey> keys;
  keys.reserve(keys_.size());
  for (const auto& [key, typeBits] : keys_) keys.push_back({key, typeBits});
  return keys;
}

void SuspectedKeys::clear() {
  const std::lock_guard lock(mutex_);
  drop();
  all_ = false;
}

void SuspectedKeys::drop() {
  keys_.clear();
  bytes_ = 0;
}

}  // namespace troupe::storage
