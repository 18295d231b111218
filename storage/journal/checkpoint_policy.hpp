#pragma once
#include <chrono>
#include <optional>

#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Decides when a checkpoint is taken and of which kind (CKP-001..004). Pure: the caller passes the time (of a
/// monotonic clock) and what it knows. Owned by the checkpointer; one thread at a time.
class CheckpointPolicy {
 public:
  using Clock = std::chrono::steady_clock;

  /// `interval` is `storage.syncPeriodSecs`; zero means only on request.
  CheckpointPolicy(std::chrono::seconds interval, Clock::time_point now) : interval_(interval), last_(now) {}

  struct State {
    /// Whether anything was written since the last checkpoint.
    bool dirty = true;
    /// Whether the node keeps a stable time at all (a member of a replica set); others take full checkpoints.
    bool replicated = false;
    Timestamp stable;
    /// The time of the last stable checkpoint; zero: the data on disk are of no known time.
    Timestamp lastStable;
    /// The time from which on the data is consistent: nothing or zero before and during initial sync.
    std::optional<Timestamp> initialDataTimestamp;
  };
  enum class Decision {
    kNotYet,        ///< the interval has not passed and nobody asked
    kSkipIdle,      ///< due, but nothing changed
    kSkipUnstable,  ///< due, but stable has not reached the initial data timestamp
    kStable,        ///< data as of the stable time
    kFull,          ///< the newest data
  };
  /// The kind of checkpoint that this node would take now, due or not: kFull, kStable, kSkipIdle or kSkipUnstable.
  static Decision kind(const State& state);
  /// The state of an engine; a member of a replica set keeps a stable time (`replicated`).
  static State stateOf(Engine& engine, bool replicated);
  static bool takes(Decision decision) { return decision == Decision::kStable || decision == Decision::kFull; }
  static CheckpointOptions options(Decision decision) { return {.stable = decision == Decision::kStable}; }

  /// Somebody wants one now (`fsync`, shutdown, a dirty table to drop); it is taken even of an idle node.
  void request() { requested_ = true; }
  bool requested() const { return requested_; }
  /// The first stable one is due as soon as it can be taken, whatever the interval: a start from a checkpoint without
  /// a time replays the log over data that may be later, which costs more and keeps no images for retries.
  Decision decide(Clock::time_point now, const State& state) const;
  /// A skip counts as done: the next one is due an interval later.
  void done(Clock::time_point now, Decision decision);
  /// One that was due could not be taken, and is due again some seconds later, whatever the interval: who asked for it
  /// still waits.
  void failed(Clock::time_point now);
  /// When to ask next; nothing when only a request can make one due.
  std::optional<Clock::time_point> nextDue() const;
  void setInterval(std::chrono::seconds interval) { interval_ = interval; }

 private:
  std::chrono::seconds interval_;
  Clock::time_point last_;
  bool requested_ = false;
  std::optional<Clock::time_point> notBefore_;  ///< after a failure
};

}  // namespace troupe::storage
