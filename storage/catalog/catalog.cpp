#include "storage/catalog/catalog.hpp"

#include <chrono>
#include <random>
#include <set>

#include "messaging/bson/ids.hpp"
#include "storage/catalog/catalog_publish.hpp"
#include "storage/catalog/collection_maker.hpp"
#include "storage/catalog/table_logging.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

CatalogHooks withDefaults(CatalogHooks hooks) {
  if (!hooks.random)
    hooks.random = [device = std::make_shared<std::random_device>(), mutex = std::make_shared<std::mutex>()] {
      std::lock_guard lock(*mutex);
      return uint64_t{(*device)()} << 32 | (*device)();
    };
  if (!hooks.nowMillis)
    hooks.nowMillis = [] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
    };
  if (!hooks.warn) hooks.warn = [](const std::string&) {};
  return hooks;
}

/// Leaves out indexes that cannot be used: without table (SRC-004) or unfinished (SRC-006). True when something
/// changed.
bool reconcileIndexes(const std::set<std::string>& tables, const CatalogHooks& hooks, CatalogEntry& entry) {
  return std::erase_if(entry.indexes, [&](const IndexMetadata& index) {
           const std::string name(index.spec["name"].toStringOr());
           if (!index.ready) {
             hooks.warn("the unfinished build of the index " + name + " of " + entry.ns.toString() + " is discarded");
             return true;
           }
           if (tables.contains(index.ident)) return false;
           hooks.warn("the table " + index.ident + " of the index " + name + " of " + entry.ns.toString() +
                      " is missing; the index is ignored, create it again");
           return true;
         }) > 0;
}

Status dropUnreferenced(Catalog& catalog, const std::set<std::string>& tables,
                        const std::set<std::string>& referenced) {
  for (const auto& ident : tables) {
    if (!ident.starts_with("collection-") && !ident.starts_with("index-")) continue;
    if (referenced.contains(ident)) continue;
    catalog.hooks().warn("the table " + ident + " belongs to no collection and is dropped");
    const Status status = catalog.engine().dropTable(ident);
    if (status.isOK() || status == ErrorCode::kNoSuchKey) {
      catalog.sizes().forget(ident);
    } else {
      catalog.reaper().add(ident, {}, {});
    }
  }
  return Status::OK();
}

Status makeMissingTables(Catalog& catalog, const CatalogEntry& entry, std::set<std::string>& tables) {
  const auto make = [&](const std::string& ident, std::string_view metadata) -> Status {
    if (ident.empty() || !tables.insert(ident).second) return Status::OK();
    catalog.hooks().warn("the table " + ident + " of " + entry.ns.toString() + " is missing; it is made anew");
    return catalog.engine().createTable(ident, catalog.tableOptions(entry.ns, metadata)).status();
  };
  TROUPE_TRY(make(entry.ident, kRecordTableMetadata));
  for (const auto& index : entry.indexes) {
    TROUPE_ASSIGN(const IndexSpec spec, parseIndexSpec(index.spec, {}, false));
    TROUPE_TRY(make(index.ident, indexTableMetadata(spec)));
  }
  return Status::OK();
}

}  // namespace

Catalog::Catalog(Engine& engine, SessionPool& pool, CatalogHooks hooks)
    : engine_(engine), pool_(pool), hooks_(withDefaults(std::move(hooks))) {}

bson::Uuid Catalog::newUuid() { return bson::randomUuid(hooks_.random); }

TableOptions Catalog::tableOptions(const Namespace& ns, std::string_view appMetadata) const {
  return {.logged = isTableLogged(ns, hooks_.replicated),
          .blockCompressor = hooks_.blockCompressor,
          .appMetadata = std::string(appMetadata)};
}

StatusWith<std::unique_ptr<Catalog>> openCatalog(Engine& engine, SessionPool& pool, CatalogHooks hooks) {
  auto catalog = std::make_unique<Catalog>(engine, pool, std::move(hooks));
  TROUPE_ASSIGN(catalog->durable_, DurableCatalog::open(engine, catalog->hooks_.random));
  TROUPE_ASSIGN(catalog->sizes_, SizeStorer::open(engine));
  RecoveryUnit unit(pool);
  TROUPE_ASSIGN(auto entries, catalog->durable().readAll(unit));
  unit.releaseSession();
  pool.forgetTable(catalog->durable().table());
  TROUPE_TRY(applyTableLogging(engine, entries, catalog->hooks().replicated));

  const auto listed = engine.listTables();
  std::set<std::string> tables(listed.begin(), listed.end());
  std::set<std::string> referenced;
  std::vector<CollectionPtr> collections;
  for (auto& entry : entries) {
    if (catalog->hooks().repair) TROUPE_TRY(makeMissingTables(*catalog, entry, tables));
    if (!entry.ident.empty() && !tables.contains(entry.ident))
      return Status(ErrorCode::kUnsupportedFormat, "the table " + entry.ident + " of the collection " +
                                                       entry.ns.toString() +
                                                       " is missing; restore it from a backup, or start with --repair");
    if (reconcileIndexes(tables, catalog->hooks(), entry)) {
      WriteUnitOfWork work(unit);
      TROUPE_TRY(catalog->durable().put(unit, entry));
      TROUPE_TRY(work.commit());
    }
    TROUPE_ASSIGN(auto collection, CollectionMaker::make(*catalog, entry, nullptr));
    referenced.insert(entry.ident);
    for (const auto& index : entry.indexes) referenced.insert(index.ident);
    collections.push_back(std::move(collection));
  }
  TROUPE_TRY(dropUnreferenced(*catalog, tables, referenced));
  catalog->collections_.update([&](CatalogSnapshot& snapshot) {
    for (auto& collection : collections) snapshot.put(std::move(collection));
  });
  return catalog;
}

}  // namespace troupe::storage
