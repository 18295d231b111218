#pragma once
#include <atomic>
#include <functional>
#include <utility>

#include "actors/kernel/actor.hpp"
#include "actors/replication/replication_progress.hpp"
#include "storage/engine/engine.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/oplog/truncate_after_point.hpp"

namespace troupe::maintenance {

/// Asks for a flush now: a request waits for one.
struct FlushNow {};

/// Makes commits durable in groups (JRN-002, JRN-003): one log flush for all who wait, and one every commit interval
/// for those who do not. On a member whose data a start recovers from the log, a flush first waits until all slots that
/// precede its commits are closed, and then sets the truncate-after point (REC-005). While a rollback has taken storage
/// down it flushes nothing, and what is due waits. Blocks in the disk, so it runs on its own thread. Crashing loses
/// nothing: the next life flushes what is still due.
class JournalFlusher final : public Actor {
 public:
  /// How long the next flush takes on a simulated disk, which cannot block: what it covers is known when it begins, and
  /// durable when that time has passed. Null on a real disk.
  using Pace = std::function<Duration()>;

  /// The log of operations of a member; nulls: there is none, or it recovers nothing.
  struct MemberLog {
    storage::ReplicatedWrites* writes;
    storage::TruncateAfterPoint* end;
    replication::ReplicationProgress* progress;  ///< told what has become durable
  };

  /// `kind`: without a journal a flush is a checkpoint (JRN-004). All references outlive the actor.
  JournalFlusher(storage::Engine* engine, storage::DurabilityTracker* tracker, storage::FlushKind kind,
                 const std::atomic<int64_t>* intervalMillis, Pace pace = nullptr,
                 MemberLog log = {nullptr, nullptr, nullptr})
      : engine_(engine),
        tracker_(tracker),
        kind_(kind),
        intervalMillis_(intervalMillis),
        pace_(std::move(pace)),
        log_(log) {}

  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  /// A hole in the log has closed, or the waiters were let go.
  struct LogMoved {};

  bool hasWork() const;
  void flush();
  bool mayBegin();
  void begin();
  /// Whether what the flush covers has an open slot before it.
  bool hasHoles() const;
  /// Goes on with the flush that has begun once nothing that it covers has an open slot before it.
  void awaitHoles();
  void finish();
  Status writeOut();
  void armTimer();

  storage::Engine* engine_;
  storage::DurabilityTracker* tracker_;
  storage::FlushKind kind_;
  const std::atomic<int64_t>* intervalMillis_;
  const Pace pace_;
  const MemberLog log_;
  bool flushing_ = false;
  storage::BackgroundGate::Pass pass_;  ///< for as long as it flushes
  TimePoint begun_;                     ///< of the flush under way
  bson::Timestamp lastCovered_;         ///< the last slot of what it covers
  bool awaitsHoles_ = false;
  storage::OplogVisibility::WaiterId waiter_ = 0;
};

}  // namespace troupe::maintenance
