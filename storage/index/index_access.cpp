#include "storage/index/index_access.hpp"

#include "messaging/bson/collation.hpp"
#include "storage/index/document_text.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
namespace {

/// The row of every index but `_id`.
std::string rowKey(std::string_view key, const RecordId& id) {
  std::string row;
  row.reserve(key.size() + id.bytes().size() + RecordKey::kNumberSize);
  row.append(key);
  appendRecordId(row, id);
  return row;
}

/// The bytes of the id in a row with just that key; empty when the row has another key, or none.
std::string_view idOfRow(std::string_view row, std::string_view key, RecordIds kind) {
  std::string_view rowKey, id;
  return splitIndexRow(row, kind, rowKey, id) && rowKey == key ? id : std::string_view();
}

}  // namespace

IndexAccess::IndexAccess(std::string ns, const IndexSpec& spec, Table table, RecordIds kind,
                         std::shared_ptr<const bson::Collator> collator)
    : ns_(std::move(ns)),
      spec_(spec),
      table_(std::move(table)),
      kind_(kind),
      collator_(std::move(collator)),
      generator_(spec_, collator_.get()) {}

Status IndexAccess::insertKeys(RecoveryUnit& unit, const KeySet& keys, const RecordId& id,
                               const WriteOptions& options) const {
  if (keys.keys.empty()) return Status::OK();
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  for (const auto& key : keys.keys) TROUPE_TRY(insertOne(*cursor, key, id, options));
  return Status::OK();
}

Status IndexAccess::removeKeys(RecoveryUnit& unit, const KeySet& keys, const RecordId& id,
                               const WriteOptions& options) const {
  if (keys.keys.empty()) return Status::OK();
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  for (const auto& key : keys.keys) TROUPE_TRY(removeOne(*cursor, key, id, options));
  return Status::OK();
}

Status IndexAccess::updateKeys(RecoveryUnit& unit, const KeySet& before, const KeySet& after, const RecordId& id,
                               const WriteOptions& options) const {
  auto oldKey = before.keys.begin();
  auto newKey = after.keys.begin();
  const auto oldEnd = before.keys.end();
  const auto newEnd = after.keys.end();
  Session::CursorLease cursor;
  std::vector<const IndexKey*> added;  // after all removals, so that a unique key can move within one document
  while (oldKey != oldEnd || newKey != newEnd) {
    const int order = oldKey == oldEnd ? 1 : newKey == newEnd ? -1 : oldKey->key.compare(newKey->key);
    if (order == 0 && oldKey->typeBits == newKey->typeBits) {
      ++oldKey, ++newKey;
      continue;
    }
    if (!cursor) {
      TROUPE_ASSIGN(cursor, unit.writeCursor(table_));
    }
    if (order <= 0) TROUPE_TRY(removeOne(*cursor, *oldKey++, id, options));
    if (order >= 0) added.push_back(&*newKey++);
  }
  for (const IndexKey* key : added) TROUPE_TRY(insertOne(*cursor, *key, id, options));
  return Status::OK();
}

Status IndexAccess::insertOne(Cursor& cursor, const IndexKey& key, const RecordId& id,
                              const WriteOptions& options) const {
  if (spec_.idIndex) {
    std::string value(RecordKey(id).operator std::string_view());
    Status status = cursor.insert(key.key, value.append(key.typeBits));
    return status == ErrorCode::kDuplicateKey ? duplicateKeyError(key) : status;
  }
  if (options.checkUnique && (spec_.unique || (spec_.prepareUnique && options.isNew))) {
    // Two transactions that add one key for different records write different rows: the bare key makes them meet.
    TROUPE_TRY(cursor.put(key.key, {}));
    TROUPE_TRY(cursor.remove(key.key));
    TROUPE_ASSIGN(const bool held, heldByOther(cursor, key.key, id));
    if (held && !options.suspects) return duplicateKeyError(key);
    if (held) options.suspects->note(key);
  }
  return cursor.put(rowKey(key.key, id), key.typeBits);
}

Status IndexAccess::removeOne(Cursor& cursor, const IndexKey& key, const RecordId& id,
                              const WriteOptions& options) const {
  Status status;
  if (spec_.idIndex) {
    status = cursor.remove(key.key);
  } else {
    const std::string row = rowKey(key.key, id);
    if (options.building) TROUPE_TRY(cursor.put(row, {}));
    status = cursor.remove(row);
  }
  return status == ErrorCode::kNoSuchKey ? Status::OK() : status;
}

StatusWith<bool> IndexAccess::heldByOther(Cursor& cursor, std::string_view key, const RecordId& id) const {
  const RecordKey own(id);
  TROUPE_ASSIGN(bool found, cursor.seekAtOrAfter(key));
  while (found && cursor.key().starts_with(key)) {
    const std::string_view holder = idOfRow(cursor.key(), key, kind_);
    if (!holder.empty() && holder != std::string_view(own)) return true;
    TROUPE_ASSIGN(found, cursor.next());
  }
  return false;
}

