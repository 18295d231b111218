#include "storage/validation/validate.hpp"

#include <set>
#include <string_view>
#include <unordered_map>

#include "messaging/bson/validate.hpp"
#include "storage/index/document_text.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

using bson::Type;
using bson::View;

constexpr size_t kBuckets = size_t{1} << 18;
/// Inconsistent entries that the report names; further ones are only counted.
constexpr size_t kMaxNamed = 10'000;

size_t bucketOf(size_t index, std::string_view key, const RecordId& id) {
  uint64_t hash = std::hash<std::string_view>{}(key) ^ id.hash() ^ (index << 57);
  hash ^= hash >> 31;
  return (hash * 0xBF58476D1CE4E5B9ull) >> 46;
}

/// Duplicate names at any depth.
bool hasDuplicateNames(View document) {
  std::set<std::string_view> names;
  for (const auto& e : document) {
    if (!names.insert(e.name()).second) return true;
    if (e.isObjectLike() && hasDuplicateNames(e.asDocument())) return true;
  }
  return false;
}

}  // namespace

struct Validator::State {
  enum class Phase { kStart, kBlocks, kRecords, kIndexes, kRecordsAgain, kIndexesAgain, kFinish, kDone };
  struct Entry {
    size_t index;
    IndexKey key;
    RecordId id;
  };

  State(Catalog& c, CollectionPtr coll, ValidateSettings s, ValidateResult& r)
      : catalog(c), collection(std::move(coll)), settings(s), result(r), counters(kBuckets) {
    for (const auto& index : collection->indexes())
      if (index->ready) indexes.push_back(index);
  }

  Status start(RecoveryUnit& unit);
  Status checkCatalog(RecoveryUnit& unit);
  StatusWith<bool> blocks();
  StatusWith<bool> records(RecoveryUnit& unit, int maxRows, bool again);
  Status oneRecord(std::string_view bytes, const RecordId& id, bool again);
  Status documentKeys(View document, const RecordId& id, bool again);
  StatusWith<bool> indexRows(RecoveryUnit& unit, int maxRows, bool again);
  void oneRow(size_t number, const IndexCursor& row, bool again);
  bool consistent() const;
  Status nameFindings(RecoveryUnit& unit);
  StatusWith<bson::Document> describe(RecoveryUnit& unit, const Entry& entry) const;
  Status repair(RecoveryUnit& unit);
  Status repairMultikey(RecoveryUnit& unit);
  void finish();
  IndexFindings& findings(size_t number) { return result.indexes[indexes[number]->spec.name]; }
  /// An error that no repair can correct.
  void collectionError(std::string text) {
    repairable = false;
    result.errors.push_back(std::move(text));
  }
  void indexError(size_t number, std::string text) {
    findings(number).valid = false;
    if (findings(number).errors.size() < 20) findings(number).errors.push_back(std::move(text));
  }
  void rewind() {
    lastRecord = {};
    indexNumber = 0;
    lastRow.clear();
  }

  Catalog& catalog;
  CollectionPtr collection;
  ValidateSettings settings;
  ValidateResult& result;
  std::vector<IndexPtr> indexes;
  Phase phase = Phase::kStart;
  std::vector<int32_t> counters;
  RecordId lastRecord;
  size_t indexNumber = 0;
  std::string lastRow;  ///< key of the last index row seen
  RecordId lastRowId;
  int64_t bytes = 0;
  int64_t bytesRead = 0;
  std::vector<std::string> unchecked;                ///< tables whose blocks are still to be read back
  std::unique_ptr<BlockCheck> blockCheck;            ///< of the last of them
  bool readable = true;                              ///< no damaged block was found: reading one would end the engine
  std::unordered_map<std::string, Entry> unmatched;  ///< second pass: keys of documents without an index row so far
  std::vector<Entry> extra;
  std::map<size_t, KeySet> multikeyMissing;  ///< per index: what its flags lack
  std::vector<std::pair<RecordId, int64_t>> corrupt;
  bool tooMany = false;
  bool repairable = true;
};

Validator::Validator(Catalog& catalog, CollectionPtr collection, ValidateSettings settings)
    : state_(std::make_unique<State>(catalog, std::move(collection), settings, result_)) {}
Validator::~Validator() = default;
int64_t Validator::bytesRead() const { return state_->bytesRead; }

