#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/catalog/collection_catalog.hpp"
#include "storage/catalog/drop_reaper.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/catalog/pending_drops.hpp"
#include "storage/records/size_storer.hpp"
#include "storage/transaction/session_pool.hpp"

namespace troupe::storage {

/// Steps of a reader's set-up and of a schema change's publication, between which the other may come. In their order.
enum class CatalogStep {
  kCatalogTaken,    ///< a reader has taken the catalog's latest version
  kSnapshotOpened,  ///< ... and opened its storage snapshot
  kSetUp,           ///< ... and found that both fit
  kMarked,          ///< a unit of work has marked its changes as pending
  kCommitted,       ///< ... and the engine has committed it
  kPublished,       ///< ... and its changes are in the latest version
};

/// Services the catalog uses.
struct CatalogHooks {
  FilterFactory makeFilter;                      ///< null: partial indexes are refused
  std::function<uint64_t()> random;              ///< for UUIDs and idents; null: the system's
  std::function<int64_t()> nowMillis;            ///< for $indexStats; null: the system's
  std::function<void(const std::string&)> warn;  ///< findings at start-up, sizes not written; null: dropped
  std::string blockCompressor = "snappy";
  std::vector<WriteObserver*> observers;  ///< each hears of the collections it asks for
  bool journaled = true;                  ///< the engine has a log; without one only a checkpoint makes commits durable
  bool replicated = false;  ///< a member of a replica set whose oplog recovers replicated collections (JRN-001)
  bool repair = false;      ///< tables that are missing are made anew, empty
  /// Tables of records that belong to no collection stay, since rows of the catalog were lost (recoverOrphans).
  bool keepUnreferenced = false;
};

/// All that describes the collections of a node: the durable catalog, the versions readers use, sizes and pending
/// drops. Built once by `openCatalog`; any thread. The engine and the session pool must outlive it.
class Catalog {
 public:
  Catalog(Engine& engine, SessionPool& pool, CatalogHooks hooks);

  CatalogPtr snapshot() const { return collections_.snapshot(); }
  CollectionPtr find(const Namespace& ns) const { return snapshot()->find(ns); }
  // Readers set up catalog and snapshot together: see catalog_view.hpp.

  CollectionCatalog& collections() { return collections_; }
  DurableCatalog& durable() { return *durable_; }
  SizeStorer& sizes() { return *sizes_; }
  DropReaper& reaper() { return reaper_; }
  PendingDatabaseDrops& pendingDrops() { return pendingDrops_; }
  const PendingDatabaseDrops& pendingDrops() const { return pendingDrops_; }
  Engine& engine() { return engine_; }
  SessionPool& pool() { return pool_; }
  const CatalogHooks& hooks() const { return hooks_; }

  /// Whether this node makes the secondary indexes that another member's log or a copy tells of. A member with
  /// `buildIndexes: false` makes none, but for the collections without which it cannot serve.
  bool makesIndexesOf(const Namespace& ns) const { return buildsIndexes() || ns.isEssential(); }
  bool buildsIndexes() const { return buildsIndexes_.load(std::memory_order_acquire); }
  /// From the member's own config, before anything is copied or carried out. Indexes that are there stay.
  void setBuildsIndexes(bool builds) { buildsIndexes_.store(builds, std::memory_order_release); }

  /// The engine's times have moved (CAT-027): trims the history of names and reaps dropped tables. Called from time to
  /// time by the timestamp monitor. *Blocks* briefly. Returns how many tables were dropped.
  size_t onTimes(Timestamp lastCheckpoint, Timestamp oldest);

  /// A checkpoint, with the sizes of the collections in it, or without them where they cannot be written: they help
  /// `count` and `collStats`, and the checkpoint is what frees a full cache. While the data are copied
  /// (Engine::isCopying) it frees the tables that were dropped before it: the next `onTimes` drops them, whatever the
  /// times, since nobody reads at an earlier time, and no rollback brings a dropped collection back. Without a journal
  /// dropped tables wait for it as well. *Blocks.* Errors: the engine's.
  Status checkpoint(const CheckpointOptions& options);

  /// Takes all collections out of the catalog, before what lies on disk is rolled back or replaced (CAT-009). Until
  /// `reload` nothing is found by name, reads set up now fail with InterruptedDueToReplStateChange, UUIDs keep their
  /// names, and holders of a collection cannot write through it. The caller holds the global lock exclusively.
  void close();
  /// Reads the catalog again: new record stores, index states and sizes. `recount`: documents are counted by scans, as
  /// after a rollback, which takes stored sizes back to no particular time. *Blocks.* Errors: those of openCatalog; the
  /// catalog then stays closed.
  Status reload(bool recount);

  /// Calls `observer` at each step, on the thread that takes it; for tests, set before other threads use the catalog.
  void observeSteps(std::function<void(CatalogStep)> observer) { onStep_ = std::move(observer); }
  void reach(CatalogStep step) const {
    if (onStep_) [[unlikely]]
      onStep_(step);
  }

  bson::Uuid newUuid();
  /// Options of the table of a collection or of one of its indexes.
  TableOptions tableOptions(const Namespace& ns, std::string_view appMetadata) const;
  /// Writes sizes, from time to time.
  Status flush() { return sizes_->flush(); }
  /// The same before the engine closes, after which the catalog is not written to.
  Status flushAtEnd() { return sizes_->flushAtEnd(); }

 private:
  friend StatusWith<std::unique_ptr<Catalog>> openCatalog(Engine&, SessionPool&, CatalogHooks);
  Status adoptRole();
  Status writeSizes();
  /// Reads all rows, compares them with the tables and publishes the collections.
  Status load(bool recount);
  Status recountCapped(RecoveryUnit& unit, const Collection& collection);
  Status dropUnreferenced(const std::set<std::string>& tables, const std::set<std::string>& referenced);
  Engine& engine_;
  SessionPool& pool_;
  CatalogHooks hooks_;
  CollectionCatalog collections_;
  std::unique_ptr<DurableCatalog> durable_;
  std::unique_ptr<SizeStorer> sizes_;
  DropReaper reaper_;
  /// Of capped collections, in the load of a start after a kill; nothing: their counters are right.
  std::optional<int64_t> bytesToCount_;
  PendingDatabaseDrops pendingDrops_;
  std::atomic<bool> buildsIndexes_{true};
  std::map<std::string, std::weak_ptr<const void>> closedTables_;  ///< what `close` took out, by ident
  std::function<void(CatalogStep)> onStep_;
};

/// Opens the catalog and reconciles it with the tables that exist: tables nobody refers to are dropped (SRC-002), a
/// missing table of a collection is fatal with advice (SRC-003, UnsupportedFormat), an index without table is left out
/// with a warning (SRC-004), unfinished indexes stay so, for the owner of index builds to discard (SRC-006). In a
/// repair missing tables are made anew; validation then fills those of indexes. After a kill the documents of capped
/// collections are counted, up to a gigabyte of them: their sizes decide what an insert removes. *Blocks.*
StatusWith<std::unique_ptr<Catalog>> openCatalog(Engine& engine, SessionPool& pool, CatalogHooks hooks = {});

}  // namespace troupe::storage
