#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog/collection.hpp"
#include "storage/catalog/sharded_map.hpp"

namespace troupe::storage {

/// One immutable version of the catalog (CAT-010): what an operation that holds it sees never changes. Copying it
/// shares all but the parts that change, so that a change costs little however many collections there are. Thread-safe
/// to read.
class CatalogSnapshot {
 public:
  uint64_t version() const { return version_; }
  /// A collection or view; null when there is none.
  CollectionPtr find(const Namespace& ns) const;
  CollectionPtr find(const bson::Uuid& uuid) const;
  /// Names of databases that hold something, sorted.
  std::vector<std::string> databases() const;
  bool hasDatabase(std::string_view db) const;
  /// An existing database whose name differs from `db` only in case; empty when none (DatabaseDifferCase).
  std::string databaseDifferingInCase(std::string_view db) const;
  /// Collections and views of a database, sorted by name.
  std::vector<CollectionPtr> collections(std::string_view db) const;
  /// Collections (no views) of a database in the order of UUIDs (CAT-009).
  std::vector<CollectionPtr> collectionsByUuid(std::string_view db) const;
  size_t size() const { return byUuid_.size(); }

  // For writers, on their own copy only.
  void put(CollectionPtr collection);
  void remove(const Namespace& ns);

 private:
  friend class CollectionCatalog;
  struct Database {
    ShardedMap<std::string, CollectionPtr> collections;
  };
  uint64_t version_ = 0;
  ShardedMap<std::string, std::shared_ptr<const Database>> databases_;
  ShardedMap<std::string, CollectionPtr> byUuid_;  ///< key: the 16 bytes
};
using CatalogPtr = std::shared_ptr<const CatalogSnapshot>;

/// The current version of the catalog. Readers take it with one pointer copy; writers copy, change and publish, and
/// those who arrive meanwhile run on the same copy (CAT-011). Any thread.
class CollectionCatalog {
 public:
  CollectionCatalog() : current_(std::make_shared<CatalogSnapshot>()) {}

  CatalogPtr snapshot() const;
  /// Publishes a new version with the change applied; returns after that. `change` runs on some writer's thread.
  void update(std::function<void(CatalogSnapshot&)> change);
  /// Opens the unit's storage snapshot together with the catalog version that fits it (CAT-019).
  StatusWith<CatalogPtr> openConsistent(RecoveryUnit& unit) const;

 private:
  struct Job;
  mutable std::mutex pointerMutex_;  ///< held for a pointer copy only
  CatalogPtr current_;
  std::mutex queueMutex_;
  std::condition_variable published_;
  std::vector<Job*> queue_;
  bool publishing_ = false;
};

}  // namespace troupe::storage
