#include "storage/query/plan/id_lookup.hpp"

namespace troupe::query {

StatusWith<PlanStage::Step> IdLookup::advance(Row& row) {
  if (done_) return Step::kEnd;
  done_ = true;
  TROUPE_ASSIGN(const auto id, plan_.collection->findById(*plan_.unit, id_.element()));
  if (!id) return Step::kEnd;
  ++keys_;
  ++plan_.stats.keysExamined;
  TROUPE_ASSIGN(cursor_, plan_.records().cursor(*plan_.unit));
  TROUPE_ASSIGN(const bool found, cursor_.seekExact(*id));
  if (!found) return Step::kEnd;
  ++documents_;
  ++plan_.stats.docsExamined;
  TROUPE_ASSIGN(const bool passes, filter_.passes(cursor_.document()));
  if (!passes) return Step::kEnd;
  row.document = cursor_.document();
  row.id = *id;
  row.key = {};
  return Step::kRow;
}

void IdLookup::describe(bson::Builder& out, bool counters) const {
  if (counters) out.append("keysExamined", keys_).append("docsExamined", documents_);
}

}  // namespace troupe::query
