#include "storage/catalog/catalog_publish.hpp"

#include <algorithm>

#include "messaging/errors/invariant.hpp"
#include "storage/catalog/catalog_changes.hpp"
#include "storage/catalog/collection_maker.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

namespace {

StatusWith<CollectionPtr> putVersion(Catalog& catalog, RecoveryUnit& unit, const CatalogEntry& entry,
                                     const CollectionPtr& previous) {
  if (previous) TROUPE_TRY(catalog.durable().put(unit, entry));
  TROUPE_ASSIGN(auto next, CollectionMaker::make(catalog, entry, previous.get()));
  CatalogChanges::of(catalog, unit).put(next, previous);
  return next;
}

}  // namespace

StatusWith<CollectionPtr> publishVersion(Catalog& catalog, RecoveryUnit& unit, const CatalogEntry& entry,
                                         const CollectionPtr& previous) {
  if (previous) TROUPE_TRY(previous->checkWritable(unit));
  return putVersion(catalog, unit, entry, previous);
}

StatusWith<CollectionPtr> publishShownVersion(Catalog& catalog, RecoveryUnit& unit, const CatalogEntry& entry,
                                              const CollectionPtr& previous) {
  invariant(!entry.ns.isReplicated(), "a change of a replicated collection has a slot, and its observers hear of it");
  return putVersion(catalog, unit, entry, previous);
}

Status createTableInUnit(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns, const std::string& ident,
                         std::string_view appMetadata) {
  TROUPE_ASSIGN(Table table, catalog.engine().createTable(ident, catalog.tableOptions(ns, appMetadata)));
  unit.onRollback([&catalog, ident] { catalog.reaper().add(ident, {}, {}); });
  return Status::OK();
}

std::string_view recordTableMetadata(const CatalogEntry& entry) {
  const bool hasIdIndex = std::ranges::any_of(
      entry.indexes, [](const IndexMetadata& index) { return index.spec["name"].toStringOr() == "_id_"; });
  return entry.options.clusteredIndex && !hasIdIndex ? kClusteredTableMetadata : kRecordTableMetadata;
}

/// 8 for keys of version 2, 14 for unique ones that end with a record id.
std::string_view indexTableMetadata(const IndexSpec& spec) {
  return spec.unique && !spec.idIndex ? "formatVersion=14" : "formatVersion=8";
}

StatusWith<IndexMetadata> createIndexTable(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns,
                                           const IndexSpec& spec, std::optional<bson::Uuid> buildUuid) {
  IndexMetadata index{.spec = spec.stored,
                      .ident = catalog.durable().newIdent("index"),
                      .ready = !buildUuid,
                      .multikey = false,
                      .paths = {},
                      .buildUuid = buildUuid};
  TROUPE_TRY(createTableInUnit(catalog, unit, ns, index.ident, indexTableMetadata(spec)));
  return index;
}

void dropTableOnCommit(Catalog& catalog, RecoveryUnit& unit, std::string ident, std::weak_ptr<const void> token) {
  using RowRemoval = DropReaper::RowRemoval;
  const RowRemoval removal = catalog.hooks().journaled ? RowRemoval::kLogged : RowRemoval::kCheckpoint;
  unit.onCommit(
      [&catalog, ident = std::move(ident), token = std::move(token), removal](std::optional<Timestamp> commitTime) {
        catalog.reaper().add(ident, commitTime.value_or(Timestamp{}), token, removal);
      });
}

}  // namespace troupe::storage
