#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/machines/machine_host.hpp"
#include "actors/replication/kept_history.hpp"
#include "actors/replication/remote_members.hpp"
#include "actors/replication/rollback_store.hpp"
#include "messaging/log/log.hpp"
#include "storage/oplog/storage_rollback.hpp"

namespace troupe::replication {

/// Path of the rollback actor on every member. It hears `Diverged` of the fetcher (local payload).
inline constexpr const char* kRollbackPath = "/node/replication/rollback";

/// What a rollback has done, for the log and for those who are told (RBK-017).
struct RollbackSummary {
  machines::NodeName source;
  OpTime common, newest;
  int64_t rollbackId = 0;
  int64_t undone = 0;          ///< entries of the log
  int64_t savedDocuments = 0;  ///< in files
  int64_t replayed = 0, recounted = 0;
  bson::Timestamp stable;

  bson::Document toBson() const;
};

/// Parts of the node that a rollback uses. All that is referred to outlives the actor; functions are called on its
/// thread, and are there unless it says "may be null".
struct RollbackParts {
  std::shared_ptr<machines::StorageAccess> storage;  ///< with locks, slots and idle units among its operations
  storage::OplogStore* oplog = nullptr;
  storage::TruncateAfterPoint* endOfLog = nullptr;
  RemoteMembers* members = nullptr;
  log::Log* log = nullptr;
  KeptHistory* history = nullptr;     ///< whose stable time stands still while storage is down
  std::string filesDirectory;         ///< "<dbpath>/rollback"; empty: there is none (in memory)
  std::function<bool()> writesFiles;  ///< parameter createRollbackDataFiles

  // Times (ReplicationProgress)
  std::function<OpTime()> stable;                 ///< nothing up to it is ever undone
  std::function<void(const OpTime&)> resetTimes;  ///< applied and durable go back there (RBK-014)

  // Of other actors
  /// Completes when nothing more is fetched or applied, and what was fetched is forgotten.
  std::function<Task<Status>()> stopFollowing;
  /// Fetches and applies again where this node follows; with a new look for a source.
  std::function<void()> followAgain;
  /// Ends builds of indexes of replicated collections and awaits their end (RBK-003). May be null.
  std::function<Task<void>()> endIndexBuilds;
  /// Asks the topology for the state ROLLBACK, or the one that follows it (RollingBack). Errors: NotSecondary, a
  /// refusal; of any other one it is not known whether the topology has heard or will hear the question. Asked again
  /// until it is answered.
  std::function<Task<Status>(bool rollingBack)> setState;
  /// Kills all operations of clients and services that read or write data, and idle cursors. Called again and again
  /// until none holds a lock any more: it may find none.
  std::function<void()> interruptOperations;
  /// The common point is older than `committed`, which nothing that is committed here may be older than: if that is the
  /// end of a copy (an initial sync), and nothing was committed since, the source of the copy has lost its newest
  /// entries again, and the data are to be copied anew when this node follows again. False: not so. May be null.
  std::function<StatusWith<bool>(const OpTime& committed)> copyAnew;
  /// Sessions of clients begin anew (RBK-009), caches of what was in collections go (RBK-016). May be null.
  std::function<void()> invalidate;
  /// The rollback id, at the start and whenever it has moved (replSetGetRBID). May be null.
  std::function<void(int64_t)> showId;
  /// After a rollback. May be null.
  std::function<void(const RollbackSummary&)> over;
  /// Ends the node: its data must not be served. Called once.
  std::function<void(const Status&)> fail;
  /// Whether the node ends anyway, so that a stop needs no `fail`. May be null: it does not.
  std::function<bool()> isShuttingDown;
};

/// The actor around the machine of a rollback (rollback.hpp): `/node/replication/rollback`. It blocks in the disk, so
/// it runs on its own thread. From the state ROLLBACK on it holds the state transition lock exclusively, and while
/// storage is down the global lock as well; background work is kept out by ReplicatedWrites::background. What fails
/// then ends the node (RBK-015).
class RollbackActor final : public machines::MachineHost<Rollback> {
 public:
  /// Reads its document; throws if it cannot be read (the supervisor deals with that).
  explicit RollbackActor(RollbackParts parts);

  void onStart() override;
  /// Gives locks back, and lets background work in unless storage is down.
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 protected:
  void adopted() override;

 private:
  using Action = machines::ActionOf<Rollback>;
  using Done = StatusWith<Event>;  ///< a failure: the machine is told that it failed
  RollbackActor(RollbackParts parts, std::shared_ptr<RollbackStore> store);

  static machines::HostOptions<Rollback> hostOptions();
  Task<StatusWith<std::optional<Event>>> perform(Action action);
  Task<Done> work(Action action);
  Task<Done> done(StopFollowing);
  Task<Done> done(FindCommonPoint search);
  Task<Done> done(EnterRollback);
  Task<Done> done(SaveUndone save);
  Task<Done> done(TakeStorageDown down);
  Task<Done> done(RollStorageBack back);
  Task<Done> done(ReplayLog replay);
  Task<Done> done(EndRollback end);

  /// Asks the topology for a state until it answers: OK, or NotSecondary.
  Task<Status> untilAnswered(bool rollingBack);
  /// Whether the newest entry of the own log is that one.
  StatusWith<bool> logEndsAt(const OpTime& newest) const;
  /// Takes a lock exclusively, ending the operations that hold it.
  Task<Status> acquire(storage::ResourceId resource);
  Task<void> untilBackgroundPauses();
  void letGo();
  void fail(const Status& why) const;

  const RollbackParts parts_;
  storage::OperationServices alone_;  ///< for work under the exclusive global lock: pool only
  std::unique_ptr<storage::Locker> locks_;
  bool isPaused_ = false;         ///< background work
  bool interruptsUnits_ = false;  ///< those that lie idle
  std::optional<storage::StorageRollback> rollback_;
  bool isReplayed_ = false;
  RollbackSummary summary_;
  int64_t shownId_ = 0;
};

/// Reads both logs backwards to the newest entry they share (RBK-004). `undone`: own entries behind it; `common` is
/// nothing where the logs share none. Errors: those of the source and of the engine.
struct ComparedLogs {
  std::optional<OpTime> common;
  OpTime newest;
  int64_t undone = 0;
};
Task<StatusWith<ComparedLogs>> compareLogs(const storage::OplogStore& own, storage::OperationServices services,
                                           RemoteMembers& members, machines::NodeName source);

}  // namespace troupe::replication
