#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace troupe::storage {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// A hash map whose copies share their buckets: copying costs one pointer a bucket, and a change copies one bucket.
/// Keys are strings. A copy is a value of its own; concurrent reads are safe, changes need the only reference to this
/// copy.
template <class Key, class Value>
class ShardedMap {
 public:
  using Bucket = std::unordered_map<Key, Value, StringHash, std::equal_to<>>;

  const Value* find(std::string_view key) const {
    const auto& bucket = buckets_[slot(key)];
    if (!bucket) return nullptr;
    auto it = bucket->find(key);
    return it == bucket->end() ? nullptr : &it->second;
  }
  void put(std::string_view key, Value value) {
    auto bucket = copyOf(key);
    size_ += bucket->insert_or_assign(Key(key), std::move(value)).second;
    buckets_[slot(key)] = std::move(bucket);
  }
  void erase(std::string_view key) {
    if (!find(key)) return;
    auto bucket = copyOf(key);
    bucket->erase(bucket->find(key));
    buckets_[slot(key)] = std::move(bucket);
    --size_;
  }
  template <class F>
  void each(F&& use) const {
    for (const auto& bucket : buckets_)
      if (bucket)
        for (const auto& [key, value] : *bucket) use(key, value);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr size_t kBuckets = 128;
  static size_t slot(std::string_view key) { return StringHash{}(key) >> 7 & (kBuckets - 1); }
  std::shared_ptr<Bucket> copyOf(std::string_view key) const {
    const auto& bucket = buckets_[slot(key)];
    return bucket ? std::make_shared<Bucket>(*bucket) : std::make_shared<Bucket>();
  }

  std::array<std::shared_ptr<const Bucket>, kBuckets> buckets_;
  size_t size_ = 0;
};

}  // namespace troupe::storage
