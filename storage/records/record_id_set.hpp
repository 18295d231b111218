#pragma once
#include <string>
#include <unordered_set>

#include "storage/records/record_id.hpp"

namespace troupe::storage {

/// The ids of one collection that have been seen. Not thread-safe.
class RecordIdSet {
 public:
  /// False when the id was there already.
  bool insert(const RecordId& id) {
    return id.isBytes() ? bytes_.emplace(id.bytes()).second : numbers_.insert(id.number()).second;
  }
  bool contains(const RecordId& id) const {
    return id.isBytes() ? bytes_.contains(std::string(id.bytes())) : numbers_.contains(id.number());
  }
  size_t size() const { return numbers_.size() + bytes_.size(); }

 private:
  std::unordered_set<int64_t> numbers_;
  std::unordered_set<std::string> bytes_;
};

}  // namespace troupe::storage
