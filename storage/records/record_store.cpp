#include "storage/records/record_store.hpp"

#include <boost/container/small_vector.hpp>
#include <boost/endian/conversion.hpp>
#include <memory>
#include <utility>

#include "storage/oplog/oplog_key.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

namespace {

/// A document begins with its length and ends with a zero byte.
bool isFramed(std::string_view bytes) {
  constexpr size_t kSmallest = 5;
  return bytes.size() >= kSmallest && bytes.back() == '\0' &&
         boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(bytes.data())) == bytes.size();
}

/// What a unit of work has added to the sizes of tables, to be taken back when it is rolled back. One sum a table: a
/// handler for each of the thousands of documents of a large unit would cost more than the counting.
class SizeChanges final : public BoundState {
 public:
  static SizeChanges& of(RecoveryUnit& unit) {
    if (BoundState* const bound = unit.unitState(UnitPart::kSizes)) return static_cast<SizeChanges&>(*bound);
    auto owned = std::make_unique<SizeChanges>();
    SizeChanges& made = *owned;
    unit.onRollback([&made] { made.takeBack(); });  // runs before the unit lets go of its parts
    unit.bindToUnit(UnitPart::kSizes, std::move(owned));
    return made;
  }
  void add(const std::shared_ptr<SizeInfo>& size, int64_t records, int64_t bytes) {
    // Writes of one collection follow each other; a table that comes again later gets another sum.
    if (changes_.empty() || changes_.back().size != size) changes_.push_back({size, 0, 0});
    changes_.back().records += records;
    changes_.back().bytes += bytes;
  }

 private:
  struct Change {
    std::shared_ptr<SizeInfo> size;
    int64_t records, bytes;
  };
  void takeBack() const {
    for (const Change& each : changes_) {
      each.size->records.fetch_sub(each.records, std::memory_order_relaxed);
      each.size->bytes.fetch_sub(each.bytes, std::memory_order_relaxed);
      each.size->dirty.store(true, std::memory_order_relaxed);
    }
  }
  boost::container::small_vector<Change, 2> changes_;
};

}  // namespace

StatusWith<bool> RecordCursor::arrived() {
  const std::string_view key = cursor_->key();
  const bool isKey = kind_ == RecordIds::kNumbers ? key.size() == RecordKey::kNumberSize : !key.empty();
  if (isKey) [[likely]] {
    RecordKey::decode(key, kind_, id_);
    if (acceptDamaged_ || isFramed(cursor_->value())) [[likely]]
      return true;
  }
  return Status(ErrorCode::kDataCorruptionDetected, "a record of the table " + table_.ident + " is no document" +
                                                        (isKey ? ", its id is " + id_.toString() : std::string()) +
                                                        "; run validate with repair");
}

StatusWith<bool> RecordCursor::next() {
  if (ended_) return false;
  bool found = true;
  if (!pending_) {
    TROUPE_ASSIGN(found, forward_ ? cursor_->next() : cursor_->previous());
  }
  return landed(found);
}

/// The visibility point was read before the snapshot was opened: what is committed up to it is in the snapshot. The
/// other way round an entry that was committed in between would lie below the point and not be in the snapshot, and be
/// passed over.
/// A read at a chosen time is bounded here, for the engine bounds only what a primary has written: entries that a
/// member has fetched have no commit times. A member's ordinary read, whose time is the end of its last batch, is not:
/// who fetches from this member reads all that is visible.
Status RecordCursor::bound(RecoveryUnit& unit) {
  end_.clear();
  if (kind_ != RecordIds::kTimes) return Status::OK();
  TROUPE_TRY(unit.begin());
  auto end = forward_ ? unit.oplogEnd() : std::nullopt;
  const auto chosen = unit.readSource() == ReadSource::kNoTimestamp ? std::nullopt : unit.readTimestamp();
  if (chosen && (!end || *chosen < *end)) end = chosen;
  if (end) end_ = OplogKey(*end);
  return Status::OK();
}

StatusWith<bool> RecordCursor::landed(bool found) {
  pending_ = false;
  if (found && isBeyondEnd()) [[unlikely]] {
    found = false;
    if (!forward_) {  // it begins at the end
      TROUPE_ASSIGN(found, cursor_->seekAtOrBefore(end_));
    }
  }
  ended_ = !found;
  if (!found) return false;
  return arrived();
}

StatusWith<bool> RecordCursor::seekExact(const RecordId& id) {
  TROUPE_ASSIGN(const bool found, cursor_->seek(RecordKey(id)));
  return landed(found && !isBeyondEnd());
}

StatusWith<bool> RecordCursor::seekNear(const RecordId& id) { return seekBytes(RecordKey(id)); }

StatusWith<bool> RecordCursor::seekBytes(std::string_view key) {
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
  return landed(found);
}

