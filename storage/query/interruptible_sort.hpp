#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// The steps of comparing two values or keys of so many bytes: what they have in common is read.
constexpr int64_t stepsOfComparing(size_t a, size_t b) { return stepsFor(std::min(a, b)); }

/// The steps that one comparison counts for: elements may be large.
struct ComparisonSteps {
  template <class T>
  int64_t operator()(const T&, const T&) const {
    return 1;
  }
  int64_t operator()(const bson::Element& a, const bson::Element& b) const {
    return stepsOfComparing(a.valueSize(), b.valueSize());
  }
};

/// The most fields that values may be sorted by, those of a compound key.
inline constexpr size_t kMaxSortFields = 32;

/// The steps of comparing elements by their fields: each is looked up in both.
struct FieldComparisonSteps {
  size_t fields;
  int64_t operator()(const bson::Element& a, const bson::Element& b) const {
    return stepsFor(std::max<size_t>(1, fields) * (size_t{a.valueSize()} + b.valueSize()));
  }
};

/// A stable sort that ends early when its operation has to: each comparison is work of `work` (null: none). Once
/// interrupted, every comparison says "not less" at once, which the merges of std::stable_sort stand; the order of the
/// items means nothing then. Errors: those of the interrupt.
template <class T, class Less, class Steps = ComparisonSteps>
Status sortStably(std::vector<T>& items, QueryWork* work, const Less& less, Steps steps = {}) {
  Status interrupted;
  bool ended = false;
  std::stable_sort(items.begin(), items.end(), [&](const T& a, const T& b) {
    if (ended) return false;
    if (work && !work->counts(steps(a, b))) [[unlikely]] {
      interrupted = work->look();
      ended = !interrupted.isOK();
      if (ended) return false;
    }
    return less(a, b);
  });
  return interrupted;
}

}  // namespace troupe::query
