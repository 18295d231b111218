#include "storage/validation/lost_documents.hpp"

#include <set>

#include "messaging/bson/validate.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

/// Records whose keys are written in one unit of work.
constexpr int kRecordsPerUnit = 1000;
constexpr size_t kNamedAtMost = 10;

Status indexRecord(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index, std::string_view bytes,
                   const RecordId& id) {
  const auto size = bson::validate(bytes);
  if (!size.isOK() || static_cast<size_t>(*size) != bytes.size()) return {};  // validation removes it
  const bson::View document(bytes.data());
  if (!index.covers(document)) return {};
  KeySet keys;
  if (!index.access->generator().generate(document, keys).isOK()) return {};  // validation names it
  if (keys.multikey) TROUPE_TRY(collection.noteMultikey(unit, index, keys));
  const Status written = index.access->insertKeys(unit, keys, id, {.isNew = false});
  return written == ErrorCode::kDuplicateKey ? Status::OK() : written;
}

/// Goes on behind `last`; true at the end.
StatusWith<bool> indexSome(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index, RecordId& last) {
  WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(auto cursor, collection.records().cursor(unit));
  cursor.acceptDamaged();
  TROUPE_ASSIGN(bool found, cursor.seekBehind(last));
  for (int records = 0; found && records < kRecordsPerUnit; ++records) {
    last = cursor.id();
    TROUPE_TRY(indexRecord(unit, collection, index, cursor.bytes(), last));
    TROUPE_ASSIGN(found, cursor.next());
  }
  cursor.save();
  TROUPE_TRY(work.commit());
  return !found;
}

}  // namespace

StatusWith<MissingRecords> missingRecords(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index) {
  MissingRecords missing;
  std::set<RecordId> counted;  // an index has several keys of a document with an array
  TROUPE_ASSIGN(auto records, collection.records().cursor(unit));
  records.acceptDamaged();
  TROUPE_ASSIGN(auto rows, index.access->cursor(unit));
  for (;;) {
    TROUPE_ASSIGN(const bool more, rows.next());
    if (!more) return missing;
    TROUPE_ASSIGN(const bool found, records.seekExact(rows.id()));
    if (found || !counted.insert(rows.id()).second) continue;
    if (++missing.count <= static_cast<int64_t>(kNamedAtMost))
      missing.first.push_back(
          index.access->generator().describe({std::string(rows.key()), std::string(rows.typeBits())}));
  }
}

Status rebuildIndex(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index) {
  {
    WriteUnitOfWork work(unit);
    TROUPE_TRY(unit.truncate(index.access->table(), {}, {}));
    TROUPE_TRY(work.commit());
  }
  RecordId last;
  for (;;) {
    TROUPE_ASSIGN(const bool done, indexSome(unit, collection, index, last));
    if (done) return {};
  }
}

}  // namespace troupe::storage