StatusWith<bool> RecordCursor::seekBehind(const RecordId& id) {
  if (!id.ok()) return next();
  const RecordKey key(id);
  TROUPE_ASSIGN(bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
  if (found && cursor_->key() == std::string_view(key)) {
    TROUPE_ASSIGN(found, forward_ ? cursor_->next() : cursor_->previous());
  }
  return landed(found);
}

void RecordCursor::save() { cursor_.reset(); }

StatusWith<bool> RecordCursor::restore(RecoveryUnit& unit) {
  TROUPE_TRY(bound(unit));
  TROUPE_ASSIGN(cursor_, unit.cursor(table_));
  pending_ = ended_ = false;
  if (!id_.ok()) return true;
  const RecordKey key(id_);
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
  ended_ = !found;
  if (!found) return false;
  pending_ = cursor_->key() != std::string_view(key);
  if (pending_) return false;
  return arrived();
}

StatusWith<RecordCursor> RecordStore::cursor(RecoveryUnit& unit, bool forward) const {
  RecordCursor result;
  TROUPE_ASSIGN(result.cursor_, unit.cursor(table_));
  result.table_ = table_;
  result.kind_ = kind_;
  result.forward_ = forward;
  TROUPE_TRY(result.bound(unit));
  return result;
}

StatusWith<int64_t> RecordStore::nextNumbers(RecoveryUnit& unit, int64_t count) {
  if (kind_ != RecordIds::kNumbers)
    return Status(ErrorCode::kInternalError, "the records of " + table_.ident + " need ids of their own");
  if (nextId_.load(std::memory_order_relaxed) == 0) {
    TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
    TROUPE_ASSIGN(const bool found, cursor->previous());
    if (found && cursor->key().size() != RecordKey::kNumberSize)
      return Status(ErrorCode::kDataCorruptionDetected, "the last record of " + table_.ident + " has no id");
    const int64_t next = found ? RecordKey::number(cursor->key()) + 1 : 1;
    int64_t none = 0;  // another thread may have looked meanwhile
    nextId_.compare_exchange_strong(none, next);
  }
  return nextId_.fetch_add(count, std::memory_order_relaxed);
}

void RecordStore::adjust(RecoveryUnit& unit, int64_t records, int64_t bytes) {
  size_->records.fetch_add(records, std::memory_order_relaxed);
  size_->bytes.fetch_add(bytes, std::memory_order_relaxed);
  size_->dirty.store(true, std::memory_order_relaxed);
  SizeChanges::of(unit).add(size_, records, bytes);
}

StatusWith<RecordId> RecordStore::reserveId(RecoveryUnit& unit) {
  TROUPE_ASSIGN(const int64_t number, nextNumbers(unit, 1));
  return RecordId(number);
}

StatusWith<RecordId> RecordStore::insert(RecoveryUnit& unit, std::string_view document) {
  TROUPE_ASSIGN(RecordId id, reserveId(unit));
  TROUPE_TRY(insertAt(unit, id, document));
  return id;
}

Status RecordStore::insertAt(RecoveryUnit& unit, const RecordId& id, std::string_view document) {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  TROUPE_TRY(cursor->insert(RecordKey(id), document));
  adjust(unit, 1, static_cast<int64_t>(document.size()));
  return Status::OK();
}

Status RecordStore::insertMany(RecoveryUnit& unit, std::span<const bson::View> documents, std::span<RecordId> ids) {
  TROUPE_ASSIGN(int64_t number, nextNumbers(unit, static_cast<int64_t>(documents.size())));
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  int64_t bytes = 0;
  for (size_t i = 0; i < documents.size(); ++i, ++number) {
    TROUPE_TRY(cursor->insert(RecordKey(number), documents[i].bytes()));
    bytes += documents[i].size();
    ids[i].set(number);
  }
  adjust(unit, static_cast<int64_t>(documents.size()), bytes);
  return Status::OK();
}

Status RecordStore::update(RecoveryUnit& unit, const RecordId& id, std::string_view document, int64_t oldSize) {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  TROUPE_TRY(cursor->update(RecordKey(id), document));
  const int64_t change = static_cast<int64_t>(document.size()) - oldSize;
  if (change != 0) adjust(unit, 0, change);
  return Status::OK();
}

Status RecordStore::update(RecoveryUnit& unit, RecordCursor& at, std::string_view document) {
  TROUPE_TRY(unit.writable(table_));
  const int64_t change = static_cast<int64_t>(document.size()) - at.document().size();
  TROUPE_TRY(at.cursor_->update(RecordKey(at.id()), document));
  if (change != 0) adjust(unit, 0, change);
  return Status::OK();
}

Status RecordStore::remove(RecoveryUnit& unit, const RecordId& id, int64_t oldSize) {
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(table_));
  TROUPE_TRY(cursor->remove(RecordKey(id)));
  adjust(unit, -1, -oldSize);
  return Status::OK();
}

Status RecordStore::truncateRange(RecoveryUnit& unit, std::string_view from, std::string_view to, int64_t records,
                                  int64_t bytes) {
  TROUPE_TRY(unit.truncate(table_, from, to));
  adjust(unit, -records, -bytes);
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
