#include "storage/catalog/catalog.hpp"

#include <chrono>
#include <random>
#include <set>

#include "messaging/bson/ids.hpp"
#include "storage/catalog/catalog_publish.hpp"
#include "storage/catalog/collection_maker.hpp"
#include "storage/catalog/record_count.hpp"
#include "storage/catalog/table_logging.hpp"
#include "storage/operation/operation_context.hpp"
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

/// Leaves out indexes without a table (SRC-004). Unfinished ones stay as they are, until the owner of index builds
/// discards them (abortIndexBuild): that is a write like any other. True when something changed.
bool reconcileIndexes(const std::set<std::string>& tables, const CatalogHooks& hooks, CatalogEntry& entry) {
  return std::erase_if(entry.indexes, [&](const IndexMetadata& index) {
           if (tables.contains(index.ident)) return false;
           hooks.warn("the table " + index.ident + " of the index " + std::string(index.spec["name"].toStringOr()) +
                      " of " + entry.ns.toString() + " is missing; the index is ignored, create it again");
           return true;
         }) > 0;
}

Status makeMissingTables(Catalog& catalog, const CatalogEntry& entry, std::set<std::string>& tables) {
  const auto make = [&](const std::string& ident, std::string_view metadata) -> Status {
    if (ident.empty() || !tables.insert(ident).second) return Status::OK();
    catalog.hooks().warn("the table " + ident + " of " + entry.ns.toString() + " is missing; it is made anew");
    return catalog.engine().createTable(ident, catalog.tableOptions(entry.ns, metadata)).status();
  };
  TROUPE_TRY(make(entry.ident, recordTableMetadata(entry)));
  for (const auto& index : entry.indexes) {
    TROUPE_ASSIGN(const IndexSpec spec, parseIndexSpec(index.spec, {}, false));
    TROUPE_TRY(make(index.ident, indexTableMetadata(spec)));
  }
  return Status::OK();
}

}  // namespace

Catalog::Catalog(Engine& engine, SessionPool& pool, CatalogHooks hooks)
    : engine_(engine),
      pool_(pool),
      hooks_(withDefaults(std::move(hooks))),
      reaper_([this](const std::string& ident) { sizes_->forget(ident); }) {}

bson::Uuid Catalog::newUuid() { return bson::randomUuid(hooks_.random); }

TableOptions Catalog::tableOptions(const Namespace& ns, std::string_view appMetadata) const {
  return {.logged = isTableLogged(ns, hooks_.replicated),
          .blockCompressor = hooks_.blockCompressor,
          .essential = ns.isEssential(),
          .appMetadata = std::string(appMetadata)};
}

Status Catalog::dropUnreferenced(const std::set<std::string>& tables, const std::set<std::string>& referenced) {
  for (const auto& ident : referenced) reaper_.keep(ident);  // a rollback may have undone its drop
  for (const auto& ident : tables) {
    if (!ident.starts_with("collection-") && !ident.starts_with("index-")) continue;
    if (referenced.contains(ident) || reaper_.isPending(ident)) continue;
    if (hooks_.keepUnreferenced && ident.starts_with("collection-")) continue;
    hooks_.warn("the table " + ident + " belongs to no collection and is dropped");
    const auto closed = closedTables_.find(ident);
    reaper_.add(ident, {}, closed == closedTables_.end() ? std::weak_ptr<const void>() : closed->second);
  }
  closedTables_.clear();
  onTimes({}, {});
  return Status::OK();
}

/// The node may start in another role than before: then its tables are logged, or no longer.
Status Catalog::adoptRole() {
  OperationContext operation({.sessions = pool_});
  RecoveryUnit& unit = operation.recoveryUnit();
  TROUPE_ASSIGN(const auto entries, durable_->moveLocalRows(unit));
  unit.releaseSession();
  pool_.forgetTable(durable_->table());
  return applyTableLogging(engine_, entries, hooks_.replicated);
}

Status Catalog::load(bool recount) {
  OperationContext operation({.sessions = pool_});
  RecoveryUnit& unit = operation.recoveryUnit();
  durable_->beginStart();
  TROUPE_ASSIGN(auto entries, durable_->readAll(unit));
  unit.abandonSnapshot();

  const auto listed = engine_.listTables();
  std::set<std::string> tables(listed.begin(), listed.end());
  std::set<std::string> referenced;
  std::vector<CollectionPtr> collections;
  for (auto& entry : entries) {
    if (hooks_.repair) TROUPE_TRY(makeMissingTables(*this, entry, tables));
    if (!entry.ident.empty() && !tables.contains(entry.ident))
      return Status(ErrorCode::kUnsupportedFormat, "the table " + entry.ident + " of the collection " +
                                                       entry.ns.toString() +
                                                       " is missing; restore it from a backup, or start with --repair");
    if (reconcileIndexes(tables, hooks_, entry)) {
      WriteUnitOfWork work(unit);
      TROUPE_TRY(durable_->discardAtStart(unit, entry));
      TROUPE_TRY(work.commit());
    }
    TROUPE_ASSIGN(auto collection, CollectionMaker::make(*this, entry, nullptr));
    referenced.insert(entry.ident);
    for (const auto& index : entry.indexes) referenced.insert(index.ident);
    if (recount && !collection->isView()) TROUPE_TRY(countRecords(unit, collection->records()));
    else if (collection->isCapped()) TROUPE_TRY(recountCapped(unit, *collection));
    collections.push_back(std::move(collection));
  }
  durable_->endStart();
  TROUPE_TRY(dropUnreferenced(tables, referenced));
  collections_.update([&](CatalogSnapshot& snapshot) {
    snapshot.open(engine_.stableTimestamp());
    for (auto& collection : collections) snapshot.put(std::move(collection));
  });
  return Status::OK();
}

