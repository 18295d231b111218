#include "storage/query/plan/index_plan.hpp"

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

bool IndexPlan::outgrown() const {
  for (size_t field = 0; field < index->spec.fields.size(); ++field)
    if ((exactBounds >> field & 1) && index->state->path(field) != 0) return true;
  return false;
}

void IndexPlan::explainBounds(bson::Builder& out, QueryWork* work) const {
  const bool collated = index->access && index->access->collator() != nullptr;
  out.openDocument("indexBounds");
  for (size_t i = 0; i < bounds.size(); ++i) {
    out.openArray(index->spec.fields[i].path);
    const bool backward = isDescending(i) == forward;
    for (size_t n = 0; n < bounds[i].size(); ++n) {
      const Interval& next = backward ? bounds[i][bounds[i].size() - 1 - n] : bounds[i][n];
      const size_t bytes = next.low.valueBytes().size() + next.high.valueBytes().size();
      if (out.size() + bytes > kMostExplained || (work && !work->step(stepsFor(4 * bytes)).isOK())) {
        out.push("...");
        break;
      }
      const Interval turned{next.high, next.low, next.highInclusive, next.lowInclusive};
      out.push((backward ? turned : next).text(collated));
    }
    out.close();
  }
  out.close();
}

}  // namespace troupe::query
