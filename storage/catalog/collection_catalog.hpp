#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog/catalog_history.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/catalog/sharded_map.hpp"

namespace troupe::storage {

/// One immutable version of the catalog (CAT-010): an operation that holds it always sees the same. Copying it
/// shares all but the parts that change, so that a change costs little however many collections there are. Thread-safe
/// to read.
class CatalogSnapshot {
 public:
  uint64_t version() const { return version_; }
  /// A collection or view; null when there is none. Throws BrokenInvariant while the catalog is closed: nothing would
  /// be taken for "there is none". The catalog is closed under the exclusive global lock; work without locks asks
  /// `closed` first.
  CollectionPtr find(const Namespace& ns) const;
  CollectionPtr find(const bson::Uuid& uuid) const;
  /// Names of databases that hold something, sorted.
  std::vector<std::string> databases() const;
  bool hasDatabase(std::string_view db) const;
  /// An existing database whose name differs from `db` only in case; empty when none (DatabaseDifferCase), or when `db`
  /// exists. A database with nothing but its profile counts as none: each node records that for itself, and what a
  /// member of a set accepts must not depend on it.
  std::string databaseDifferingInCase(std::string_view db) const;
  /// Collections and views of a database, sorted by name.
  std::vector<CollectionPtr> collections(std::string_view db) const;
  /// Collections (no views) of a database in the order of UUIDs (CAT-009).
  std::vector<CollectionPtr> collectionsByUuid(std::string_view db) const;
  size_t size() const { return byUuid_.size(); }

  /// The version of a name or UUID that a committing unit of work is about to publish (CAT-018); null when it removes
  /// it. Nothing when no such commit is under way. The durable catalog decides which one a snapshot sees.
  std::optional<CollectionPtr> pending(const Namespace& ns) const;
  std::optional<CollectionPtr> pending(const bson::Uuid& uuid) const;
  bool hasPending() const { return !pendingNames_.empty(); }
  /// Catalog ids of earlier times (CAT-022): of names, and of UUIDs.
  std::optional<CatalogHistory::Id> idAt(const Namespace& ns, Timestamp at) const;
  std::optional<CatalogHistory::Id> idAt(const bson::Uuid& uuid, Timestamp at) const;
  /// Names and UUIDs with a history.
  size_t historySize() const { return names_.size() + uuids_.size(); }
  bool holdsHistoryBefore(Timestamp oldest) const { return names_.holdsBefore(oldest) || uuids_.holdsBefore(oldest); }

  /// Closed while the node rolls back or resyncs: no collection can be asked for, but UUIDs keep the names they had
  /// (CAT-009).
  bool closed() const { return closed_; }
  /// Before this time names and versions are not known: the catalog was read from disk as it stood then. Zero when all
  /// is known.
  Timestamp knownSince() const { return knownSince_; }
  /// The name of a collection, also while the catalog is closed; nothing when the UUID is unknown.
  std::optional<Namespace> nameOf(const bson::Uuid& uuid) const;

  // For writers, on their own copy only. `since`: the commit time of the change; zero when it has none.
  /// Adds the collection, or puts it in the place of the version with the same name. The replaced version refuses
  /// writes from then on (CAT-021).
  void put(CollectionPtr collection, Timestamp since = {});
  void remove(const Namespace& ns, Timestamp since = {});
  void markPending(const Namespace& ns, CollectionPtr next) { pendingNames_.put(ns.toString(), std::move(next)); }
  void markPending(const bson::Uuid& uuid, CollectionPtr next);
  void clearPending(const Namespace& ns) { pendingNames_.erase(ns.toString()); }
  void clearPending(const bson::Uuid& uuid);
  void trimHistory(Timestamp oldest);
  /// Forgets everything but the names of UUIDs, and history: it will be read again.
  void close();
  void open(Timestamp knownSince) { closed_ = false, closedNames_ = {}, knownSince_ = knownSince; }

 private:
  friend class CollectionCatalog;
  struct Database {
    bool holdsMoreThanProfile() const { return collections.size() > 1 || !collections.find("system.profile"); }
    ShardedMap<std::string, CollectionPtr> collections;
  };
  CatalogHistory::Id idOf(const Namespace& ns) const;
  CatalogHistory::Id idOf(const bson::Uuid& uuid) const;

  uint64_t version_ = 0;
  ShardedMap<std::string, std::shared_ptr<const Database>> databases_;
  ShardedMap<std::string, CollectionPtr> byUuid_;  ///< key: the 16 bytes
  ShardedMap<std::string, CollectionPtr> pendingNames_, pendingUuids_;
  CatalogHistory names_, uuids_;
  bool closed_ = false;
  Timestamp knownSince_;
  ShardedMap<std::string, Namespace> closedNames_;  ///< by UUID
};
using CatalogPtr = std::shared_ptr<const CatalogSnapshot>;

/// The current version of the catalog. Readers take it with one pointer copy; writers copy, change and publish, and
/// writers that arrive meanwhile share the next copy, so that there are fewer versions than changes (CAT-011). Any
/// thread.
class CollectionCatalog {
 public:
  CollectionCatalog() : current_(std::make_shared<CatalogSnapshot>()) {}

  CatalogPtr snapshot() const;
  /// The version that `snapshot` would give now, without taking it.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Publishes a new version with the change applied; returns after that. `change` runs on some writer's thread.
  void update(std::function<void(CatalogSnapshot&)> change);
  /// Writers that wait for the next copy; all of them will share it.
  size_t waiting() const;

 private:
  struct Job;
  mutable std::mutex pointerMutex_;  ///< held for a pointer copy only
  CatalogPtr current_;
  std::atomic<uint64_t> version_{0};
  mutable std::mutex queueMutex_;
  std::condition_variable published_;
  std::vector<Job*> queue_;
  bool publishing_ = false;
};

}  // namespace troupe::storage
