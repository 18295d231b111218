#include "storage/catalog/catalog_operations.hpp"

#include "storage/catalog/catalog_changes.hpp"
#include "storage/catalog/catalog_publish.hpp"
#include "storage/index/document_text.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
namespace {

/// Whether a collection may be added to the database. What another member has logged always may: that member has
/// checked it, and this one may hold more under other names.
Status checkDatabase(const Catalog& catalog, const RecoveryUnit& unit, const CatalogSnapshot& snapshot,
                     std::string_view db) {
  if (unit.operation() && unit.operation()->writeMode() == WriteMode::kApplied) return Status::OK();
  TROUPE_TRY(catalog.pendingDrops().check(db));
  const std::string other = snapshot.databaseDifferingInCase(db);
  if (other.empty()) return Status::OK();
  return {ErrorCode::kDatabaseDifferCase, "db already exists with different case already have: [" + other +
                                              "] trying to create [" + std::string(db) + "]"};
}

/// Every collection has an `_id` index but those the server keeps for itself (IDX-001).
bool wantsIdIndex(const Namespace& ns) {
  return ns.collection() != "system.profile" && !(ns.isLocal() && ns.collection().starts_with("oplog."));
}

/// Ends the index builds of a collection that is about to go: other members have heard of their start. It is locked
/// exclusively, so none begins after this.
StatusWith<CollectionPtr> withoutBuilds(Catalog& catalog, RecoveryUnit& unit, CollectionPtr collection) {
  for (const bson::Uuid& build : buildsIn(*collection)) {
    TROUPE_ASSIGN(collection, takeBuildOut(catalog, unit, collection, build));
  }
  return collection;
}

/// What only the server writes goes with the database `local` of a node that stands alone: the log of a set that the
/// node has left, its config and its state as a member of it, all of them at once.
Status checkDroppable(const RecoveryUnit& unit, const Collection& collection, bool withDatabase) {
  const bool isMembers = withDatabase && collection.ns().isLocal() && !unit.pool().isMember();
  if (!isMembers) return collection.checkWritable(unit);
  if (!collection.superseded()) return Status::OK();
  return {ErrorCode::kWriteConflict,
          "the catalog changed: a later version of " + collection.ns().toString() + " exists"};
}

/// Removes the row and hands the tables to the reaper.
Status takeOut(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection, bool withDatabase = false) {
  TROUPE_TRY(checkDroppable(unit, *collection, withDatabase));
  TROUPE_TRY(catalog.durable().remove(unit, collection->ns(), collection->catalogId()));
  CatalogChanges::of(catalog, unit).remove(collection);
  if (collection->isView()) return Status::OK();
  for (const auto& index : collection->indexes()) dropTableOnCommit(catalog, unit, index->ident, index->access);
  dropTableOnCommit(catalog, unit, collection->ident(), collection->sharedRecords());
  return Status::OK();
}

}  // namespace