StatusWith<bool> Validator::step(RecoveryUnit& unit, int maxRows) {
  using Phase = State::Phase;
  State& s = *state_;
  const auto advance = [&](StatusWith<bool> done, Phase next) -> Status {
    if (!done.isOK()) return done.status();
    if (*done) {
      s.phase = next;
      if (next == Phase::kRecordsAgain) s.rewind();
    }
    return Status::OK();
  };
  switch (s.phase) {
    case Phase::kStart:
      TROUPE_TRY(s.start(unit));
      s.phase = s.settings.full ? Phase::kBlocks : Phase::kRecords;
      break;
    case Phase::kBlocks: {
      auto done = s.blocks();
      TROUPE_TRY(advance(done, s.readable ? Phase::kRecords : Phase::kFinish));
      break;
    }
    case Phase::kRecords: TROUPE_TRY(advance(s.records(unit, maxRows, false), Phase::kIndexes)); break;
    case Phase::kIndexes: {
      auto done = s.indexRows(unit, maxRows, false);
      TROUPE_TRY(advance(done, done.isOK() && *done && s.consistent() ? Phase::kFinish : Phase::kRecordsAgain));
      break;
    }
    case Phase::kRecordsAgain: TROUPE_TRY(advance(s.records(unit, maxRows, true), Phase::kIndexesAgain)); break;
    case Phase::kIndexesAgain: TROUPE_TRY(advance(s.indexRows(unit, maxRows, true), Phase::kFinish)); break;
    case Phase::kFinish:
      TROUPE_TRY(s.nameFindings(unit));
      s.finish();
      if (s.settings.repair) TROUPE_TRY(s.repair(unit));
      s.phase = Phase::kDone;
      break;
    case Phase::kDone: break;
  }
  return s.phase == Phase::kDone;
}

Status Validator::State::start(RecoveryUnit& unit) {
  if (settings.repair && unit.pool().isMember() && collection->ns().isReplicated())
    return {ErrorCode::kIllegalOperation,
            "a member of a replica set does not repair what is replicated: the other members would not hear of it; let "
            "it copy the data of another member"};
  result.ns = collection->ns().toString();
  result.uuid = collection->uuid();
  for (size_t i = 0; i < indexes.size(); ++i) {
    findings(i).name = indexes[i]->spec.name;
    findings(i).spec = indexes[i]->spec.stored;
  }
  if (settings.full) {
    // What is on the disk after it is what was in memory before it.
    TROUPE_TRY(catalog.engine().checkpoint().status());
    unchecked.push_back(collection->ident());
    for (const auto& index : indexes) unchecked.push_back(index->ident);
  }
  return checkCatalog(unit);
}

/// VAL-005. The multikey flags in memory may be ahead of the disk's, never behind.
Status Validator::State::checkCatalog(RecoveryUnit& unit) {
  TROUPE_ASSIGN(auto row, catalog.durable().read(unit, collection->catalogId()));
  if (!row) {
    collectionError("the catalog has no row for this collection");
    return Status::OK();
  }
  TROUPE_ASSIGN(CatalogEntry stored, CatalogEntry::fromDocument(collection->catalogId(), *row));
  CatalogEntry known = collection->toEntry();
  for (auto* entry : {&stored, &known})
    for (auto& index : entry->indexes) {
      index.multikey = false;
      index.paths.clear();
    }
  if (stored.toDocument() == known.toDocument()) return Status::OK();
  collectionError("the collection in memory differs from its row in the catalog");
  return Status::OK();
}

/// VAL-003. The disk's blocks, not those in the cache; beside everything else, so nothing has to be closed for it.
StatusWith<bool> Validator::State::blocks() {
  constexpr int64_t kBytesPerStep = 16 << 20;
  if (unchecked.empty()) return true;
  if (!blockCheck) blockCheck = catalog.engine().checkBlocks(unchecked.back());
  const int64_t before = blockCheck->bytesRead();
  auto done = blockCheck->step(kBytesPerStep);
  bytesRead += blockCheck->bytesRead() - before;
  if (done.status() == ErrorCode::kDataCorruptionDetected) {
    readable = false;
    collectionError("the table " + unchecked.back() + " is damaged: " + done.status().reason() +
                    "; restore a backup, resync, or start with --repair");
    done = true;
  }
  if (!done.isOK()) return done.status();
  if (*done) {
    blockCheck.reset();
    unchecked.pop_back();
  }
  return unchecked.empty();
}

StatusWith<bool> Validator::State::records(RecoveryUnit& unit, int maxRows, bool again) {
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(unit));
  cursor.acceptDamaged();
  TROUPE_ASSIGN(bool found, cursor.seekBehind(lastRecord));
  for (int rows = 0; found; ++rows) {
    if (rows == maxRows) return false;
    if (!again && cursor.id() <= lastRecord)
      collectionError("record ids are out of order: " + cursor.id().toString() + " after " + lastRecord.toString());
    lastRecord = cursor.id();
    bytesRead += static_cast<int64_t>(cursor.bytes().size());
    TROUPE_TRY(oneRecord(cursor.bytes(), cursor.id(), again));
    TROUPE_ASSIGN(found, cursor.next());
  }
  return true;
}

