#include "storage/records/record_store.hpp"

#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

StatusWith<bool> RecordCursor::next() {
  if (ended_) return false;
  if (pending_) {
    pending_ = false;
  } else {
    TROUPE_ASSIGN(const bool found, forward_ ? cursor_->next() : cursor_->previous());
    if (!found) {
      ended_ = true;
      return false;
    }
  }
  id_ = RecordKey::decode(cursor_->key());
  return true;
}

StatusWith<bool> RecordCursor::seekExact(RecordId id) {
  pending_ = false;
  TROUPE_ASSIGN(const bool found, cursor_->seek(RecordKey(id)));
  ended_ = !found;
  if (found) id_ = id;
  return found;
}

StatusWith<bool> RecordCursor::seekNear(RecordId id) {
  pending_ = false;
  const RecordKey key(id);
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
  ended_ = !found;
  if (found) id_ = RecordKey::decode(cursor_->key());
  return found;
}

void RecordCursor::save() { cursor_.reset(); }

StatusWith<bool> RecordCursor::restore(RecoveryUnit& unit) {
  TROUPE_ASSIGN(cursor_, unit.cursor(table_));
  pending_ = ended_ = false;
  if (!id_.ok()) return true;
  const RecordKey key(id_);
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
  ended_ = !found;
  if (!found) return false;
  pending_ = RecordKey::decode(cursor_->key()) != id_;
  return !pending_;
}

StatusWith<RecordCursor> RecordStore::cursor(RecoveryUnit& unit, bool forward) const {
  RecordCursor result;
  TROUPE_ASSIGN(result.cursor_, unit.cursor(table_));
  result.table_ = table_;
  result.forward_ = forward;
  return result;
}

StatusWith<RecordId> RecordStore::nextIds(RecoveryUnit& unit, int64_t count) {
  if (nextId_.load(std::memory_order_relaxed) == 0) {
    TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
    TROUPE_ASSIGN(const bool found, cursor->previous());
    const int64_t next = found ? RecordKey::decode(cursor->key()).value + 1 : 1;
    int64_t none = 0;  // another thread may have looked meanwhile
    nextId_.compare_exchange_strong(none, next);
  }
  return RecordId{nextId_.fetch_add(count, std::memory_order_relaxed)};
}

void RecordStore::adjust(RecoveryUnit& unit, int64_t records, int64_t bytes) {
  size_->records.fetch_add(records, std::memory_order_relaxed);
  size_->bytes.fetch_add(bytes, std::memory_order_relaxed);
  size_->dirty.store(true, std::memory_order_relaxed);
  unit.onRollback([size = size_, records, bytes] {
    size->records.fetch_sub(records, std::memory_order_relaxed);
    size->bytes.fetch_sub(bytes, std::memory_order_relaxed);
    size->dirty.store(true, std::memory_order_relaxed);
  });
}

StatusWith<RecordId> RecordStore::insert(RecoveryUnit& unit, std::string_view document) {
  TROUPE_ASSIGN(const RecordId id, nextIds(unit, 1));
  TROUPE_TRY(insertAt(unit, id, document));
  return id;
}

Status RecordStore::insertAt(RecoveryUnit& unit, RecordId id, std::string_view document) {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  TROUPE_TRY(cursor->insert(RecordKey(id), document));
  adjust(unit, 1, static_cast<int64_t>(document.size()));
  return Status::OK();
}

Status RecordStore::insertMany(RecoveryUnit& unit, std::span<const bson::View> documents, std::span<RecordId> ids) {
  TROUPE_ASSIGN(RecordId id, nextIds(unit, static_cast<int64_t>(documents.size())));
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  int64_t bytes = 0;
  for (size_t i = 0; i < documents.size(); ++i, ++id.value) {
    TROUPE_TRY(cursor->insert(RecordKey(id), documents[i].bytes()));
    bytes += documents[i].size();
    ids[i] = id;
  }
  adjust(unit, static_cast<int64_t>(documents.size()), bytes);
  return Status::OK();
}

Status RecordStore::update(RecoveryUnit& unit, RecordId id, std::string_view document, int64_t oldSize) {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  TROUPE_TRY(cursor->update(RecordKey(id), document));
  const int64_t change = static_cast<int64_t>(document.size()) - oldSize;
  if (change != 0) adjust(unit, 0, change);
  return Status::OK();
}

Status RecordStore::update(RecoveryUnit& unit, RecordCursor& at, std::string_view document) {
  TROUPE_TRY(unit.writable());
  const int64_t change = static_cast<int64_t>(document.size()) - at.document().size();
  TROUPE_TRY(at.cursor_->update(RecordKey(at.id()), document));
  if (change != 0) adjust(unit, 0, change);
  return Status::OK();
}

Status RecordStore::remove(RecoveryUnit& unit, RecordId id, int64_t oldSize) {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  TROUPE_TRY(cursor->remove(RecordKey(id)));
  adjust(unit, -1, -oldSize);
  return Status::OK();
}

Status RecordStore::truncate(RecoveryUnit& unit) {
  TROUPE_TRY(unit.truncate(table_, {}, {}));
  adjust(unit, -size_->records.load(), -size_->bytes.load());
  return Status::OK();
}

void RecordStore::correctSize(int64_t records, int64_t bytes) {
  size_->records = records;
  size_->bytes = bytes;
  size_->dirty = true;
}

}  // namespace troupe::storage