StatusWith<bool> IndexAccess::insertForBuild(RecoveryUnit& unit, const IndexKey& key, const RecordId& id) const {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  bool alone = true;
  if (spec_.unique) {
    TROUPE_TRY(cursor->put(key.key, {}));
    TROUPE_TRY(cursor->remove(key.key));
    TROUPE_ASSIGN(const bool held, heldByOther(*cursor, key.key, id));
    alone = !held;
  }
  TROUPE_TRY(cursor->put(rowKey(key.key, id), key.typeBits));
  return alone;
}

void IndexAccess::appendRow(const IndexKey& key, const RecordId& id, std::string& row, std::string& value) const {
  row.append(key.key);
  if (spec_.idIndex) value.append(RecordKey(id).operator std::string_view());
  else appendRecordId(row, id);
  value.append(key.typeBits);
}

Status IndexAccess::insertRow(RecoveryUnit& unit, const IndexKey& key, const RecordId& id) const {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  if (!spec_.idIndex) return cursor->put(rowKey(key.key, id), key.typeBits);
  return insertOne(*cursor, key, id, {});
}

StatusWith<bool> IndexAccess::hasDuplicate(RecoveryUnit& unit, std::string_view key) const {
  TROUPE_ASSIGN(auto rows, cursor(unit));
  rows.setEnd({std::string(key), true});
  TROUPE_ASSIGN(const bool first, rows.seek(key, true));
  if (!first) return false;
  return rows.next();
}

StatusWith<std::optional<IndexKey>> IndexAccess::firstDuplicate(
    RecoveryUnit& unit, const std::optional<std::vector<IndexKey>>& among) const {
  const auto mayGoOn = [&] {  // the operation's waiter minds its time
    return unit.operation() ? unit.operation()->checkForInterrupt({}) : Status::OK();
  };
  if (among) {
    for (const IndexKey& key : *among) {
      TROUPE_TRY(mayGoOn());
      TROUPE_ASSIGN(const bool duplicate, hasDuplicate(unit, key.key));
      if (duplicate) return std::optional(key);
    }
    return std::optional<IndexKey>();
  }
  TROUPE_ASSIGN(auto rows, cursor(unit));
  std::string last;
  for (bool isFirst = true;; isFirst = false) {
    TROUPE_TRY(mayGoOn());
    TROUPE_ASSIGN(const bool found, rows.next());
    if (!found) return std::optional<IndexKey>();
    if (!isFirst && rows.key() == last) return std::optional(IndexKey{last, std::string(rows.typeBits())});
    last = rows.key();
  }
}

StatusWith<bool> IndexAccess::removeRow(RecoveryUnit& unit, std::string_view key, const RecordId& id) const {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  Status status = cursor->remove(spec_.idIndex ? std::string(key) : rowKey(key, id));
  if (status == ErrorCode::kNoSuchKey) return false;
  if (!status.isOK()) return status;
  return true;
}

StatusWith<std::optional<RecordId>> IndexAccess::findUnique(RecoveryUnit& unit, std::string_view key) const {
  TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
  if (spec_.idIndex) {
    TROUPE_ASSIGN(const bool found, cursor->seek(key));
    if (!found) return std::optional<RecordId>();
    return std::optional(RecordId(RecordKey::number(cursor->value())));
  }
  TROUPE_ASSIGN(const bool found, cursor->seekAtOrAfter(key));
  const std::string_view holder = found ? idOfRow(cursor->key(), key, kind_) : std::string_view();
  if (holder.empty()) return std::optional<RecordId>();
  RecordId id;
  RecordKey::decode(holder, kind_, id);
  return std::optional(std::move(id));
}

StatusWith<IndexCursor> IndexAccess::cursor(RecoveryUnit& unit, bool forward) const {
  IndexCursor result;
  TROUPE_ASSIGN(result.cursor_, unit.cursor(table_));
  result.table_ = table_;
  result.kind_ = kind_;
  result.idIndex_ = spec_.idIndex;
  result.forward_ = forward;
  return result;
}

StatusWith<int64_t> IndexAccess::countKeys(RecoveryUnit& unit) const {
  TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
  for (int64_t count = 0;; ++count) {
    TROUPE_ASSIGN(const bool found, cursor->next());
    if (!found) return count;
  }
}

Status IndexAccess::duplicateKeyError(const IndexKey& key) const {
  const bson::Document value = generator_.describe(key);
  bson::Builder extra;
  extra.append("keyPattern", spec_.key).append("keyValue", value);
  std::string reason = "E11000 duplicate key error collection: " + ns_ + " index: " + spec_.name;
  if (!spec_.collation.empty()) {
    reason += " collation: " + documentText(spec_.collation);
    extra.append("collation", spec_.collation);
  }
  return {ErrorCode::kDuplicateKey, reason + " dup key: " + documentText(value), extra.finish()};
}

}  // namespace troupe::storage
