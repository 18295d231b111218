#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/catalog/collection_catalog.hpp"
#include "storage/catalog/drop_reaper.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/records/size_storer.hpp"
#include "storage/transaction/session_pool.hpp"

namespace troupe::storage {

/// What the catalog needs from its surroundings.
struct CatalogHooks {
  FilterFactory makeFilter;                      ///< null: partial indexes are refused
  std::function<uint64_t()> random;              ///< for UUIDs and idents; null: the system's
  std::function<int64_t()> nowMillis;            ///< for $indexStats; null: the system's
  std::function<void(const std::string&)> warn;  ///< findings at start-up; null: dropped
  std::string blockCompressor = "snappy";
  std::vector<WriteObserver*> observers;  ///< each hears of the collections it asks for
  bool replicated = false;  ///< a member of a replica set whose oplog recovers replicated collections (JRN-001)
  bool repair = false;      ///< tables that are missing are made anew, empty
};

/// All that describes the collections of a node: the durable catalog, the versions readers use, sizes and pending
/// drops. Built once by `openCatalog`; any thread. The engine and the session pool must outlive it.
class Catalog {
 public:
  Catalog(Engine& engine, SessionPool& pool, CatalogHooks hooks);

  CatalogPtr snapshot() const { return collections_.snapshot(); }
  CollectionPtr find(const Namespace& ns) const { return snapshot()->find(ns); }
  StatusWith<CatalogPtr> openConsistent(RecoveryUnit& unit) const { return collections_.openConsistent(unit); }

  CollectionCatalog& collections() { return collections_; }
  DurableCatalog& durable() { return *durable_; }
  SizeStorer& sizes() { return *sizes_; }
  DropReaper& reaper() { return reaper_; }
  Engine& engine() { return engine_; }
  SessionPool& pool() { return pool_; }
  const CatalogHooks& hooks() const { return hooks_; }

  bson::Uuid newUuid();
  /// Options of the table of a collection or of one of its indexes.
  TableOptions tableOptions(const Namespace& ns, std::string_view appMetadata) const;
  /// Writes sizes; call before the engine closes.
  Status flush() { return sizes_->flush(); }

 private:
  friend StatusWith<std::unique_ptr<Catalog>> openCatalog(Engine&, SessionPool&, CatalogHooks);
  Engine& engine_;
  SessionPool& pool_;
  CatalogHooks hooks_;
  CollectionCatalog collections_;
  std::unique_ptr<DurableCatalog> durable_;
  std::unique_ptr<SizeStorer> sizes_;
  DropReaper reaper_;
};

/// Opens the catalog and reconciles it with the tables that exist: tables nobody refers to are dropped (SRC-002), a
/// missing table of a collection is fatal with advice (SRC-003, UnsupportedFormat), an index without table is left out
/// with a warning (SRC-004), unfinished index builds are discarded (SRC-006). In a repair missing tables are made anew;
/// validation then fills those of indexes. *Blocks.*
StatusWith<std::unique_ptr<Catalog>> openCatalog(Engine& engine, SessionPool& pool, CatalogHooks hooks = {});

}  // namespace troupe::storage