/// Too large ones keep counters that lag behind by a minute at most, and are cut by them. The oplog has markers.
Status Catalog::recountCapped(RecoveryUnit& unit, const Collection& collection) {
  const bool isOplog = collection.ns().isLocal() && collection.ns().collection().starts_with("oplog.");
  if (isOplog || !bytesToCount_) return Status::OK();
  const int64_t bytes = collection.records().dataBytes();  // a minute old at most
  if (*bytesToCount_ < bytes) {
    if (hooks_.warn) hooks_.warn("the capped collection " + collection.ns().toString() + " is too large to be counted");
    return Status::OK();
  }
  *bytesToCount_ -= bytes;
  return countRecords(unit, collection.records());
}

/// A catalog whose table is gone is not that of a new directory: all collections would be taken for dropped ones.
static Status checkCatalogIsThere(Engine& engine, bool keepUnreferenced) {
  const auto tables = engine.listTables();
  if (keepUnreferenced || std::ranges::find(tables, DurableCatalog::kIdent) != tables.end()) return {};
  if (std::ranges::none_of(tables, [](const std::string& ident) { return ident.starts_with("collection-"); }))
    return {};
  return {ErrorCode::kManualInterventionRequired,
          "the table of the catalog is missing, but there are collections; restore a backup, resync from another "
          "member, or start with --repair"};
}

StatusWith<std::unique_ptr<Catalog>> openCatalog(Engine& engine, SessionPool& pool, CatalogHooks hooks) {
  TROUPE_TRY(checkCatalogIsThere(engine, hooks.keepUnreferenced));
  auto catalog = std::make_unique<Catalog>(engine, pool, std::move(hooks));
  TROUPE_ASSIGN(catalog->durable_, DurableCatalog::open(engine, catalog->hooks_.random));
  TROUPE_ASSIGN(catalog->sizes_, SizeStorer::open(engine));
  TROUPE_TRY(catalog->adoptRole());
  constexpr int64_t kMostBytesCounted = int64_t{1} << 30;
  if (!catalog->sizes_->wereRight()) catalog->bytesToCount_ = kMostBytesCounted;
  TROUPE_TRY(catalog->load(false));
  catalog->bytesToCount_.reset();
  return catalog;
}

size_t Catalog::onTimes(Timestamp lastCheckpoint, Timestamp oldest) {
  if (snapshot()->holdsHistoryBefore(oldest))
    collections_.update([&](CatalogSnapshot& snapshot) { snapshot.trimHistory(oldest); });
  return reaper_.size() == 0 ? 0 : reaper_.reapOnce(engine_, pool_, lastCheckpoint, oldest);
}

/// A full cache refuses it for a moment, or until a checkpoint has written the changed pages.
Status Catalog::writeSizes() {
  constexpr int kAttempts = 3;
  Status written;
  for (int i = 0; i < kAttempts; ++i) {
    written = flush();
    if (written.isOK()) break;
  }
  return written;
}

/// Sizes that could not be written stay dirty, and those in doubt stay so (SizeStorer::settle alone ends it). They are
/// tried again as soon as the checkpoint has freed the cache: until then a kill would leave older ones beside its data.
/// A checkpoint as of a stable time has the rows of what was dropped since, also where a copy was begun beside it: only
/// a full one, which has no time, lets tables go. Whether data are still copied is asked afterwards: where they have
/// got a time meanwhile, tables wait for it again.
Status Catalog::checkpoint(const CheckpointOptions& options) {
  const std::vector<std::string> dropped = reaper_.idents();
  const Status written = writeSizes();
  TROUPE_ASSIGN(const Timestamp held, engine_.checkpoint(options));
  reaper_.noteCheckpoint(dropped);
  if (held == Timestamp{} && engine_.isCopying()) reaper_.release(dropped);
  if (written.isOK()) return written;
  if (const Status again = writeSizes(); !again.isOK())
    hooks_.warn("the sizes of collections could not be written with a checkpoint: " + again.reason());
  return Status::OK();
}

void Catalog::close() {
  const CatalogPtr last = snapshot();
  for (const auto& db : last->databases()) {
    for (const auto& collection : last->collections(db)) {
      if (collection->isView()) continue;
      closedTables_[collection->ident()] = collection->sharedRecords();
      for (const auto& index : collection->indexes()) closedTables_[index->ident] = index->access;
    }
  }
  collections_.update([](CatalogSnapshot& snapshot) { snapshot.close(); });
}

Status Catalog::reload(bool recount) {
  TROUPE_TRY(sizes_->reload());
  return load(recount);
}

}  // namespace troupe::storage
