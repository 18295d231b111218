#include "storage/catalog/collection_maker.hpp"

#include <algorithm>

#include "messaging/bson/collation.hpp"
#include "storage/catalog/catalog_publish.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {
namespace {

StatusWith<std::shared_ptr<const bson::Collator>> makeCollator(const bson::Document& collation) {
  if (collation.empty()) return std::shared_ptr<const bson::Collator>();
  return bson::Collator::parse(collation);
}

IndexPtr find(const Collection* collection, const std::string& ident) {
  if (!collection) return nullptr;
  for (const auto& index : collection->indexes())
    if (index->ident == ident) return index;
  return nullptr;
}

StatusWith<Table> openTableOf(Catalog& catalog, const Namespace& ns, const std::string& ident) {
  TROUPE_ASSIGN(Table table, catalog.engine().openTable(ident));
  table.replicated = ns.isReplicated();
  table.essential = ns.isEssential();
  return table;
}

/// The oplog's are times. A collection that was clustered before records could have ids of bytes has numbered ones and
/// an `_id` index; its table says nothing.
StatusWith<RecordIds> recordIdsOf(Engine& engine, const CatalogEntry& entry) {
  if (entry.ident == OplogStore::kIdent) return RecordIds::kTimes;
  if (!entry.options.clusteredIndex) return RecordIds::kNumbers;
  TROUPE_ASSIGN(const std::string metadata, engine.tableMetadata(entry.ident));
  return metadata == kClusteredTableMetadata ? RecordIds::kBytes : RecordIds::kNumbers;
}

}  // namespace

StatusWith<IndexPtr> CollectionMaker::makeIndex(Catalog& catalog, const CatalogEntry& entry,
                                                const IndexMetadata& metadata, RecordIds kind,
                                                const Collection* previous) {
  const IndexPtr before = find(previous, metadata.ident);
  const bool sameSpec = before && before->spec.stored == metadata.spec && previous->ns() == entry.ns;
  if (sameSpec && before->ready == metadata.ready) return before;

  auto index = std::make_shared<IndexEntry>();
  TROUPE_ASSIGN(index->spec, parseIndexSpec(metadata.spec, {}, false));
  index->ident = metadata.ident;
  index->ready = metadata.ready;
  index->buildUuid = metadata.buildUuid;
  if (before) {
    index->state = before->state;
  } else {
    index->state = std::make_shared<IndexState>();
    index->state->sinceMillis = catalog.hooks().nowMillis();
    if (metadata.multikey) index->state->setDurable(metadata.paths);
  }
  if (sameSpec) {
    index->access = before->access;
  } else {
    TROUPE_ASSIGN(auto collator, makeCollator(index->spec.collation));
    TROUPE_ASSIGN(Table table, openTableOf(catalog, entry.ns, metadata.ident));
    index->access =
        std::make_shared<IndexAccess>(entry.ns.toString(), index->spec, std::move(table), kind, std::move(collator));
  }
  if (index->spec.partialFilter) {
    if (!catalog.hooks().makeFilter)
      return Status(ErrorCode::kCannotCreateIndex,
                    "partial indexes need a query language, and none was given to the catalog");
    // The filter borrows the collator, so it is that of the access: this version keeps both for as long as itself.
    TROUPE_ASSIGN(index->filter, catalog.hooks().makeFilter(*index->spec.partialFilter, index->access->collator()));
  }
  return IndexPtr(std::move(index));
}

/// The records of a clustered collection as an index on `_id`.
StatusWith<IndexPtr> CollectionMaker::makeClusterKey(Catalog& catalog, const Collection& collection) {
  auto index = std::make_shared<IndexEntry>();
  index->spec = idIndexSpec(collection.options().collation);
  index->spec.name = (*collection.options().clusteredIndex)["name"].toStringOr("_id_");
  index->ident = collection.ident();
  index->state = std::make_shared<IndexState>();
  index->state->sinceMillis = catalog.hooks().nowMillis();
  index->access = std::make_shared<IndexAccess>(collection.ns().toString(), index->spec, collection.records().table(),
                                                RecordIds::kBytes, collection.sharedCollator());
  return IndexPtr(std::move(index));
}

StatusWith<CollectionPtr> CollectionMaker::make(Catalog& catalog, const CatalogEntry& entry,
                                                const Collection* previous) {
  TROUPE_ASSIGN(auto collection, assemble(catalog, entry, previous));
  return CollectionPtr(std::move(collection));
}

StatusWith<CollectionPtr> CollectionMaker::remake(Catalog& catalog, const CatalogEntry& entry,
                                                  const Collection* latest) {
  // The tables are held before they are opened, so that none goes in between.
  std::vector<std::shared_ptr<const void>> tables;
  const auto hold = [&](const std::string& ident) -> Status {
    if (ident.empty()) return Status::OK();
    TROUPE_ASSIGN(auto token, catalog.reaper().use(ident));
    tables.push_back(std::move(token));
    return Status::OK();
  };
  TROUPE_TRY(hold(entry.ident));
  for (const auto& index : entry.indexes) TROUPE_TRY(hold(index.ident));
  auto collection = assemble(catalog, entry, latest);
  if (collection.status() == ErrorCode::kNoSuchKey)
    return Status(ErrorCode::kSnapshotUnavailable, "a table of " + entry.ns.toString() + " has been dropped");
  if (!collection.isOK()) return collection.status();
  (*collection)->tablesInUse_ = std::move(tables);
  (*collection)->supersede();
  return CollectionPtr(std::move(*collection));
}

StatusWith<std::shared_ptr<Collection>> CollectionMaker::assemble(Catalog& catalog, const CatalogEntry& entry,
                                                                  const Collection* previous) {
  auto collection = std::make_shared<Collection>();
  collection->ns_ = entry.ns;
  collection->catalogId_ = entry.catalogId;
  collection->ident_ = entry.ident;
  collection->options_ = entry.options;
  collection->durable_ = &catalog.durable();
  for (WriteObserver* observer : catalog.hooks().observers)
    if (observer->observes(entry)) collection->observers_.push_back(observer);
  TROUPE_ASSIGN(collection->collator_, makeCollator(entry.options.collation));
  if (entry.options.isView()) return collection;

  if (previous && previous->ident_ == entry.ident) {
    collection->records_ = previous->records_;
  } else {
    TROUPE_ASSIGN(Table table, openTableOf(catalog, entry.ns, entry.ident));
    TROUPE_ASSIGN(const RecordIds kind, recordIdsOf(catalog.engine(), entry));
    collection->records_ = std::make_shared<RecordStore>(std::move(table), kind, catalog.sizes().of(entry.ident));
  }
  const RecordIds kind = collection->records_->kind();
  if (kind == RecordIds::kBytes) {
    TROUPE_ASSIGN(collection->clusterKey_, makeClusterKey(catalog, *collection));
    collection->accessPaths_.push_back(collection->clusterKey_);
  }
  for (const auto& metadata : entry.indexes) {
    TROUPE_ASSIGN(auto index, makeIndex(catalog, entry, metadata, kind, previous));
    if (index->spec.idIndex) collection->idIndex_ = index.get();
    collection->indexes_.push_back(std::move(index));
  }
  std::stable_partition(collection->indexes_.begin(), collection->indexes_.end(),
                        [](const auto& index) { return index->spec.idIndex; });
  collection->accessPaths_.insert(collection->accessPaths_.end(), collection->indexes_.begin(),
                                  collection->indexes_.end());
  return collection;
}

}  // namespace troupe::storage
