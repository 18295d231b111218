#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messaging/clock/entry_dates.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/replication/positions.hpp"
#include "state_machines/replication/set_identity.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::replication {

/// The one owner of a member's times: how far it has applied and made durable the history of its set, how far the
/// others have, and the commit point (REP-043 to 047). Decides with the rules of positions.hpp and calls those who
/// wait. Any thread; one for each member, outlives all operations. Callbacks run on the thread that moved a time,
/// outside of its lock; they must neither block nor throw.
class ReplicationProgress final : public storage::ReadTimes {
 public:
  using Callback = std::function<void()>;
  using WaiterId = uint64_t;

  /// This node's part in its set; the topology tells it.
  struct Role {
    ReplicaSetConfig config;
    NodeName self;
    int64_t term = 0;
    bool leads = false;  ///< as the elected primary of the term
    bool operator==(const Role&) const = default;
  };

  // --- Times
  OpTime applied() const;
  OpTime durable() const;
  OpTime commitPoint() const;
  /// Nothing that is newer can have been committed so far. Others may have told what they have of a primary's newest
  /// entry a moment before it has noted that itself.
  OpTime newestCommitted() const;
  /// Up to where the data of this node are committed: the commit point, but not beyond `durable`. What is stable is
  /// never rolled back, and no start cuts it off the log.
  OpTime stable() const;
  Positions positions() const;
  /// As it is now; never null.
  std::shared_ptr<const Role> role() const;
  /// What snapshots of other operations may read: between two batches (REP-023).
  bson::Timestamp lastApplied() const override { return load(lastApplied_); }
  bson::Timestamp majority() const override { return load(majority_); }

  /// Of the entries that this node has written or applied.
  EntryDates& dates() { return dates_; }
  const EntryDates& dates() const { return dates_; }

  // --- Moved by this node
  /// A primary's visible writes, a member's ended batch. Moving back is ignored.
  void noteApplied(const OpTime& applied);
  /// A flush has ended that covered it.
  void noteDurable(const OpTime& durable);
  /// After a start, an initial sync or a rollback, whose end is `at`; the commit point stays, but not beyond it.
  void resetTo(const OpTime& at);
  void setRole(Role role);

  // --- Terms. A vote and a count must not miss each other: an entry that a voter did not have when it voted may be
  // lost with the new primary, so no later report of that voter may help to commit it.
  /// A later term was heard of: in an earlier one this node counts nobody any more.
  void noteTerm(int64_t term);
  int64_t newestTerm() const;
  /// The same, and what this node has applied at that moment, by which it judges candidates of the term.
  OpTime appliedWhenVoting(int64_t term);
  /// What a member reports, as of one moment: whatever was applied after a vote is reported in that vote's term.
  struct Report {
    NodeName self;
    int64_t term = 0;
    ConfigVersion config;
    Positions positions;
    ReplicaSetId replicaSetId;
  };
  Report report() const;

  // --- Heard of others
  /// True when it tells more than was known.
  bool notePosition(const NodeName& host, const Position& position);
  void learnFromSource(const OpTime& commitPoint);
  void learnFromHeartbeat(const OpTime& commitPoint);

  // --- Waits. Each callback is called once: at once when what it waits for holds already (then the id is zero).
  WaiterId whenApplied(bson::Timestamp time, Callback done);
  /// What a majority has and this member has applied is at `time` or later.
  WaiterId whenCommitted(bson::Timestamp time, Callback done);
  /// This member has applied the entry, or a later one of the log (RDC-010); `committed`: and a majority has it.
  WaiterId whenReached(const OpTime& entry, bool committed, Callback done);
  /// With OK, or as soon as a config of the set makes it impossible: the errors of checkSatisfiable.
  using Verdict = std::function<void(const Status&)>;
  WaiterId whenAcknowledged(const OpTime& write, const Acknowledgement& wanted, Verdict done);
  /// Calls back when any of this node's own times or the commit point differ from these.
  struct Times {
    OpTime applied, durable, commitPoint;
    bool operator==(const Times&) const = default;
  };
  Times times() const;
  WaiterId whenMoved(const Times& seen, Callback done);
  /// When the commit point differs from this one.
  WaiterId whenCommitPointMoved(const OpTime& seen, Callback done);
  /// False when its callback has been, or is being, called.
  bool withdraw(WaiterId waiter);
  size_t waiters() const;

  /// Hears of each move of the stable point, in any order; set before the first use. May be null.
  void onStable(std::function<void(const OpTime&)> hear) { hearStable_ = std::move(hear); }

 private:
  struct Waiter {
    std::function<bool()> isOver;  ///< with the lock held
    Callback done;
  };
  /// By the entries that they wait for: a set that is busy has many, and each move ends those before it.
  using CommitWaiters = std::map<std::pair<OpTime, WaiterId>, Verdict>;
  struct CommitWaiter {
    OpTime write;
    Acknowledgement wanted;
  };
  static bson::Timestamp load(const std::atomic<uint64_t>& from) {
    return bson::Timestamp::fromUint64(from.load(std::memory_order_acquire));
  }
  WaiterId wait(std::function<bool()> isOver, Callback done);
  bool counts() const { return role_->leads && role_->term == newestTerm_; }
  OpTime stableLocked() const;
  /// What majority reads see: an acknowledged write is in there, also while it is not on this member's own disk yet.
  OpTime committedLocked() const;
  /// Recounts, publishes and unlocks; then calls whoever need not wait any longer.
  void moved(std::unique_lock<std::mutex> lock);
  /// With the lock held: what ends the waits that are over.
  std::vector<Callback> takeOver();
  std::function<bool()> judge(const OpTime& write, const Acknowledgement& wanted, std::shared_ptr<Status> verdict);
  /// A new config may judge them otherwise.
  void judgeAnew();

  EntryDates dates_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Role> role_ = std::make_shared<Role>();
  int64_t newestTerm_ = 0;  ///< heard of
  Position own_;
  Positions positions_;  ///< of members of the config that were heard of, and the own one
  OpTime commitPoint_;
  OpTime toldStable_;
  std::atomic<uint64_t> lastApplied_{0}, majority_{0};
  uint64_t lastWaiter_ = 0;
  std::map<WaiterId, Waiter> waiters_;
  CommitWaiters commitWaiters_;
  std::unordered_map<WaiterId, CommitWaiter> ofCommitWaiters_;  ///< by their ids
  std::function<void(const OpTime&)> hearStable_;
};

}  // namespace troupe::replication
