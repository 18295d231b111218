#include "storage/catalog/index_builder.hpp"

#include <algorithm>

#include "storage/catalog/catalog_publish.hpp"
#include "storage/catalog/index_operations.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/conflict_retry.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

IndexBuilder::IndexBuilder(Catalog& catalog, Namespace ns, std::vector<IndexSpec> specs,
                           std::optional<bson::Uuid> build)
    : catalog_(catalog), ns_(std::move(ns)), specs_(std::move(specs)), buildUuid_(build ? *build : catalog.newUuid()) {}

Status IndexBuilder::start(RecoveryUnit& unit) {
  const CollectionPtr collection = catalog_.find(ns_);
  if (!collection || collection->isView())
    return {ErrorCode::kNamespaceNotFound, "ns does not exist: " + ns_.toString()};
  WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  CatalogEntry entry = collection->toEntry();
  for (const auto& spec : specs_) {
    TROUPE_ASSIGN(auto index, createIndexTable(catalog_, unit, entry.ns, spec, buildUuid_));
    entry.indexes.push_back(std::move(index));
  }
  TROUPE_ASSIGN(const auto after, publishVersion(catalog_, unit, entry, collection));
  TROUPE_TRY(tell(unit, IndexBuildOperation::Step::kStart, *after, slot));
  TROUPE_TRY(work.commit());
  uuid_ = collection->uuid();
  return Status::OK();
}

void IndexBuilder::takeUp(const bson::Uuid& collection) {
  uuid_ = collection;
  isChecked_ = true;
}

Status IndexBuilder::tell(RecoveryUnit& unit, IndexBuildOperation::Step step, const Collection& collection,
                          const OpTime& slot) const {
  const IndexBuildOperation done{
      .step = step, .collection = collection, .build = buildUuid_, .specs = specs_, .slot = slot};
  return tellObservers({&collection}, [&](WriteObserver& o) { return o.onIndexBuild(unit, done); });
}

/// The collection may have been renamed meanwhile; its UUID stays.
StatusWith<CollectionPtr> IndexBuilder::current() const {
  const CatalogPtr snapshot = catalog_.snapshot();
  CollectionPtr collection = snapshot->find(uuid_);
  if (!collection) return Status(ErrorCode::kIndexBuildAborted, "the collection was dropped during the index build");
  for (const auto& spec : specs_) {
    const IndexEntry* index = collection->findIndex(spec.name);
    if (!index || index->buildUuid != buildUuid_)
      return Status(ErrorCode::kIndexBuildAborted, "the index " + spec.name + " was dropped during its build");
  }
  return collection;
}

Status IndexBuilder::indexOne(RecoveryUnit& unit, const Collection& collection, const RecordId& id, bson::View document,
                              Batch& batch) const {
  KeySet keys;
  for (const auto& spec : specs_) {
    const IndexEntry& index = *collection.findIndex(spec.name);
    if (!index.covers(document)) continue;
    TROUPE_TRY(keysToAdd(unit, index, document, keys));
    if (keys.multikey) index.state->setVisible(keys.paths);  // its row is written with the commit
    for (const auto& key : keys.keys) {
      TROUPE_ASSIGN(const bool alone, index.access->insertForBuild(unit, key, id));
      if (!alone && !isChecked_) index.state->suspects.note(key);
      batch.keyBytes += key.key.size();
    }
    batch.keys += static_cast<int64_t>(keys.keys.size());
  }
  return Status::OK();
}

StatusWith<IndexBuilder::Batch> IndexBuilder::scan(RecoveryUnit& unit, const Collection& collection,
                                                   int maxDocuments) const {
  Batch batch{.last = last_};
  TROUPE_ASSIGN(auto cursor, collection.records().cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.seekBehind(last_));
  // One document may have 100,000 keys, and a unit of work stays in the cache until its end.
  const auto isFull = [&] {
    return batch.documents >= maxDocuments || batch.keys >= kMostKeys || batch.keyBytes >= kMostKeyBytes;
  };
  for (; found && !isFull(); ++batch.documents) {
    batch.last = cursor.id();
    TROUPE_TRY(indexOne(unit, collection, cursor.id(), cursor.document(), batch));
    TROUPE_ASSIGN(found, cursor.next());
  }
  batch.atEnd = !found;
  return batch;
}

Status IndexBuilder::admitKeys(RecoveryUnit& unit, const Collection& collection) const {
  std::vector<uint32_t> tables;
  for (const auto& spec : specs_) tables.push_back(collection.findIndex(spec.name)->access->table().id);
  return admitDerived(unit, collection.ns(), std::move(tables));
}

Status IndexBuilder::clear(RecoveryUnit& unit) {
  TROUPE_ASSIGN(auto collection, current());
  WriteUnitOfWork work(unit);
  TROUPE_TRY(admitKeys(unit, *collection));
  for (const auto& spec : specs_) TROUPE_TRY(unit.truncate(collection->findIndex(spec.name)->access->table(), {}, {}));
  return work.commit();
}

