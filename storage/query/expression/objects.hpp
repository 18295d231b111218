#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// Documents as $mergeObjects merges them, one after the other: a field stays where it was first, with its last value.
/// Takes time proportional to what is added, whatever it holds already.
class MergedFields {
 public:
  /// Counts its steps by `work`, which may be null, and sees to it that there is memory; who holds this charges
  /// `bytes`. Errors: ExceededMemoryLimit, those of an interrupt.
  Status add(bson::View over, QueryWork* work);
  void appendTo(bson::Builder& out) const;
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kPerField = 192;  ///< that a field takes beside its value and its name
  struct Field {
    std::string name;
    bson::Value value;
  };
  std::deque<Field> fields_;  // stable: `places_` borrows the names
  std::unordered_map<std::string_view, size_t> places_;
  size_t bytes_ = 0;
};

}  // namespace troupe::query
