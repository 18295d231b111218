#include "storage/oplog/truncate_after_point.hpp"

#include "messaging/bson/document.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/catalog/shown_table.hpp"
#include "storage/engine/essential_table.hpp"
#include "storage/records/record_id.hpp"

namespace troupe::storage {
namespace {

constexpr int64_t kRow = 1;

}  // namespace

StatusWith<std::unique_ptr<TruncateAfterPoint>> TruncateAfterPoint::open(Catalog& catalog) {
  Engine& engine = catalog.engine();
  TROUPE_ASSIGN(Table table, openEssentialTable(engine, kIdent));
  std::unique_ptr<TruncateAfterPoint> point(new TruncateAfterPoint(catalog, std::move(table)));
  TROUPE_TRY(point->load());
  TROUPE_TRY(showTable(catalog, {"local", "replset.oplogTruncateAfterPoint"}, kIdent, {}).status());
  return point;
}

Status TruncateAfterPoint::load() {
  TROUPE_ASSIGN(auto session, engine_.openSession());
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(table_));
  TROUPE_ASSIGN(const bool found, cursor->seek(RecordKey(kRow)));
  if (!found) return {};
  const auto damaged = [] {
    return Status(ErrorCode::kDataCorruptionDetected,
                  "the document of local.replset.oplogTruncateAfterPoint is damaged; resync this member");
  };
  if (!bson::validate(cursor->value(), {.maxDepth = bson::kMaxInternalNesting}).isOK()) return damaged();
  const bson::Element stored = bson::View(cursor->value().data())[kIdent];
  if (!stored.is(bson::Type::kTimestamp)) return damaged();
  point_ = stored.asTimestamp();
  count(cursor->value().size());
  return {};
}

void TruncateAfterPoint::count(size_t bytes) {
  const auto size = catalog_.sizes().of(kIdent);
  size->records = 1;
  size->bytes = static_cast<int64_t>(bytes);
  size->dirty = true;
}

bson::Timestamp TruncateAfterPoint::get() const {
  const std::lock_guard lock(mutex_);
  return point_;
}

Status TruncateAfterPoint::set(bson::Timestamp point) {
  const std::lock_guard lock(mutex_);
  if (point == point_) return {};
  const auto lent = catalog_.pool().borrow();
  std::unique_ptr<Session> own;
  if (!lent.isOK()) {  // all are lent: the log is flushed nevertheless
    TROUPE_ASSIGN(own, engine_.openSession());
  }
  Session* const session = own ? own.get() : lent->get();
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(table_));
  const bson::Document row = bson::doc("_id", kIdent, kIdent, point);
  TROUPE_TRY(cursor->put(RecordKey(kRow), row.bytes()));
  cursor.reset();
  TROUPE_TRY(session->commit());
  point_ = point;
  count(row.view().size());
  return {};
}

}  // namespace troupe::storage