Status Validator::State::oneRecord(std::string_view value, const RecordId& id, bool again) {
  auto size = bson::validate(value);
  const bool valid = size.isOK() && static_cast<size_t>(*size) == value.size();
  if (valid) TROUPE_TRY(documentKeys(View(value.data()), id, again));
  if (again) return Status::OK();
  if (valid && collection->clusterKey() && collection->clusteredId(View(value.data())["_id"]) != id)
    collectionError("the record " + id.toString() + " of the clustered collection has another _id");
  ++result.records;
  bytes += static_cast<int64_t>(value.size());
  if (!valid) {
    ++result.invalidDocuments;
    corrupt.emplace_back(id, static_cast<int64_t>(value.size()));
    result.corruptRecords.push_back(id);
    return Status::OK();
  }
  if (!settings.full && !settings.checkDocuments) return Status::OK();
  if (!bson::validate(value, {.checkUtf8 = true}).isOK() || hasDuplicateNames(View(value.data())))
    ++result.nonCompliantDocuments;
  return Status::OK();
}

Status Validator::State::documentKeys(View document, const RecordId& id, bool again) {
  KeySet keys;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const IndexEntry& index = *indexes[i];
    if (!index.covers(document)) continue;
    if (Status status = index.access->generator().generate(document, keys); !status.isOK()) {
      repairable = false;
      if (!again) indexError(i, "record " + id.toString() + " cannot be indexed: " + status.reason());
      continue;
    }
    if (keys.multikey && !again) {
      bool known = index.multikey();
      for (size_t f = 0; f < keys.paths.size(); ++f) known = known && !(keys.paths[f] & ~index.state->path(f));
      if (!known) {
        KeySet& lacks = multikeyMissing[i];
        lacks.multikey = true;
        lacks.paths.resize(keys.paths.size());
        for (size_t f = 0; f < keys.paths.size(); ++f) lacks.paths[f] |= keys.paths[f];
      }
    }
    for (const auto& key : keys.keys) {
      const size_t bucket = bucketOf(i, key.key, id);
      if (!again) {
        ++counters[bucket];
      } else if (counters[bucket] != 0 && !(tooMany = tooMany || unmatched.size() >= kMaxNamed)) {
        unmatched.emplace(std::to_string(i) + ":" + id.toString() + ":" + key.key, Entry{i, key, id});
      }
    }
  }
  return Status::OK();
}

StatusWith<bool> Validator::State::indexRows(RecoveryUnit& unit, int maxRows, bool again) {
  for (int rows = 0; indexNumber < indexes.size(); ++indexNumber, lastRow.clear(), lastRowId = {}) {
    TROUPE_ASSIGN(auto cursor, indexes[indexNumber]->access->cursor(unit));
    TROUPE_ASSIGN(bool found, lastRow.empty() ? cursor.next() : cursor.seek(lastRow, true));
    while (found && cursor.key() == lastRow && cursor.id() <= lastRowId) {
      TROUPE_ASSIGN(found, cursor.next());
    }
    while (found) {
      if (rows++ == maxRows) return false;
      bytesRead += static_cast<int64_t>(cursor.key().size());
      oneRow(indexNumber, cursor, again);
      lastRow = cursor.key();
      lastRowId = cursor.id();
      TROUPE_ASSIGN(found, cursor.next());
    }
  }
  return true;
}

void Validator::State::oneRow(size_t number, const IndexCursor& row, bool again) {
  const size_t bucket = bucketOf(number, row.key(), row.id());
  if (again) {
    if (counters[bucket] == 0) return;
    const std::string name = std::to_string(number) + ":" + row.id().toString() + ":" + std::string(row.key());
    if (unmatched.erase(name) > 0 || tooMany) return;
    extra.push_back({number, {std::string(row.key()), std::string(row.typeBits())}, row.id()});
    tooMany = extra.size() >= kMaxNamed;
    return;
  }
  ++findings(number).keys;
  --counters[bucket];
  if (lastRow.empty()) return;
  if (row.key() < lastRow || (row.key() == lastRow && row.id() <= lastRowId)) {
    repairable = false;
    indexError(number, "index '" + indexes[number]->spec.name + "' has keys out of order");
  }
  if (!indexes[number]->spec.isUnique() || row.key() != lastRow) return;
  repairable = false;
  indexError(number, "Unique index '" + indexes[number]->spec.name + "' has duplicate key: " +
                         documentText(indexes[number]->access->generator().describe(
                             {std::string(row.key()), std::string(row.typeBits())})));
}

bool Validator::State::consistent() const {
  for (const int32_t counter : counters)
    if (counter != 0) return false;
  return true;
}

