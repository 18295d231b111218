#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// A stable sort that ends early when its operation has to: each comparison is a step of `work` (null: none). Once
/// interrupted, every comparison says "not less" at once, which the merges of std::stable_sort stand; the order of the
/// items means nothing then. Errors: those of the interrupt.
template <class T, class Less>
Status sortStably(std::vector<T>& items, QueryWork* work, const Less& less) {
  Status interrupted;
  bool ended = false;
  std::stable_sort(items.begin(), items.end(), [&](const T& a, const T& b) {
    if (ended) return false;
    if (work) {
      if (Status status = work->step(); !status.isOK()) [[unlikely]] {
        interrupted = std::move(status);
        ended = true;
        return false;
      }
    }
    return less(a, b);
  });
  return interrupted;
}

}  // namespace troupe::query
