#include "storage/oplog/oplog_store.hpp"

#include <algorithm>

#include "messaging/bson/validate.hpp"
#include "storage/engine/essential_table.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

bson::Timestamp after(bson::Timestamp time) { return bson::Timestamp::fromUint64(time.asUint64() + 1); }

/// When an entry was written: its `wall`, or the seconds of its time.
int64_t wallMillisOf(bson::Timestamp time, std::string_view entry) {
  if (bson::validate(entry, {.maxDepth = bson::kMaxInternalNesting}).isOK()) {
    const bson::Element wall = bson::View(entry.data())["wall"];
    if (wall.is(bson::Type::kDate)) return wall.asDate().millis;
  }
  return int64_t{time.seconds} * 1000;
}

}  // namespace

StatusWith<std::unique_ptr<OplogStore>> OplogStore::open(Engine& engine, SessionPool& pool, const OplogLimits& limits,
                                                         OplogVisibility& visibility, std::shared_ptr<SizeInfo> size) {
  TROUPE_ASSIGN(Table table, openEssentialTable(engine, kIdent, {.appMetadata = "formatVersion=1,recordIds=times"}));
  std::unique_ptr<OplogStore> store(new OplogStore(std::move(table), std::move(size), limits, visibility));
  OperationContext operation({.sessions = pool});
  RecoveryUnit& unit = operation.recoveryUnit();
  TROUPE_ASSIGN(const auto newest, store->newest(unit));
  store->scanEnd_ = newest.value_or(bson::Timestamp{});
  visibility.reset(store->scanEnd_);
  pool.setOplogVisibility(&visibility);
  return store;
}

Status OplogStore::insert(RecoveryUnit& unit, std::span<const OplogRow> entries) {
  if (entries.empty()) return Status::OK();
  bson::Timestamp newest;
  int64_t wallMillis = 0, bytes = 0;
  for (const OplogRow& entry : entries) {
    TROUPE_TRY(records_->insertAt(unit, RecordId(std::string(OplogKey(entry.time))), entry.document.bytes()));
    bytes += entry.document.size();
    if (entry.time > newest) {
      newest = entry.time;
      wallMillis = entry.wallMillis;
    }
  }
  unit.onCommit([this, newest, wallMillis, records = static_cast<int64_t>(entries.size()), bytes](auto) {
    markers_.add(newest, wallMillis, records, bytes);
  });
  return Status::OK();
}

void OplogStore::countWith(std::shared_ptr<SizeInfo> size) {
  const Table table = records_->table();
  records_.emplace(table, RecordIds::kTimes, std::move(size));
}

StatusWith<OplogCursor> OplogStore::cursor(RecoveryUnit& unit, bool forward) const {
  TROUPE_ASSIGN(auto records, records_->cursor(unit, forward));
  return OplogCursor(std::move(records));
}

StatusWith<std::optional<bson::Timestamp>> OplogStore::newest(RecoveryUnit& unit) const {
  TROUPE_ASSIGN(auto cursor, unit.cursor(table()));
  TROUPE_ASSIGN(const bool found, cursor->previous());
  return found ? std::optional(OplogKey::decode(cursor->key())) : std::nullopt;
}

StatusWith<std::optional<bson::Timestamp>> OplogStore::oldest(RecoveryUnit& unit) const {
  TROUPE_ASSIGN(auto cursor, unit.cursor(table()));
  TROUPE_ASSIGN(const bool found, cursor->next());
  return found ? std::optional(OplogKey::decode(cursor->key())) : std::nullopt;
}

Status OplogStore::noteBeginning(RecoveryUnit& unit) {
  TROUPE_ASSIGN(auto cursor, unit.cursor(table()));
  TROUPE_ASSIGN(const bool found, cursor->seekAtOrAfter(OplogKey(truncatedTo_)));
  const bson::Timestamp oldest = found ? OplogKey::decode(cursor->key()) : bson::Timestamp{};
  beginning_.store(oldest.asUint64(), std::memory_order_relaxed);
  return Status::OK();
}

StatusWith<bool> OplogStore::scan(RecoveryUnit& unit, int maxEntries) {
  if (scanEnd_ == bson::Timestamp{}) return true;
  TROUPE_ASSIGN(auto cursor, unit.cursor(table()));
  TROUPE_ASSIGN(bool found, cursor->seekAtOrAfter(OplogKey(after(scanned_))));
  for (int entries = 0; found; ++entries) {
    const bson::Timestamp time = OplogKey::decode(cursor->key());
    if (time > scanEnd_) break;
    if (entries == maxEntries) return false;
    markers_.addOlder(time, wallMillisOf(time, cursor->value()), static_cast<int64_t>(cursor->value().size()));
    scanned_ = time;
    TROUPE_ASSIGN(found, cursor->next());
  }
  markers_.finishOlder();
  scanEnd_ = {};
  return true;
}

StatusWith<bool> OplogStore::truncateOldest(RecoveryUnit& unit, int64_t nowMillis, std::optional<bson::Timestamp> pin) {
  const auto oldest = markers_.expired(nowMillis, pin);
  if (!oldest) return false;
  WriteUnitOfWork work(unit);
  // From where the last truncation ended: the engine would walk over all that it has removed before.
  TROUPE_TRY(records_->truncateRange(unit, OplogKey(truncatedTo_), OplogKey(after(oldest->last)), oldest->records,
                                     oldest->bytes));
  TROUPE_TRY(work.commit());
  truncatedTo_ = oldest->last;
  markers_.dropOldest();
  return true;
}

Status OplogStore::cutAfter(RecoveryUnit& unit, bson::Timestamp point) {
  WriteUnitOfWork work(unit);
  int64_t records = 0, bytes = 0;
  int64_t counted = 0, countedBytes = 0;  // entries that the markers include already
  {
    TROUPE_ASSIGN(auto cursor, unit.cursor(table()));
    TROUPE_ASSIGN(bool found, cursor->seekAtOrAfter(OplogKey(after(point))));
    while (found) {
      const bson::Timestamp time = OplogKey::decode(cursor->key());
      const auto size = static_cast<int64_t>(cursor->value().size());
      const bool known = scanEnd_ == bson::Timestamp{} || time <= scanned_ || time > scanEnd_;
      ++records;
      bytes += size;
      counted += known;
      countedBytes += known ? size : 0;
      TROUPE_ASSIGN(found, cursor->next());
    }
  }
  TROUPE_TRY(records_->truncateRange(unit, OplogKey(after(point)), {}, records, bytes));
  TROUPE_TRY(work.commit());
  markers_.cutAfter(point, counted, countedBytes);
  scanEnd_ = std::min(scanEnd_, point);
  visibility_.reset(point);
  return Status::OK();
}

/// The next log may begin before this one did.
Status OplogStore::clear(RecoveryUnit& unit) {
  WriteUnitOfWork work(unit);
  TROUPE_TRY(records_->truncate(unit));
  TROUPE_TRY(work.commit());
  markers_.clear();
  truncatedTo_ = scanEnd_ = scanned_ = {};
  visibility_.reset({});
  return Status::OK();
}

}  // namespace troupe::storage
