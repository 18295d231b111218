#include "storage/query/plan/id_lookup.hpp"

#include "storage/query/plan/planner.hpp"

namespace troupe::query {

bool isIdLookup(const bson::Element& id, const storage::Collection& collection, const bson::Collator* collator) {
  if (id.is(bson::Type::kDocument) && id.asDocument().first().name().starts_with('$')) return false;
  return collection.hasIdKey() && isPointId(id, collection, collator);
}

StatusWith<IdMatch> matchById(const storage::Collection& collection, storage::RecoveryUnit& unit,
                              const bson::Element& id) {
  IdMatch match;
  if (collection.clusterKey()) {
    match.id = collection.clusteredId(id);
    TROUPE_ASSIGN(auto cursor, unit.cursor(collection.records().table()));
    TROUPE_ASSIGN(match.keyFound, cursor->seek(storage::RecordKey(match.id)));
    if (match.keyFound) match.record = std::move(cursor);
    return match;
  }
  TROUPE_ASSIGN(const auto record, collection.findById(unit, id));
  if (!record) return match;
  match.keyFound = true;
  match.id = *record;
  TROUPE_ASSIGN(auto cursor, unit.cursor(collection.records().table()));
  TROUPE_ASSIGN(const bool found, cursor->seek(storage::RecordKey(*record)));
  if (found) match.record = std::move(cursor);
  return match;
}

StatusWith<PlanStage::Step> IdLookup::advance(Row& row) {
  if (done_) return Step::kEnd;
  done_ = true;
  TROUPE_ASSIGN(match_, matchById(*plan_.collection, *plan_.unit, id_.element()));
  if (!match_.keyFound) return Step::kEnd;
  if (!plan_.collection->clusterKey()) {
    ++keys_;
    ++plan_.stats.keysExamined;
  }
  if (!match_.record) return Step::kEnd;
  ++documents_;
  ++plan_.stats.docsExamined;
  TROUPE_ASSIGN(const bool passes, filter_.passes(match_.document(), plan_.parse.work));
  if (!passes) return Step::kEnd;
  row.document = match_.document();
  row.id = match_.id;
  row.key = {};
  return Step::kRow;
}

std::string_view IdLookup::name() const { return plan_.collection->clusterKey() ? "CLUSTERED_IXSCAN" : "IDHACK"; }

void IdLookup::describe(bson::Builder& out, bool counters) const {
  if (plan_.collection->clusterKey()) {
    out.append("direction", "forward").append("minRecord", id_).append("maxRecord", id_);
    if (counters) out.append("docsExamined", documents_);
    return;
  }
  if (counters) out.append("keysExamined", keys_).append("docsExamined", documents_);
}

}  // namespace troupe::query