StatusWith<CollectionPtr> createCollection(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns,
                                           CollectionOptions options) {
  TROUPE_TRY(validateForCreate(ns));
  const CatalogPtr snapshot = catalog.snapshot();
  if (CollectionPtr existing = snapshot->find(ns)) {
    const bool isOther = options.uuid && options.uuid != existing->options().uuid;
    if (isOther && !existing->isView())
      return Status(ErrorCode::kNamespaceExists, "namespace " + ns.toString() + " already exists, with the UUID " +
                                                     existing->uuid().toString() + " instead of " +
                                                     options.uuid->toString());
    if (existing->options().sameAs(options)) return existing;
    if (existing->isView()) return Status(ErrorCode::kNamespaceExists, "A view already exists. NS: " + ns.toString());
    return Status(ErrorCode::kNamespaceExists, "namespace " + ns.toString() +
                                                   " already exists, but with different options: " +
                                                   documentText(existing->options().toDocument(true)));
  }
  TROUPE_TRY(checkDatabase(catalog, unit, *snapshot, ns.db()));
  if (options.timeseries) return Status(ErrorCode::kNotImplemented, "time-series collections are not served yet");

  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, ns));
  CatalogEntry entry{.catalogId = 0, .ns = ns, .ident = {}, .options = std::move(options), .indexes = {}};
  if (!entry.options.isView()) {
    if (!entry.options.uuid) entry.options.uuid = catalog.newUuid();
    entry.ident = catalog.durable().newIdent("collection");
    TROUPE_TRY(createTableInUnit(catalog, unit, entry.ns, entry.ident, recordTableMetadata(entry)));
    if (wantsIdIndex(ns) && !entry.options.clusteredIndex) {
      TROUPE_ASSIGN(auto index,
                    createIndexTable(catalog, unit, entry.ns, idIndexSpec(entry.options.collation), std::nullopt));
      entry.indexes.push_back(std::move(index));
    }
  }
  TROUPE_TRY(catalog.durable().add(unit, entry));
  TROUPE_ASSIGN(auto made, publishVersion(catalog, unit, entry, nullptr));
  TROUPE_TRY(tellObservers({made.get()}, [&](WriteObserver& o) { return o.onCreate(unit, *made, slot); }));
  return made;
}

static Status dropWhole(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& whole, bool withDatabase) {
  TROUPE_ASSIGN(const CollectionPtr collection, withoutBuilds(catalog, unit, whole));
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  TROUPE_TRY(takeOut(catalog, unit, collection, withDatabase));
  return tellObservers({collection.get()}, [&](WriteObserver& o) { return o.onDrop(unit, *collection, slot); });
}

Status dropCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection) {
  return dropWhole(catalog, unit, collection, false);
}

Status dropDatabase(Catalog& catalog, RecoveryUnit& unit, std::string_view db) {
  for (const auto& collection : catalog.snapshot()->collections(db))
    TROUPE_TRY(dropWhole(catalog, unit, collection, true));
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, Namespace(db, "$cmd")));
  for (WriteObserver* observer : catalog.hooks().observers) TROUPE_TRY(observer->onDropDatabase(unit, db, slot));
  return Status::OK();
}

StatusWith<CollectionPtr> renameCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const Namespace& to, bool dropTarget) {
  TROUPE_TRY(validateForCreate(to));
  if (collection->ns() == to) return Status(ErrorCode::kIllegalOperation, "Can't rename a collection to itself");
  if (collection->isView())
    return Status(ErrorCode::kCommandNotSupportedOnView, "cannot rename view: " + collection->ns().toString());
  if (collection->ns().isReplicated() != to.isReplicated())
    return Status(ErrorCode::kIllegalOperation,
                  "Cannot rename collections between a replicated and an unreplicated database");
  const CatalogPtr snapshot = catalog.snapshot();
  CollectionPtr target = snapshot->find(to);
  if (target && target->isView())
    return Status(ErrorCode::kNamespaceExists, "a view already exists with that name: " + to.toString());
  if (target && !dropTarget) return Status(ErrorCode::kNamespaceExists, "target namespace exists");
  if (!target) TROUPE_TRY(checkDatabase(catalog, unit, *snapshot, to.db()));
  if (target) {
    TROUPE_ASSIGN(target, withoutBuilds(catalog, unit, target));
  }
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  if (target) TROUPE_TRY(takeOut(catalog, unit, target));
  CatalogEntry entry = collection->toEntry();
  entry.ns = to;
  entry.options.temp = false;
  TROUPE_ASSIGN(auto after, publishVersion(catalog, unit, entry, collection));
  const RenameOperation renamed{.before = *collection, .after = *after, .droppedTarget = target.get(), .slot = slot};
  TROUPE_TRY(tellObservers({collection.get(), after.get(), target.get()},
                           [&](WriteObserver& o) { return o.onRename(unit, renamed); }));
  return after;
}

}  // namespace troupe::storage
