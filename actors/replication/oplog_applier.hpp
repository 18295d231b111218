#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/context.hpp"
#include "actors/replication/batch_writer.hpp"
#include "actors/replication/oplog_buffer.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::replication {

/// Path of the applier on every member.
inline constexpr const char* kOplogApplierPath = "/node/replication/applier";

// Local messages to the applier. Asks are answered with troupe::Done, or with the failure that ended the applier.

/// Answered when the buffer is closed and empty, and what was applied of it is visible. That is all of it, but for what
/// a delayed member may not apply yet, which goes: a fetcher that begins anew fetches it once more.
struct DrainBuffer {
  /// Asked by a member that is to lead, which applies everything at once, whatever its delay. Its rollback gives way:
  /// it is answered while paused, too, where nothing is left. A fetcher waits for the end of the pause.
  bool toLead = false;
};
/// Answered when no batch is under way; none begins before `Resume`. One that waits for the scan of an index build is
/// given up when the scans are suspended (FollowedBuilds::suspend).
struct Pause {};
/// Goes on with what the buffer holds now: entries that were taken from it before a `reopen` are forgotten. A tell.
struct Resume {};

/// What a member has applied since its start, as serverStatus shows it (`metrics.repl.apply`). Any thread.
class ApplyFigures {
 public:
  struct Values {
    int64_t batches = 0, entries = 0, bytes = 0;
    int64_t micros = 0;                                           ///< that batches took, all together
    int64_t inserts = 0, updates = 0, removes = 0, commands = 0;  ///< entries by kind; notes are none of them
    int64_t waiting = 0;     ///< entries that were taken from the buffer and are not applied
    OpTime applied;          ///< end of the last batch; null: there was none
    int64_t wallMillis = 0;  ///< of that entry, on the clock of its writer
    double perSecond = 0;    ///< entries, in the last few seconds of work
  };
  Values get() const;
  void noteBatch(const OplogBatch& batch, std::chrono::microseconds took);
  void noteWaiting(size_t entries);

 private:
  void countKinds(std::span<const storage::OplogEntry> entries);

  mutable std::mutex mutex_;
  Values values_;
  double recentEntries_ = 0, recentMicros_ = 0;  ///< weighted towards the last ones
};

/// What the lives of an applier share: a restart between two batches loses no entry. Outlives the actor, which alone
/// touches it, but for the figures.
struct ApplierMemory {
  ApplyFigures figures;
  std::shared_ptr<const storage::OplogStretch> taken{};  ///< out of the buffer
  size_t next = 0;                                       ///< of it, the first that is not applied
  uint64_t life = 0;                                     ///< of the buffer, which they are of

  size_t waiting() const { return taken ? taken->size() - next : 0; }
};

/// Carries out what the fetcher has put into the buffer, batch by batch (REP-018 to 024): takes entries, decides on a
/// batch, has it written, and then moves the node's times, all of them at once, to its end. Data that are not those of
/// the log end the member (`fail`), and so does an end of the actor in the middle of a batch: nobody has its entries
/// any more. An orderly stop waits for the end of the batch.
class OplogApplier final : public Actor {
 public:
  /// All that is referred to outlives the actor. Functions are called by the actor and must not block.
  struct Parts {
    OplogBuffer* buffer;
    BatchWriter* writer;
    storage::ReplicatedWrites* writes;  ///< its clock and the visible end of its log move with each batch
    ApplierMemory* memory;
    /// The batch that ends here is applied, and becomes visible next: ReplicationProgress::noteApplied, waking the
    /// flusher.
    std::function<void(const OpTime&, bson::Date wall)> applied;
    /// Ends the node: it must not serve these data.
    std::function<void(const Status&)> fail;
    /// Whether the disk has room for that many bytes more: while it has none, nothing is applied, and in the end
    /// nothing fetched either. Null: it always has.
    std::function<Status(size_t bytes)> roomFor = {};
    /// By how much a delayed member lags on purpose; null: by nothing. Duration::max(): nothing is applied at all.
    std::function<Duration()> delay;
    storage::BatchLimits limits = {};
  };
  explicit OplogApplier(Parts parts) : parts_(std::move(parts)) {}

  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  enum class Stage { kIdle, kWriting, kFailed };

  Task<void> run();
  /// Takes entries from the buffer unless some are left. False: there are none.
  StatusWith<bool> refill();
  bool hasRoomFor(const OplogBatch& batch) const;
  Task<Status> applyNext(OplogBatch batch);
  /// Readers arrive at the end of the batch.
  void moveTimes(const OplogBatch& batch);
  Task<void> awaitEntries();
  Task<void> awaitRoom();
  Task<void> awaitDelay();
  /// Whether what may not be applied yet has left the buffer, for a fetcher that waits to begin anew.
  bool dropsTheRest();
  /// At most so long, or until the next message.
  Task<void> rest(Duration longest);
  void failWith(Status why);

  void drain(const DrainBuffer& wanted, Context& context);
  void pause(Context& context);
  void resume();
  bool isDrained() const;
  static void answer(std::vector<Context>& asks);
  void answerDrains();
  /// How young entries may be to be applied; nothing: as young as they are.
  std::optional<bson::Date> notAfter() const;
  /// Completes with the next message.
  Future<troupe::Done> message();
  void nudge();

  const Parts parts_;
  Stage stage_ = Stage::kIdle;
  bool paused_ = false, stopping_ = false;
  bool rests_ = false;  ///< all is applied and the buffer is closed
  bool leads_ = false;  ///< one of the drains is of a member that is to lead
  std::vector<Context> pauses_, drains_;
  std::vector<Promise<troupe::Done>> nudges_;
  Status failure_;
};

}  // namespace troupe::replication
