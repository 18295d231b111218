#include "storage/catalog/collection_catalog.hpp"

#include <algorithm>
#include <cctype>

#include "storage/catalog/catalog_closed.hpp"

namespace troupe::storage {
namespace {

std::string_view keyOf(const bson::Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}

bool sameButForCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

CollectionPtr CatalogSnapshot::find(const Namespace& ns) const {
  if (closed_) throw CatalogClosed();
  const auto* database = databases_.find(ns.db());
  const CollectionPtr* found = database ? (*database)->collections.find(ns.collection()) : nullptr;
  return found ? *found : nullptr;
}

CollectionPtr CatalogSnapshot::find(const bson::Uuid& uuid) const {
  if (closed_) throw CatalogClosed();
  const CollectionPtr* found = byUuid_.find(keyOf(uuid));
  return found ? *found : nullptr;
}

std::vector<std::string> CatalogSnapshot::databases() const {
  std::vector<std::string> names;
  databases_.each([&](const std::string& name, const auto&) { names.push_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

bool CatalogSnapshot::hasDatabase(std::string_view db) const { return databases_.find(db) != nullptr; }

std::string CatalogSnapshot::databaseDifferingInCase(std::string_view db) const {
  const auto* const same = databases_.find(db);
  if (same && (*same)->holdsMoreThanProfile()) return {};
  std::string found;
  databases_.each([&](const std::string& name, const auto& database) {
    if (name != db && sameButForCase(name, db) && database->holdsMoreThanProfile()) found = name;
  });
  return found;
}

std::vector<CollectionPtr> CatalogSnapshot::collections(std::string_view db) const {
  std::vector<CollectionPtr> all;
  if (const auto* database = databases_.find(db))
    (*database)->collections.each(
        [&](const std::string&, const CollectionPtr& collection) { all.push_back(collection); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->ns() < b->ns(); });
  return all;
}

std::vector<CollectionPtr> CatalogSnapshot::collectionsByUuid(std::string_view db) const {
  auto all = collections(db);
  std::erase_if(all, [](const auto& collection) { return collection->isView(); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->uuid() < b->uuid(); });
  return all;
}

std::optional<CollectionPtr> CatalogSnapshot::pending(const Namespace& ns) const {
  if (pendingNames_.empty()) return std::nullopt;
  const CollectionPtr* found = pendingNames_.find(ns.toString());
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<CollectionPtr> CatalogSnapshot::pending(const bson::Uuid& uuid) const {
  if (pendingUuids_.empty()) return std::nullopt;
  const CollectionPtr* found = pendingUuids_.find(keyOf(uuid));
  return found ? std::optional(*found) : std::nullopt;
}

void CatalogSnapshot::markPending(const bson::Uuid& uuid, CollectionPtr next) {
  pendingUuids_.put(keyOf(uuid), std::move(next));
}

void CatalogSnapshot::clearPending(const bson::Uuid& uuid) { pendingUuids_.erase(keyOf(uuid)); }

std::optional<CatalogHistory::Id> CatalogSnapshot::idAt(const Namespace& ns, Timestamp at) const {
  return names_.at(ns.toString(), at);
}

std::optional<CatalogHistory::Id> CatalogSnapshot::idAt(const bson::Uuid& uuid, Timestamp at) const {
  return uuids_.at(keyOf(uuid), at);
}

void CatalogSnapshot::trimHistory(Timestamp oldest) {
  names_.trim(oldest);
  uuids_.trim(oldest);
}

std::optional<Namespace> CatalogSnapshot::nameOf(const bson::Uuid& uuid) const {
  if (closed_) {
    const Namespace* remembered = closedNames_.find(keyOf(uuid));
    return remembered ? std::optional(*remembered) : std::nullopt;
  }
  const CollectionPtr collection = find(uuid);
  return collection ? std::optional(collection->ns()) : std::nullopt;
}

CatalogHistory::Id CatalogSnapshot::idOf(const Namespace& ns) const {
  const CollectionPtr collection = find(ns);
  return collection ? CatalogHistory::Id(collection->catalogId()) : std::nullopt;
}

CatalogHistory::Id CatalogSnapshot::idOf(const bson::Uuid& uuid) const {
  const CollectionPtr collection = find(uuid);
  return collection ? CatalogHistory::Id(collection->catalogId()) : std::nullopt;
}

void CatalogSnapshot::put(CollectionPtr collection, Timestamp since) {
  const Namespace& ns = collection->ns();
  names_.record(ns.toString(), since, idOf(ns), collection->catalogId());
  const auto* existing = databases_.find(ns.db());
  auto database = existing ? std::make_shared<Database>(**existing) : std::make_shared<Database>();
  if (const CollectionPtr replaced = find(ns); replaced && replaced != collection) replaced->supersede();
  if (!collection->isView()) {
    uuids_.record(keyOf(collection->uuid()), since, idOf(collection->uuid()), collection->catalogId());
    byUuid_.put(keyOf(collection->uuid()), collection);
  }
  database->collections.put(ns.collection(), collection);
  databases_.put(ns.db(), std::move(database));
}

void CatalogSnapshot::remove(const Namespace& ns, Timestamp since) {
  const CollectionPtr collection = find(ns);
  if (!collection) return;
  collection->supersede();
  names_.record(ns.toString(), since, collection->catalogId(), std::nullopt);
  auto database = std::make_shared<Database>(**databases_.find(ns.db()));
  database->collections.erase(ns.collection());
  if (!collection->isView()) {
    uuids_.record(keyOf(collection->uuid()), since, collection->catalogId(), std::nullopt);
    byUuid_.erase(keyOf(collection->uuid()));
  }
  if (database->collections.empty()) {
    databases_.erase(ns.db());
  } else {
    databases_.put(ns.db(), std::move(database));
  }
}

void CatalogSnapshot::close() {
  closed_ = true;
  databases_.each([&](const std::string&, const auto& database) {
    database->collections.each([&](const std::string&, const CollectionPtr& collection) {
      collection->supersede();
      if (!collection->isView()) closedNames_.put(keyOf(collection->uuid()), collection->ns());
    });
  });
  databases_ = {};
  byUuid_ = {};
  pendingNames_ = {};
  pendingUuids_ = {};
  names_ = {};
  uuids_ = {};
}

struct CollectionCatalog::Job {
  std::function<void(CatalogSnapshot&)> change;
  bool done = false;
};

CatalogPtr CollectionCatalog::snapshot() const {
  std::lock_guard lock(pointerMutex_);
  return current_;
}

size_t CollectionCatalog::waiting() const {
  std::lock_guard lock(queueMutex_);
  return queue_.size();
}

void CollectionCatalog::update(std::function<void(CatalogSnapshot&)> change) {
  Job job{std::move(change)};
  std::unique_lock lock(queueMutex_);
  queue_.push_back(&job);
  published_.wait(lock, [&] { return job.done || !publishing_; });
  if (job.done) return;
  publishing_ = true;  // this writer publishes the changes of every waiter, too
  std::vector<Job*> batch;
  batch.swap(queue_);
  lock.unlock();
  auto next = std::make_shared<CatalogSnapshot>(*snapshot());
  ++next->version_;
  for (Job* each : batch) each->change(*next);
  {
    std::lock_guard pointer(pointerMutex_);
    version_.store(next->version_, std::memory_order_release);
    current_ = std::move(next);
  }
  lock.lock();
  for (Job* each : batch) each->done = true;
  publishing_ = false;
  published_.notify_all();
}

}  // namespace troupe::storage
