#include "storage/query/plan/index_plan.hpp"

#include <algorithm>

namespace troupe::query {

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
