#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/operation/memory_budget.hpp"

namespace troupe::storage {

/// Builds indexes over an existing collection in three phases. `start` and `commit` are short and need the collection's
/// exclusive lock; between them `step` scans a batch at a time and may run beside readers and writers, which keep up
/// the unfinished index themselves (a write that the scan has missed makes its insert conflict, and the batch is run
/// again). Duplicates in a unique index are those that are there when it commits: neither the scan nor a writer refuses
/// them before (SuspectedKeys). Used by one thread at a time; every call opens its own units of work on `unit` (which
/// must have none open), whose operation outlives this object unless it was taken up.
class IndexBuilder {
 public:
  /// Specs as returned by newIndexes. `build`: the build's own UUID; none: a new one.
  IndexBuilder(Catalog& catalog, Namespace ns, std::vector<IndexSpec> specs,
               std::optional<bson::Uuid> build = std::nullopt);

  /// Creates the tables and the unfinished indexes. Lock: collection X. Errors: NamespaceNotFound, WriteConflict (try
  /// again).
  Status start(RecoveryUnit& unit);
  /// Of the collection, once `start` has succeeded; its name may change while nobody holds its lock.
  const bson::Uuid& uuid() const { return uuid_; }
  /// Indexes up to `maxDocuments` more, fewer where they have very many keys. True when the scan has reached the end.
  /// Lock: collection IX. Errors: WriteConflict (call again), errors of keys (the build must be aborted),
  /// IndexBuildAborted (the collection went away).
  StatusWith<bool> step(RecoveryUnit& unit, int maxDocuments);
  /// Checks what looked like duplicates meanwhile, by a scan of the index where that was too much to remember, and
  /// makes the indexes ready. Lock: collection X. Errors: DuplicateKey; that of a kill of the unit's operation.
  Status commit(RecoveryUnit& unit);
  /// Removes the unfinished indexes. Lock: collection X.
  Status abort(RecoveryUnit& unit);
  /// In place of `start`: goes on with the unfinished indexes of this build, which lie in the collection. That they
  /// hold no duplicates has been checked by the node that logged the commit.
  void takeUp(const bson::Uuid& collection);
  /// After takeUp, where an earlier scan may have been: empties the indexes. Keys of scans have no times, so they
  /// outlive a crash and a rollback, after which other documents may have the records that they name. Lock: collection
  /// X. Errors: WriteConflict, IndexBuildAborted.
  Status clear(RecoveryUnit& unit);
  /// All steps and the commit; for a caller that holds the exclusive lock throughout. *Blocks*, also while the cache
  /// has no room. `clears`: first of all it empties the indexes. Errors: also that of a kill of the unit's operation.
  Status finish(RecoveryUnit& unit, bool clears = false);
  /// start, finish (or abort); likewise.
  Status buildAll(RecoveryUnit& unit);

  int64_t documentsScanned() const { return scanned_; }
  int64_t keysInserted() const { return inserted_; }
  const std::string& name(size_t i) const { return specs_[i].name; }

 private:
  /// Of one unit of work; the last document may pass them.
  static constexpr int64_t kMostKeys = 10'000;
  static constexpr size_t kMostKeyBytes = size_t{4} << 20;

  struct Batch {
    RecordId last;
    int64_t documents = 0;
    int64_t keys = 0;
    size_t keyBytes = 0;
    bool atEnd = false;
  };
  StatusWith<CollectionPtr> current() const;
  /// Opens the indexes for keys that no entry tells of.
  Status admitKeys(RecoveryUnit& unit, const Collection& collection) const;
  Status tell(RecoveryUnit& unit, IndexBuildOperation::Step step, const Collection& collection,
              const OpTime& slot) const;
  /// Keeps what is suspected within the memory of the unit's operation.
  Status chargeSuspects(RecoveryUnit& unit, const Collection& collection);
  Status checkDuplicates(RecoveryUnit& unit, const Collection& collection) const;
  StatusWith<Batch> scan(RecoveryUnit& unit, const Collection& collection, int maxDocuments) const;
  Status indexOne(RecoveryUnit& unit, const Collection& collection, const RecordId& id, bson::View document,
                  Batch& batch) const;

  Catalog& catalog_;
  Namespace ns_;
  std::vector<IndexSpec> specs_;
  bson::Uuid uuid_{};  ///< of the collection
  bson::Uuid buildUuid_{};
  RecordId last_;
  int64_t scanned_ = 0;
  int64_t inserted_ = 0;
  MemoryCharge suspects_;   ///< of the keys that the indexes suspect, on the budget of the operation that scans
  bool isChecked_ = false;  ///< its indexes hold no duplicates: nothing is suspect
};

/// Indexes that a build has left unfinished.
struct UnfinishedBuild {
  bson::Uuid collection;
  Namespace ns;      ///< its name when they were found
  bson::Uuid build;  ///< nil where the catalog's row does not name it
};
/// All of them, also those of builds that are under way.
std::vector<UnfinishedBuild> unfinishedBuilds(const CatalogSnapshot& snapshot);

/// Removes the unfinished indexes of a build: rows, idents and tables. The only way in which an unfinished index goes
/// but with its collection: at the end of a build that failed, after a start, and when a member becomes primary.
/// Nothing to do where the build has left none. Lock: collection X. Errors: those of reserveSlots; WriteConflict.
Status abortIndexBuild(Catalog& catalog, RecoveryUnit& unit, const bson::Uuid& collection, const bson::Uuid& build);

}  // namespace troupe::storage
