#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "storage/engine/engine.hpp"
#include "storage/records/record_id.hpp"
#include "storage/records/size_storer.hpp"

namespace troupe::storage {

class RecoveryUnit;

/// A forward or backward walk over a record store within the recovery unit's snapshot. The document is borrowed and
/// valid until the next call. After the unit abandoned its snapshot (a yield): `save()` before, `restore()` after.
/// A record that cannot be a document (its length or last byte does not fit, or its key is no id) is
/// DataCorruptionDetected. What lies within was checked when it was written, and has the checksum of its block since.
class RecordCursor {
 public:
  RecordCursor() = default;
  /// Moves to the next record in the cursor's direction; false at the end.
  StatusWith<bool> next();
  /// Positions exactly on `id`; false when there is none.
  StatusWith<bool> seekExact(const RecordId& id);
  /// Positions on `id` or the nearest after it in the cursor's direction; false at the end.
  StatusWith<bool> seekNear(const RecordId& id);
  /// Positions behind `id` in the cursor's direction, or on the first record where there is no id; false at the end.
  StatusWith<bool> seekBehind(const RecordId& id);
  /// As seekNear for bytes that need not be a whole key.
  StatusWith<bool> seekBytes(std::string_view key);
  const RecordId& id() const { return id_; }
  bson::View document() const { return bson::View(cursor_->value().data()); }
  /// The raw value, for validation (bytes may be corrupt).
  std::string_view bytes() const { return cursor_->value(); }
  /// Lets records pass that are no documents: validation names and removes them.
  void acceptDamaged() { acceptDamaged_ = true; }
  /// Gives pages and cursor back; the position is kept by id.
  void save();
  /// Takes a cursor in the new snapshot. True when the record is still there; when false, `next` goes on behind it.
  StatusWith<bool> restore(RecoveryUnit& unit);

 private:
  friend class RecordStore;
  StatusWith<bool> landed(bool found);
  /// Takes the id and looks at the document of the row on which the engine's cursor stands.
  StatusWith<bool> arrived();
  /// Sets `end_`, which only cursors of the oplog have: the visibility point of the unit's snapshot (forward), but not
  /// beyond the time that the unit was told to read at.
  Status bound(RecoveryUnit& unit);
  bool isBeyondEnd() const { return !end_.empty() && cursor_->key() > end_; }
  Table table_;
  Session::CursorLease cursor_;
  RecordId id_;
  std::string end_;  ///< the last key that is shown; empty: all are
  RecordIds kind_ = RecordIds::kNumbers;
  bool forward_ = true;
  bool pending_ = false;  ///< the engine's cursor already stands on the record `next` must return
  bool ended_ = false;
  bool acceptDamaged_ = false;
};

/// The documents of one collection: RecordId -> bytes in one table. Ids are numbers that the store gives, or bytes that
/// the caller gives (RecordIds). Shared by all catalog versions of its collection;
/// thread-safe: state is atomic and every call works in the caller's recovery unit. Writes need a unit of work. Sizes
/// follow commits: they are adjusted when written and taken back when the unit rolls back. Errors of all calls:
/// WriteConflict (retry the unit), and the engine's.
class RecordStore {
 public:
  RecordStore(Table table, RecordIds kind, std::shared_ptr<SizeInfo> size)
      : table_(std::move(table)), kind_(kind), size_(std::move(size)) {}

  RecordIds kind() const { return kind_; }
  /// Adds a document under the next number.
  StatusWith<RecordId> insert(RecoveryUnit& unit, std::string_view document);
  /// The next number, for a document that `insertAt` adds under it. One that is not used stays a gap.
  StatusWith<RecordId> reserveId(RecoveryUnit& unit);
  /// Adds documents under consecutive numbers, written to `ids`.
  Status insertMany(RecoveryUnit& unit, std::span<const bson::View> documents, std::span<RecordId> ids);
  /// Adds a document under a given id. Errors: DuplicateKey.
  Status insertAt(RecoveryUnit& unit, const RecordId& id, std::string_view document);
  /// `oldSize` is the size of the document that is replaced. Errors: NoSuchKey.
  Status update(RecoveryUnit& unit, const RecordId& id, std::string_view document, int64_t oldSize);
  /// Replaces the record on which the cursor stands, without another search.
  Status update(RecoveryUnit& unit, RecordCursor& at, std::string_view document);
  /// Errors: NoSuchKey.
  Status remove(RecoveryUnit& unit, const RecordId& id, int64_t oldSize);
  /// Removes everything.
  Status truncate(RecoveryUnit& unit);
  /// Removes the rows of the keys from <= key < to (empty: to the end), which the caller has counted.
  Status truncateRange(RecoveryUnit& unit, std::string_view from, std::string_view to, int64_t records, int64_t bytes);
  /// Calls `use(View)` with the borrowed document; false when there is none.
  template <class F>
  StatusWith<bool> find(RecoveryUnit& unit, const RecordId& id, F&& use) const {
    TROUPE_ASSIGN(auto cursor, this->cursor(unit));
    TROUPE_ASSIGN(const bool found, cursor.seekExact(id));
    if (found) use(cursor.document());
    return found;
  }
  StatusWith<RecordCursor> cursor(RecoveryUnit& unit, bool forward = true) const;

  /// Exact after a clean stop; approximate after a crash until `validate` corrects it.
  int64_t count() const { return std::max<int64_t>(0, size_->records.load(std::memory_order_relaxed)); }
  int64_t dataBytes() const { return std::max<int64_t>(0, size_->bytes.load(std::memory_order_relaxed)); }
  void correctSize(int64_t records, int64_t bytes);
  const Table& table() const { return table_; }

 private:
  StatusWith<int64_t> nextNumbers(RecoveryUnit& unit, int64_t count);
  void adjust(RecoveryUnit& unit, int64_t records, int64_t bytes);

  Table table_;
  RecordIds kind_;
  std::shared_ptr<SizeInfo> size_;
  std::atomic<int64_t> nextId_{0};  ///< 0 until the last key has been looked up
};

}  // namespace troupe::storage