StatusWith<bool> IndexBuilder::step(RecoveryUnit& unit, int maxDocuments) {
  TROUPE_ASSIGN(auto collection, current());
  WriteUnitOfWork work(unit);
  TROUPE_TRY(admitKeys(unit, *collection));
  TROUPE_ASSIGN(auto batch, scan(unit, *collection, maxDocuments));
  TROUPE_TRY(work.commit());
  last_ = batch.last;
  scanned_ += batch.documents;
  inserted_ += batch.keys;
  if (!isChecked_) TROUPE_TRY(chargeSuspects(unit, *collection));
  return batch.atEnd;
}

Status IndexBuilder::chargeSuspects(RecoveryUnit& unit, const Collection& collection) {
  if (!unit.operation()) return Status::OK();
  size_t bytes = 0;
  for (const auto& spec : specs_) bytes += collection.findIndex(spec.name)->state->suspects.bytes();
  if (suspects_.resize(&unit.operation()->memory(), static_cast<int64_t>(bytes)).isOK()) return Status::OK();
  for (const auto& spec : specs_) collection.findIndex(spec.name)->state->suspects.suspectAll();
  return suspects_.resize(&unit.operation()->memory(), 0);
}

Status IndexBuilder::checkDuplicates(RecoveryUnit& unit, const Collection& collection) const {
  if (isChecked_) return Status::OK();
  for (const auto& spec : specs_) {
    if (!spec.unique) continue;
    const IndexEntry& index = *collection.findIndex(spec.name);
    TROUPE_ASSIGN(const auto duplicate, index.access->firstDuplicate(unit, index.state->suspects.keys()));
    if (duplicate) return index.access->duplicateKeyError(*duplicate);
  }
  return Status::OK();
}

Status IndexBuilder::commit(RecoveryUnit& unit) {
  TROUPE_ASSIGN(auto collection, current());
  WriteUnitOfWork work(unit);
  TROUPE_TRY(checkDuplicates(unit, *collection));
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  CatalogEntry entry = collection->toEntry();
  for (auto& index : entry.indexes)
    if (index.buildUuid == buildUuid_) {
      index.ready = true;
      index.buildUuid.reset();
    }
  TROUPE_ASSIGN(const auto after, publishVersion(catalog_, unit, entry, collection));
  TROUPE_TRY(tell(unit, IndexBuildOperation::Step::kCommit, *after, slot));
  TROUPE_TRY(work.commit());
  for (const auto& spec : specs_) {
    const IndexEntry& index = *after->findIndex(spec.name);
    index.state->suspects.clear();
    if (index.multikey()) index.state->setDurable(index.state->paths(index.spec.fields.size()));
  }
  return Status::OK();
}

Status IndexBuilder::abort(RecoveryUnit& unit) { return abortIndexBuild(catalog_, unit, uuid_, buildUuid_); }

/// Nobody writes beside it: what stands in the way, a full cache above all, passes by itself.
Status IndexBuilder::finish(RecoveryUnit& unit, bool clears) {
  constexpr int kBatch = 500;
  bool isScanned = false;
  for (;;) {
    if (unit.operation()) TROUPE_TRY(unit.operation()->checkForInterrupt({}));
    Status done;
    if (clears) {
      done = clear(unit);
      clears = !done.isOK();
    } else if (isScanned) {
      done = commit(unit);
      if (done.isOK()) return done;
    } else {
      const auto atEnd = step(unit, kBatch);
      done = atEnd.status();
      isScanned = atEnd.isOK() && *atEnd;
    }
    if (!done.isOK() && onSecondaryError(done) != ErrorCode::kWriteConflict) return done;
  }
}

Status IndexBuilder::buildAll(RecoveryUnit& unit) {
  TROUPE_TRY(start(unit));
  Status status = finish(unit);
  if (!status.isOK()) TROUPE_TRY(abort(unit));
  return status;
}

std::vector<UnfinishedBuild> unfinishedBuilds(const CatalogSnapshot& snapshot) {
  std::vector<UnfinishedBuild> found;
  const auto add = [&](const Collection& collection, const bson::Uuid& build) {
    const bool isNoted = !found.empty() && found.back().collection == collection.uuid() && found.back().build == build;
    if (!isNoted) found.push_back({collection.uuid(), collection.ns(), build});
  };
  for (const std::string& db : snapshot.databases()) {
    for (const auto& collection : snapshot.collections(db)) {
      for (const auto& index : collection->indexes())
        if (!index->ready) add(*collection, index->buildUuid.value_or(bson::Uuid{}));
    }
  }
  return found;
}

Status abortIndexBuild(Catalog& catalog, RecoveryUnit& unit, const bson::Uuid& uuid, const bson::Uuid& build) {
  const CollectionPtr collection = catalog.snapshot()->find(uuid);
  if (!collection) return Status::OK();
  WriteUnitOfWork work(unit);
  TROUPE_TRY(takeBuildOut(catalog, unit, collection, build).status());
  return work.commit();
}

}  // namespace troupe::storage
