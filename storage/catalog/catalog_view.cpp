#include "storage/catalog/catalog_view.hpp"

#include "storage/catalog/catalog_changes.hpp"
#include "storage/catalog/collection_maker.hpp"
#include "storage/catalog/node_state.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::storage {
namespace {

/// Attempts to set up on an unchanged catalog; after the last one lookups verify in the durable catalog instead.
constexpr int kMaxSetUps = 16;

/// The row without what a write may change beside schema changes: the multikey state, which versions share (CAT-020).
bson::Document shapeOf(CatalogEntry entry) {
  for (IndexMetadata& index : entry.indexes) {
    index.multikey = false;
    index.paths.clear();
  }
  return entry.toDocument();
}

bool names(const CatalogEntry& entry, const Namespace& ns) { return entry.ns == ns; }
bool names(const CatalogEntry& entry, const bson::Uuid& uuid) { return entry.options.uuid == uuid; }

}  // namespace

StatusWith<CatalogView*> CatalogView::open(Catalog& catalog, RecoveryUnit& unit) {
  if (auto* view = static_cast<CatalogView*>(unit.snapshotState())) return view;
  const NodeState* const node = unit.operation() ? unit.operation()->services().node : nullptr;
  bool verify = unit.isActive();
  CatalogPtr latest;
  for (int setUps = 1;; ++setUps) {
    const uint64_t state = node ? node->version() : 0;
    latest = catalog.snapshot();
    catalog.reach(CatalogStep::kCatalogTaken);
    if (latest->closed())
      return Status(ErrorCode::kInterruptedDueToReplStateChange, "the catalog is closed and will be read again");
    TROUPE_TRY(unit.begin());
    catalog.reach(CatalogStep::kSnapshotOpened);
    const bool moved = catalog.collections().version() != latest->version();
    const bool nodeChanged = node && node->version() != state;
    if (verify || (!moved && !nodeChanged)) break;
    // A unit of work keeps the snapshot it has; and set-up ends however often the schema changes.
    verify = !nodeChanged && (unit.inUnitOfWork() || setUps >= kMaxSetUps);
    if (verify) break;
    unit.abandonSnapshot();
  }
  catalog.reach(CatalogStep::kSetUp);
  std::unique_ptr<CatalogView> owned(new CatalogView(catalog, unit, std::move(latest), verify));
  CatalogView* view = owned.get();
  unit.bindToSnapshot(std::move(owned));
  return view;
}

StatusWith<CollectionPtr> CatalogView::find(const Namespace& ns) { return findBy(ns); }
StatusWith<CollectionPtr> CatalogView::find(const bson::Uuid& uuid) { return findBy(uuid); }

StatusWith<std::vector<CollectionPtr>> CatalogView::collections(std::string_view db) {
  TROUPE_ASSIGN(const auto names, namesIn(db));
  std::vector<CollectionPtr> found;
  found.reserve(names.size());
  for (const Namespace& ns : names) {
    TROUPE_ASSIGN(auto collection, find(ns));
    if (collection) found.push_back(std::move(collection));
  }
  return found;
}

/// The catalog that was taken has all names only where the snapshot is as new and no change is under way: else the rows
/// tell, as the snapshot reads them.
StatusWith<std::vector<Namespace>> CatalogView::namesIn(std::string_view db) {
  std::vector<Namespace> names;
  if (!unit_.readTimestamp() && !verify_ && !latest_->hasPending() && !CatalogChanges::in(unit_)) {
    const auto databases = db.empty() ? latest_->databases() : std::vector{std::string(db)};
    for (const std::string& database : databases)
      for (const CollectionPtr& each : latest_->collections(database)) names.push_back(each->ns());
    return names;
  }
  TROUPE_ASSIGN(const auto entries, catalog_.durable().entries(unit_));
  for (const CatalogEntry& entry : entries)
    if (db.empty() || entry.ns.db() == db) names.push_back(entry.ns);
  std::ranges::sort(names);
  return names;
}

StatusWith<CollectionPtr> CatalogView::findForWrite(const Namespace& ns) {
  TROUPE_ASSIGN(auto found, findBy(ns));
  const CatalogChanges* own = CatalogChanges::in(unit_);
  if (own && own->find(ns)) return found;
  if (found != catalog_.find(ns))
    return Status(ErrorCode::kWriteConflict, "the catalog changed after the snapshot: " + ns.toString());
  return found;
}

template <class Key>
StatusWith<CollectionPtr> CatalogView::findBy(const Key& key) {
  if (const CatalogChanges* own = CatalogChanges::in(unit_))
    if (auto changed = own->find(key)) return std::move(*changed);
  CollectionPtr latest = latest_->find(key);
  if (const auto pending = latest_->pending(key)) return verified(key, std::array{*pending, latest});
  if (verify_) return verified(key, std::array{latest});
  const auto at = unit_.readTimestamp();
  if (at && *at < latest_->knownSince())
    return Status(ErrorCode::kSnapshotUnavailable,
                  "the catalog of that time is no longer known: it was read again since");
  if (!at || (latest && latest->minimumValid() <= *at)) return latest;
  const auto then = latest_->idAt(key, *at);
  if (then) return *then ? older(**then, key) : StatusWith<CollectionPtr>(CollectionPtr());
  return latest ? older(latest->catalogId(), key) : StatusWith<CollectionPtr>(CollectionPtr());
}

/// The candidate whose row the snapshot reads as the candidate was made from it.
template <class Key>
StatusWith<CollectionPtr> CatalogView::verified(const Key& key, std::span<const CollectionPtr> candidates) {
  std::optional<int64_t> named;
  for (const CollectionPtr& candidate : candidates) {
    if (!candidate) continue;
    TROUPE_ASSIGN(const auto entry, catalog_.durable().readEntry(unit_, candidate->catalogId()));
    if (!entry || !names(*entry, key)) continue;
    if (shapeOf(*entry) == shapeOf(candidate->toEntry())) return candidate;
    named = candidate->catalogId();
  }
  if (named) return older(*named, key);
  if (const auto at = unit_.readTimestamp()) {
    const auto then = latest_->idAt(key, *at);
    if (then && *then) return older(**then, key);
  }
  return verify_ ? search(key) : StatusWith<CollectionPtr>(CollectionPtr());
}

/// The catalog that was taken may lack what the snapshot has: only its rows tell.
template <class Key>
StatusWith<CollectionPtr> CatalogView::search(const Key& key) {
  TROUPE_ASSIGN(const auto entries, catalog_.durable().entries(unit_));
  for (const CatalogEntry& entry : entries)
    if (names(entry, key)) return older(entry.catalogId, key);
  return CollectionPtr();
}

template <class Key>
StatusWith<CollectionPtr> CatalogView::older(int64_t catalogId, const Key& key) {
  if (auto made = older_.find(catalogId); made != older_.end()) return made->second;
  TROUPE_ASSIGN(const auto entry, catalog_.durable().readEntry(unit_, catalogId));
  if (!entry || !names(*entry, key)) return CollectionPtr();
  TROUPE_ASSIGN(auto collection, rebuild(*entry));
  older_.emplace(catalogId, collection);
  return collection;
}

/// Shares record store and index state with the latest version where that one still uses the table.
StatusWith<CollectionPtr> CatalogView::rebuild(const CatalogEntry& entry) {
  const CollectionPtr latest = entry.options.uuid ? latest_->find(*entry.options.uuid) : nullptr;
  return CollectionMaker::remake(catalog_, entry, latest.get());
}

}  // namespace troupe::storage
