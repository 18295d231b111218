#include "storage/query/plan/index_plan.hpp"

#include <algorithm>

namespace troupe::query {

namespace {

/// A plan, and a scan with its cursor.
constexpr size_t kPlanBytes = 1024;

}  // namespace

/// A scan holds the bounds once more, as bytes of keys, and the conditions in a filter.
Status IndexPlan::charge(QueryWork* work, size_t free) {
  if (!work) return Status::OK();
  size_t bytes = kPlanBytes + 2 * sizeof(MatchExpression*) * (residual.size() + keyFilter.size());
  for (const Intervals& intervals : bounds)
    for (const Interval& interval : intervals)
      bytes += 2 * (sizeof(Interval) + interval.low.element().size() + interval.high.element().size());
  return bytes > free ? memory.resize(work->memory(), static_cast<int64_t>(bytes)) : Status::OK();
}

void IndexPlan::explainBounds(bson::Builder& out) const {
  const bool collated = index->access && index->access->collator() != nullptr;
  out.openDocument("indexBounds");
  for (size_t i = 0; i < bounds.size(); ++i) {
    out.openArray(index->spec.fields[i].path);
    Intervals shown = bounds[i];
    if (isDescending(i) == forward) {
      std::reverse(shown.begin(), shown.end());
      for (Interval& interval : shown) {
        std::swap(interval.low, interval.high);
        std::swap(interval.lowInclusive, interval.highInclusive);
      }
    }
    for (const Interval& interval : shown) out.push(interval.text(collated));
    out.close();
  }
  out.close();
}

}  // namespace troupe::query