StatusWith<bson::Document> Validator::State::describe(RecoveryUnit& unit, const Entry& entry) const {
  bson::Builder b;
  b.append("indexName", indexes[entry.index]->spec.name).append("recordId", entry.id.toValue());
  TROUPE_ASSIGN(auto record, collection->records().cursor(unit));
  record.acceptDamaged();
  TROUPE_ASSIGN(const bool found, record.seekExact(entry.id));
  if (found && bson::validate(record.bytes()).isOK() && record.document().has("_id"))
    b.append("idKey", record.document()["_id"]);
  b.append("indexKey", indexes[entry.index]->access->generator().describe(entry.key));
  return b.finish();
}

Status Validator::State::nameFindings(RecoveryUnit& unit) {
  for (const auto& [name, entry] : unmatched) {
    findings(entry.index).valid = false;
    TROUPE_ASSIGN(auto text, describe(unit, entry));
    result.missingIndexEntries.push_back(std::move(text));
  }
  for (const auto& entry : extra) {
    findings(entry.index).valid = false;
    TROUPE_ASSIGN(auto text, describe(unit, entry));
    result.extraIndexEntries.push_back(std::move(text));
  }
  return Status::OK();
}

void Validator::State::finish() {
  for (const auto& [number, lacks] : multikeyMissing)
    indexError(number, "Index '" + indexes[number]->spec.name + "' is not marked multikey as its documents require");
  if (result.invalidDocuments > 0)
    result.errors.push_back("Detected one or more invalid documents: " + std::to_string(result.invalidDocuments));
  if (result.nonCompliantDocuments > 0)
    result.warnings.push_back("Detected one or more documents not compliant with BSON specifications. See logs.");
  if (!unmatched.empty())
    result.errors.push_back("Detected " + std::to_string(unmatched.size()) + " missing index entries.");
  if (!extra.empty()) result.errors.push_back("Detected " + std::to_string(extra.size()) + " extra index entries.");
  if (tooMany) result.errors.push_back("Not all index entry inconsistencies are listed due to size limitations.");
  result.valid = result.errors.empty();
  for (const auto& [name, index] : result.indexes) result.valid = result.valid && index.valid;
  if (settings.fixCount && readable &&
      (collection->records().count() != result.records || collection->records().dataBytes() != bytes))
    collection->records().correctSize(result.records, bytes);
}

Status Validator::State::repairMultikey(RecoveryUnit& unit) {
  for (const auto& [number, lacks] : multikeyMissing)
    TROUPE_TRY(collection->noteMultikey(unit, *indexes[number], lacks));
  return Status::OK();
}

/// Entries that a repaired index still lacks (duplicates of a unique index, unreadable tables) keep it invalid.
Status Validator::State::repair(RecoveryUnit& unit) {
  if (result.valid || !readable) return Status::OK();
  WriteUnitOfWork work(unit);
  for (const auto& [id, size] : corrupt) TROUPE_TRY(collection->records().remove(unit, id, size));
  if (!corrupt.empty())
    for (WriteObserver* observer : collection->observers()) TROUPE_TRY(observer->onRepair(unit, *collection));
  for (const auto& entry : extra) {
    TROUPE_ASSIGN(const bool removed, indexes[entry.index]->access->removeRow(unit, entry.key.key, entry.id));
    findings(entry.index).keysRemoved += removed;
    result.extraEntriesRemoved += removed;
  }
  bool all = repairable && !tooMany;
  for (const auto& [name, entry] : unmatched) {
    const IndexAccess& access = *indexes[entry.index]->access;
    if (indexes[entry.index]->spec.isUnique()) {
      TROUPE_ASSIGN(const auto holder, access.findUnique(unit, entry.key.key));
      if (holder) {
        all = false;
        continue;
      }
    }
    TROUPE_TRY(access.insertRow(unit, entry.key, entry.id));
    ++findings(entry.index).keysInserted;
    ++result.missingEntriesInserted;
  }
  TROUPE_TRY(repairMultikey(unit));
  TROUPE_TRY(work.commit());
  result.corruptRecordsRemoved = static_cast<int64_t>(corrupt.size());
  result.repaired = true;
  if (!all) return Status::OK();
  result.warnings.insert(result.warnings.end(), result.errors.begin(), result.errors.end());
  result.errors.clear();
  result.valid = true;
  for (auto& [name, index] : result.indexes) index.valid = true;
  return Status::OK();
}

StatusWith<ValidateResult> validateCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                              const ValidateSettings& settings) {
  constexpr int kRowsPerStep = 10'000;
  Validator validator(catalog, collection, settings);
  for (;;) {
    TROUPE_ASSIGN(const bool done, validator.step(unit, kRowsPerStep));
    if (done) return std::move(validator.result());
  }
}

}  // namespace troupe::storage
