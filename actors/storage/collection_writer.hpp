#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/oplog/oplog_writer.hpp"
#include "storage/transaction/conflict_retry.hpp"
#include "storage/transaction/newest_data.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe {

/// Parts of the node that writers of collections use; all of it outlives them.
struct WriteServices {
  Node& node;
  storage::Catalog& catalog;
  storage::ConflictCounters* conflicts = nullptr;  ///< null: not counted
  /// How conflicts are retried, as the parameters say now; null: the defaults.
  std::function<storage::ConflictRetryOptions()> retryOptions;
  /// Fails when the disk has no room for `bytes` more; null: no check.
  std::function<Status(size_t bytes)> roomFor;
  storage::OplogWriter* log = nullptr;  ///< of a member of a replica set
};

/// A collection that is written to: locked in IX, so that it can neither go away nor change its shape meanwhile; in X
/// when it is capped, since an insert may remove the oldest documents: its writers take turns.
struct WriteTarget {
  storage::HeldLock lock;
  storage::CollectionPtr collection;  ///< null when it does not exist and was not to be created
};
enum class IfMissing { kLeave, kCreate };

/// Entry point for writers above storage: commands, pipelines and state documents open, create, retry and commit
/// through it. Each unit
/// of work on the way passes the fence and the slot reserver (storage/oplog/write_slots.hpp) and tells the observers.
/// Works for one operation, on its thread or actor; must not outlive it. A tidy rule (`units_of_work`) finds code that
/// goes past it.
class CollectionWriter {
 public:
  CollectionWriter(const WriteServices& services, storage::OperationContext& operation)
      : services_(services), operation_(operation) {}

  /// Locks the collection for writing, and creates it if it is missing and wanted. Errors: CommandNotSupportedOnView,
  /// InvalidNamespace and those of creating a collection, of waiting for locks, OutOfDiskSpace.
  Task<StatusWith<WriteTarget>> open(storage::Namespace ns, IfMissing ifMissing);
  /// As `open`, without waiting or a task, for the usual case. Nothing: a lock is not free, or there is no such
  /// collection that many may write to at a time.
  std::optional<WriteTarget> tryOpen(const storage::Namespace& ns) const;
  /// Makes a collection where there is none; the operation holds no lock below the global one.
  Task<Status> createIfMissing(storage::Namespace ns) { return createIfMissing(std::move(ns), {}); }
  Task<Status> createIfMissing(storage::Namespace ns, storage::CollectionOptions options);

  /// Adds a note to the log of a member, an entry that changes nothing (OPL-017); it is the operation's write. The
  /// operation holds no lock below the global one. Errors: those of waiting for locks and of the fence.
  Task<Status> note(bson::Document message);

  /// Runs `body` (a callable that gives Status) in a unit of work and commits it. A conflict is the caller's to retry.
  /// It sees the newest data, also where the operation's reads are of an earlier time (NewestData).
  template <class Body>
  Status once(const Body& body, storage::UnitLogging logging = storage::UnitLogging::kEach) {
    const storage::NewestData newest(unit());
    storage::WriteUnitOfWork work(unit(), logging);
    TROUPE_TRY(body());
    return work.commit();
  }
  /// `once`, and at once again after the first conflicts (STX-006). When it still fails, `retry.pendingDelay()` says
  /// how long to wait before the next call.
  template <class Body>
  Status attempt(storage::ConflictRetry& retry, const Body& body,
                 storage::UnitLogging logging = storage::UnitLogging::kEach) {
    return storage::writeConflictRetry(retry, unit(), [&] { return once(body, logging); });
  }
  /// `attempt`, with waits in between that hold no thread, until it is done, fails for good, or the operation has to
  /// end. `body` lives in the caller's frame.
  template <class Body>
  Task<Status> commit(Body& body, storage::UnitLogging logging = storage::UnitLogging::kEach) {
    storage::ConflictRetry retry = newRetry();
    for (;;) {
      TROUPE_CO_TRY(operation_.checkForInterrupt(services_.node.environment().now()));
      const uint64_t decided = preparedDecisions();
      const Status status = attempt(retry, body, logging);
      if (status == ErrorCode::kPreparedTransactionInProgress) {
        TROUPE_CO_TRY(co_await untilDecided(decided));
        continue;
      }
      if (status.isOK() || !retry.pendingDelay()) co_return status;
      TROUPE_CO_TRY(co_await pause(*retry.pendingDelay()));
    }
  }

  storage::ConflictRetry newRetry() const;
  /// Waits between two attempts. Errors: the operation has to end.
  Task<Status> pause(std::chrono::milliseconds delay);
  /// To be asked before an attempt that may meet a prepared transaction, and handed to `untilDecided` when it did.
  uint64_t preparedDecisions() const;
  /// Gives the snapshot up and waits until some prepared transaction has been decided since. Errors: the operation has
  /// to end.
  Task<Status> untilDecided(uint64_t seen);
  /// Fails when the disk has no room for another table.
  Status roomForTable() const;

 private:
  storage::RecoveryUnit& unit() { return operation_.recoveryUnit(); }
  Task<Status> until(std::shared_ptr<Promise<Status>> promise, InterruptibleWait::Options options);

  const WriteServices& services_;
  storage::OperationContext& operation_;
};

}  // namespace troupe
