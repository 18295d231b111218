#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "storage/records/record_id.hpp"

namespace troupe::storage {

/// The ids of one collection that have been seen. Grows with them: charge `bytes` where a client decides how many there
/// are. Not thread-safe.
class RecordIdSet {
 public:
  /// False when the id was there already.
  bool insert(const RecordId& id) {
    const bool isNew = id.isBytes() ? insertBytes(id.bytes()) : insertNumber(id.number());
    size_ += isNew;
    return isNew;
  }
  bool contains(const RecordId& id) const {
    if (id.isBytes()) return strings_.contains(std::string(id.bytes()));
    const auto found = numbers_.find(id.number() >> kShift);
    return found != numbers_.end() && (found->second & bit(id.number())) != 0;
  }
  size_t size() const { return size_; }
  /// The memory it holds, about.
  int64_t bytes() const {
    const size_t buckets = numbers_.bucket_count() + strings_.bucket_count();
    return static_cast<int64_t>(numbers_.size() * kNumbersNode + strings_.size() * kStringNode +
                                buckets * sizeof(void*) + longStrings_);
  }

 private:
  // Of the allocator, with its own header.
  static constexpr size_t kNumbersNode = 32, kStringNode = 64, kStringHeader = 16;
  static constexpr int kShift = 6;

  static uint64_t bit(int64_t number) { return uint64_t{1} << (number & ((1 << kShift) - 1)); }
  bool insertNumber(int64_t number) {
    uint64_t& seen = numbers_[number >> kShift];
    const bool isNew = (seen & bit(number)) == 0;
    seen |= bit(number);
    return isNew;
  }
  bool insertBytes(std::string_view bytes) {
    const auto [at, isNew] = strings_.emplace(bytes);
    static const size_t kInPlace = std::string().capacity();
    if (isNew && at->capacity() > kInPlace) longStrings_ += at->capacity() + kStringHeader;
    return isNew;
  }

  /// A bit for each number, 64 a row: most scans see many neighbours. One that has none takes no more than in a set.
  std::unordered_map<int64_t, uint64_t> numbers_;
  std::unordered_set<std::string> strings_;
  size_t size_ = 0;
  size_t longStrings_ = 0;  ///< what those take that do not fit their node
};

}  // namespace troupe::storage
