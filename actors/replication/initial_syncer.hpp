#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/machine_host.hpp"
#include "actors/replication/batch_writer.hpp"
#include "actors/replication/log_copier.hpp"
#include "actors/replication/sync_attempt.hpp"
#include "messaging/log/log.hpp"
#include "state_machines/replication/initial_sync.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/oplog/truncate_after_point.hpp"

namespace troupe::replication {

/// Path of the actor on every member.
inline constexpr const char* kInitialSyncPath = "/node/replication/initial-sync";

/// Whether a node's storage holds the mark of an initial sync that is under way (`local.replset.initialSync`). For a
/// start: then neither the log may be cut or replayed, nor the data be served. *Blocks.* Errors:
/// DataCorruptionDetected; the engine's.
StatusWith<bool> hasInitialSyncMark(storage::Catalog& catalog, const storage::OperationServices& services);

/// Where the copy ended from which the node's data come; nothing: they were never copied, or the copy has not ended.
/// *Blocks.* Errors: as above.
StatusWith<std::optional<OpTime>> endOfCopy(storage::Catalog& catalog, const storage::OperationServices& services);

/// Parts of the node that an initial sync uses. All that is referred to outlives the actor; functions are called on its
/// thread, must not block, and are there unless it says "may be null".
struct InitialSyncParts {
  std::shared_ptr<machines::StorageAccess> storage;
  storage::OplogStore* oplog = nullptr;
  storage::TruncateAfterPoint* endOfLog = nullptr;  ///< may be null
  storage::ReplicatedWrites* writes = nullptr;
  RemoteMembers* members = nullptr;
  BatchWriter* writer = nullptr;  ///< in ApplyMode::kReplaying, of this actor alone
  std::shared_ptr<SyncStatus> status;
  log::Log* log = nullptr;

  /// What is known of the set now; `own` is filled in by the actor. (source_candidates.hpp)
  std::function<Candidates()> candidates;
  /// Asks the topology for the state STARTUP2, or the one that follows it (CopyingData). Errors: NotSecondary.
  std::function<Task<Status>(bool copying)> setState;
  /// What follows another member applies nothing from here on, and forgets what it has fetched. May be null.
  std::function<Task<Status>()> stopFollowing;
  /// It goes on, from the times of `done`, or from where it was if nothing was copied. May be null.
  std::function<void()> followAgain;
  /// Sessions of clients and caches of what was in collections begin anew. May be null.
  std::function<void()> invalidate;
  /// The member has its data as of this entry, and has applied it: called before the mark's state is left. What follows
  /// another member goes on from here.
  std::function<void(const OpTime&)> done;
  /// Ends the node: it has no data to serve. Called once.
  std::function<void(const Status&)> fail;

  storage::BatchLimits batch = {};
  storage::UnitLimits unit = {};
  size_t credit = size_t{16} << 20;  ///< bytes that a source may have sent and that were not read yet
  Duration patience = std::chrono::seconds(60);
  int64_t loadFrom = kLoadFrom;
  size_t maxKeyBytes = kMaxKeyBytes;
  /// Whether the disk has room for that many bytes more: the copy waits for it. Null: it always has.
  std::function<Status(size_t bytes)> roomFor = {};
  std::function<void()> beforeStep;  ///< of the copy: for tests. May be null
};

/// The actor around the machine of an initial sync: `/node/replication/initial-sync`. It hears BeginInitialSync (local
/// payload, asked), which is answered with Done when the member has its data, or with NodeNotFound when it keeps those
/// that it had for want of a source; a start that finds the mark begins by itself. An end of the actor in the middle of
/// a sync ends the node: what it has begun would write into the data of the next life.
class InitialSyncer final : public machines::MachineHost<InitialSync> {
 public:
  /// Reads its document; throws if it cannot be read (the supervisor deals with that).
  explicit InitialSyncer(InitialSyncParts parts);

  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 protected:
  void unanswered(const Event& event, Context asker) override;
  void transitioned(const machines::Outcome<InitialSync>& outcome) override;

 private:
  using Action = machines::ActionOf<InitialSync>;
  using Done = StatusWith<std::optional<Event>>;  ///< a failure: the attempt has failed
  InitialSyncer(InitialSyncParts parts, std::shared_ptr<machines::CollectionStore> store);

  static machines::HostOptions<InitialSync> hostOptions();
  CopyParts copyParts() const;
  Task<Done> perform(Action action);
  Task<Done> work(Action action);
  Task<Done> done(EnterStartup);
  Task<Done> done(LookForSource);
  Task<Done> done(ResetData);
  Task<Done> done(FindBeginning find);
  Task<Done> done(FetchLog);
  Task<Done> done(CloneData clone);
  Task<Done> done(FindEnd find);
  Task<Done> done(FetchUpTo fetch);
  Task<Done> done(ApplyLog apply);
  Task<Done> done(MakeDataSafe safe);
  Task<Done> done(EndAttempt);
  Task<Done> done(LeaveStartup leave);
  Task<Done> done(KeepData);
  Task<void> leaveOutSilent(std::vector<SourceCandidate>* members);
  Task<Done> done(GiveUpSync end);

  Task<void> untilState(bool copying);
  /// The visible entries behind `after`, batch by batch; says which was the last.
  Task<StatusWith<OpTime>> applyBehind(std::shared_ptr<SyncAttempt> attempt, OpTime after);
  Task<Status> applyStretch(std::shared_ptr<SyncAttempt> attempt, std::vector<bson::Document> documents);
  StatusWith<OpTime> newestOwn() const;
  void note(std::string_view message, const bson::Document& attributes) const;
  bson::Date wallNow() const;
  void answerBegun();

  const InitialSyncParts parts_;
  CopyParts copy_;                        ///< attempts refer to it
  std::shared_ptr<SyncAttempt> attempt_;  ///< the newest one; null: none in this life
  std::shared_ptr<LogCopier> logCopy_;
  bool isCloned_ = false;
  std::vector<Context> begun_;  ///< who waits for the end
};

}  // namespace troupe::replication
