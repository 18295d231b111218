#include "storage/query/plan/collection_scan.hpp"

namespace troupe::query {

StatusWith<bool> CollectionScan::open() {
  TROUPE_ASSIGN(cursor_, plan_.records().cursor(*plan_.unit, forward_));
  open_ = true;
  if (!behind_.ok()) return false;
  TROUPE_ASSIGN(const bool isThere, cursor_.seekExact(behind_));
  if (isThere) return false;
  if (!fromNearest_)
    return Status(ErrorCode::kKeyNotFound,
                  "Failed to resume collection scan: the recordId from which we are attempting to resume no longer "
                  "exists in the collection: RecordId(" +
                      behind_.toString() + ")");
  TROUPE_ASSIGN(const bool found, cursor_.seekBehind(behind_));
  done_ = !found;
  return found;
}

StatusWith<bool> CollectionScan::next() {
  if (!open_) {
    TROUPE_ASSIGN(const bool stands, open());
    if (stands || done_) return stands;
  }
  return cursor_.next();
}

StatusWith<PlanStage::Step> CollectionScan::advance(Row& row) {
  if (done_) return Step::kEnd;
  for (; plan_.spend(); ++works_) {
    TROUPE_ASSIGN(const bool found, next());
    if (!found) {
      done_ = !tailable_;
      return Step::kEnd;
    }
    ++examined_;
    ++plan_.stats.docsExamined;
    const bson::View document = cursor_.document();
    TROUPE_ASSIGN(const bool passes, filter_.passes(document, plan_.parse.work));
    if (!passes) continue;
    row.document = document;
    row.id = cursor_.id();
    row.key = {};
    return Step::kRow;
  }
  return Step::kAgain;
}

void CollectionScan::onSave() {
  if (open_) cursor_.save();
}

Status CollectionScan::onRestore() {
  if (!open_ || done_) return Status::OK();
  const storage::RecordId last = cursor_.id();
  TROUPE_ASSIGN(const bool there, cursor_.restore(*plan_.unit));
  if (!there && last.ok() && forward_ && plan_.collection->isCapped() && !plan_.changesResults) {
    return {ErrorCode::kCappedPositionLost,
            "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(" +
                last.toString() + ")"};
  }
  return Status::OK();
}

void CollectionScan::describe(bson::Builder& out, bool counters) const {
  out.append("direction", forward_ ? "forward" : "backward");
  if (counters) out.append("docsExamined", examined_);
}

}  // namespace troupe::query
