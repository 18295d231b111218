#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/batch_units.hpp"
#include "storage/oplog/entry_locks.hpp"
#include "storage/sessions/applied_sessions.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::replication {

class FollowedBuilds;

/// Consecutive entries that are made visible together. Cheap to copy; shares its stretch.
struct OplogBatch {
  std::shared_ptr<const storage::OplogStretch> stretch;
  size_t first = 0, count = 0;

  std::span<const storage::OplogEntry> entries() const {
    return std::span<const storage::OplogEntry>(stretch->entries).subspan(first, count);
  }
  std::span<const bson::Document> documents() const {
    return std::span<const bson::Document>(stretch->documents).subspan(first, count);
  }
  /// Of the entries.
  size_t bytes() const;
};

/// Writes batches of another member's log: its entries to the own log, then what they say to the documents (OPL-010,
/// REP-020), and of the sessions that wrote them (SES-016). Moves no time: nobody sees the inside of a batch as long as
/// the caller moves them afterwards (REP-023). Waits for all locks that the batch needs before it writes anything, and
/// holds them to its end: a batch that has begun waits for nobody, and who needs the node for himself (a shutdown, a
/// rollback) waits for it. One batch at a time. Outlives its users and whatever they have begun: the writers of a batch
/// run on the pool, also when the task that awaits them has gone.
class BatchWriter {
 public:
  struct Options {
    storage::ApplyMode mode = storage::ApplyMode::kFollowing;  ///< an initial sync replays
    size_t writers = 4;                                        ///< that write documents side by side, at most
    size_t entriesPerWriter = 32;                              ///< below that a batch gets fewer writers
    storage::UnitLimits unit = {};
  };
  /// Entries of one collection that were written in one storage transaction, or one entry alone.
  struct AppliedUnit {
    const storage::OplogEntry& first;
    size_t count = 1;
    Duration took{};
  };
  struct Parts {
    Node& node;
    storage::Catalog& catalog;
    storage::OplogStore& log;
    storage::OperationServices services;  ///< its tickets are not asked for: an applier must not wait behind clients
    /// Hears of each unit, on the thread that wrote it; must not block. May be null.
    std::function<void(const AppliedUnit&)> applied = {};
    /// Scans of index builds beside the batches. Null: the entries of their commits scan.
    FollowedBuilds* builds = nullptr;
  };
  BatchWriter(const Parts& parts, const Options& options);

  /// Log, then documents. The batch is a command alone, or holds none (nextBatch). Conflicts and pressure in the cache
  /// are waited out. Errors end the member: its data are not those of the log, or storage has failed; but for
  /// InterruptedDueToReplStateChange, where a rollback begins and the batch has not, and InterruptedAtShutdown.
  Task<Status> write(OplogBatch batch);
  /// The halves of `write`. The second may be repeated in mode kReplaying, as a start does that finds the entries.
  Task<Status> writeLog(OplogBatch batch);
  Task<Status> writeDocuments(OplogBatch batch);
  /// Whether the batch under way has its locks: from then on something of it may have been written.
  bool hasBegun() const { return begun_.load(); }
  /// The node shuts down: ends the scan of a batch, which may take long, and each to come. The batch fails with
  /// InterruptedAtShutdown, and a start carries it out from the log. Any thread.
  void endScans();

  /// Since the writer was made.
  struct Figures {
    int64_t units = 0;      ///< storage transactions of documents: fewer than entries (REP-022)
    int64_t conflicts = 0;  ///< units that were begun anew
  };
  Figures figures() const { return {units_.load(), conflicts_.load()}; }

 private:
  struct Holding;
  struct Writing;
  static constexpr int kBatchesApart = 16;
  using Share = std::vector<const storage::OplogEntry*>;
  using Entries = std::span<const storage::OplogEntry* const>;

  Task<StatusWith<std::shared_ptr<Holding>>> begin(OplogBatch batch);
  StatusWith<std::vector<storage::EntryLock>> locksFor(const OplogBatch& batch) const;
  /// What has scanned for the index build that the batch commits; null: nothing has.
  Task<StatusWith<std::unique_ptr<storage::IndexBuilder>>> scannedFor(const OplogBatch& batch) const;
  Task<Status> acquire(std::shared_ptr<Holding> holding, std::vector<storage::EntryLock> wanted);
  std::shared_ptr<storage::OperationContext> operationFor(const OplogBatch& batch) const;

  Task<Status> log(std::shared_ptr<Holding> holding);
  Task<Status> carryOut(std::shared_ptr<Holding> holding);
  std::vector<Share> spread(const OplogBatch& batch) const;
  std::vector<Share> spreadSessions(const OplogBatch& batch) const;
  /// Side by side; none may be there.
  Task<Status> runShares(std::shared_ptr<Holding> holding, std::vector<Share> documents, std::vector<Share> sessions);
  Task<void> runShare(std::shared_ptr<Writing> writing, size_t share);
  /// The shares of a small batch, one after the other.
  Task<void> runInTurn(std::shared_ptr<Writing> writing);
  /// The shares of a small batch in one unit of work; false: nothing of them was written.
  bool tryTogether(const Writing& writing);
  Task<void> finishShare(std::shared_ptr<Writing> writing, size_t share);
  Task<Status> writeShare(std::shared_ptr<Writing> writing, size_t share);
  /// Entries of one collection.
  Task<Status> writeCollection(std::shared_ptr<Writing> writing, Entries entries);
  /// What is kept of the sessions that wrote the entries.
  Task<Status> writeSessions(std::shared_ptr<Writing> writing, Entries entries);
  Task<Status> writeAlone(std::shared_ptr<Holding> holding);
  /// Scans begin with the start of their build, and end with its abort.
  void noteBuilds(const storage::OplogEntry& entry) const;
  Task<Status> applyAlone(std::shared_ptr<Holding> holding, std::shared_ptr<storage::OperationContext> operation);
  void noteUnit(const storage::OplogEntry& first, size_t count, TimePoint begun);
  /// Waits before the next attempt; false: the failure is final.
  Task<bool> retries(storage::ConflictRetry& retry, Status failure);

  Node& node_;
  storage::Catalog& catalog_;
  storage::OplogStore& log_;
  const storage::OperationServices services_;
  const Options options_;
  const storage::OperationApplier applier_;
  const storage::AppliedSessions sessions_;
  const std::function<void(const AppliedUnit&)> applied_;
  FollowedBuilds* const builds_;
  int apart_ = 0;  ///< small batches that are not tried in one unit, since one before them failed
  std::atomic<bool> begun_{false};
  std::mutex mutex_;
  bool ends_ = false;
  int64_t scansApart_ = 0;
  std::weak_ptr<storage::OperationContext> scanning_;  ///< apart, for the batch under way
  std::atomic<int64_t> units_{0}, conflicts_{0};
};

}  // namespace troupe::replication
