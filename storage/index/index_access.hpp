#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "storage/index/index_cursor.hpp"
#include "storage/index/index_spec.hpp"
#include "storage/index/key_generator.hpp"
#include "storage/index/suspected_keys.hpp"

namespace troupe::storage {

/// Reads and writes the table of one index. Immutable but for the caller's recovery unit; thread-safe. Formats
/// (KEY-004/005):
/// `_id`: key -> RecordId and type bits; others: key and RecordId (see appendRecordId) -> type bits. Unique indexes
/// check by seeking the key, after touching it, so that two transactions adding the same key conflict.
class IndexAccess {
 public:
  IndexAccess(std::string ns, const IndexSpec& spec, Table table, RecordIds kind,
              std::shared_ptr<const bson::Collator> collator);

  struct WriteOptions {
    bool checkUnique = true;  ///< refuse a second record with the same key in a unique index
    bool building = false;  ///< an index build is scanning: removals leave a mark that makes its stale inserts conflict
    /// What is written is new to the collection. Otherwise documents that it holds are indexed again: `prepareUnique`
    /// refuses new duplicates alone (IDX-003).
    bool isNew = true;
    SuspectedKeys* suspects = nullptr;  ///< of a unique index: a second record is noted here, and not refused
  };
  /// Adds keys of a record. Errors: DuplicateKey (11000, with keyPattern and keyValue), WriteConflict.
  Status insertKeys(RecoveryUnit& unit, const KeySet& keys, const RecordId& id, const WriteOptions& options) const;
  Status removeKeys(RecoveryUnit& unit, const KeySet& keys, const RecordId& id, const WriteOptions& options) const;
  /// Removes `before` minus `after` and adds `after` minus `before`.
  Status updateKeys(RecoveryUnit& unit, const KeySet& before, const KeySet& after, const RecordId& id,
                    const WriteOptions& options) const;

  /// Adds a key without any check, as an index build does; false when a unique index holds it for another record
  /// already (the key is added nevertheless, and must be checked again with `firstDuplicate`).
  StatusWith<bool> insertForBuild(RecoveryUnit& unit, const IndexKey& key, const RecordId& id) const;
  /// The first key that more than one record has, among these or (nothing) all of the index. Errors: also that of a
  /// kill of the unit's operation.
  StatusWith<std::optional<IndexKey>> firstDuplicate(RecoveryUnit& unit,
                                                     const std::optional<std::vector<IndexKey>>& among) const;
  /// The row of a key, whose bytes are appended to `row`, and its value to `value`: for rows that are made in bulk.
  void appendRow(const IndexKey& key, const RecordId& id, std::string& row, std::string& value) const;
  /// Adds one exact row (repair).
  Status insertRow(RecoveryUnit& unit, const IndexKey& key, const RecordId& id) const;
  /// Removes one exact row (repair); true when it was there.
  StatusWith<bool> removeRow(RecoveryUnit& unit, std::string_view key, const RecordId& id) const;

  /// The record of an exact key in a unique index.
  StatusWith<std::optional<RecordId>> findUnique(RecoveryUnit& unit, std::string_view key) const;
  StatusWith<IndexCursor> cursor(RecoveryUnit& unit, bool forward = true) const;
  /// Counts the keys by walking them.
  StatusWith<int64_t> countKeys(RecoveryUnit& unit) const;
  Status duplicateKeyError(const IndexKey& key) const;

  const IndexSpec& spec() const { return spec_; }
  const KeyGenerator& generator() const { return generator_; }
  const Table& table() const { return table_; }
  const bson::Collator* collator() const { return collator_.get(); }

 private:
  /// Whether more than one record has the key.
  StatusWith<bool> hasDuplicate(RecoveryUnit& unit, std::string_view key) const;
  Status insertOne(Cursor& cursor, const IndexKey& key, const RecordId& id, const WriteOptions& options) const;
  Status removeOne(Cursor& cursor, const IndexKey& key, const RecordId& id, const WriteOptions& options) const;
  StatusWith<bool> heldByOther(Cursor& cursor, std::string_view key, const RecordId& id) const;

  std::string ns_;
  IndexSpec spec_;
  Table table_;
  RecordIds kind_;
  std::shared_ptr<const bson::Collator> collator_;
  KeyGenerator generator_;
};

}  // namespace troupe::storage
