#include "state_machines/replication/rollback.hpp"

#include <algorithm>
#include <utility>

namespace troupe::replication {

using machines::NodeName;
using machines::Snapshot;
using machines::Step;

namespace {

std::string shownOpTime(const OpTime& opTime) {
  return "{ts: Timestamp(" + std::to_string(opTime.timestamp.seconds) + ", " +
         std::to_string(opTime.timestamp.increment) + "), t: " + std::to_string(opTime.term) + "}";
}

/// The memory of the next phase, in which all that it knew stays.
Rollback::Memory movedTo(Rollback::Phase phase, Rollback::Memory memory) {
  memory.phase = phase;
  return memory;
}

template <class Action>
Step<Rollback> goTo(Rollback::Phase phase, const Rollback::Memory& memory, Action action) {
  return Rollback::stay().remembering(movedTo(phase, memory)).then(Rollback::perform(std::move(action)));
}

/// Nothing was changed: entries are fetched again, from this source or another one.
Step<Rollback> followAgain() {
  return Rollback::stay().remembering(Rollback::Memory{}).then(Rollback::perform(GoOnFollowing{}));
}

Step<Rollback> fail(std::string why, bool mayPass) {
  Rollback::Memory memory;
  memory.phase = Rollback::Phase::kFailed;
  memory.why = why;
  return Rollback::stay().remembering(std::move(memory)).then(Rollback::perform(GiveUp{std::move(why), mayPass}));
}

/// A start would find the same.
Step<Rollback> failForGood(std::string why) { return fail(std::move(why), false); }

Step<Rollback> onDiverged(const Rollback::Document&, const Rollback::Memory& memory, const Diverged& report) {
  Rollback::Memory changed = movedTo(Rollback::Phase::kStopping, memory);
  changed.source = report.source;
  return Rollback::stay().remembering(std::move(changed)).then(Rollback::perform(StopFollowing{}));
}

/// RBK-018, and the bound of every rollback: what a majority has is never undone (RBK-010).
Step<Rollback> onCommonPoint(const Rollback::Document& document, const Rollback::Memory& memory,
                             const CommonPointFound& found) {
  if (found.common >= found.newest) return followAgain();
  if (losesCommitted(found.common, found.committed))
    return failForGood(
        "the newest entry that this node shares with " + memory.source + " is " + shownOpTime(found.common) +
        ", older than what is committed or stable here, " + shownOpTime(found.committed) +
        ": undoing it would lose what a majority of the set has acknowledged. This node cannot go on. Save its data "
        "directory, empty it and start it again: it then copies the data of another member");
  Rollback::Memory changed = movedTo(Rollback::Phase::kEntering, memory);
  changed.common = found.common;
  changed.newest = found.newest;
  changed.committed = found.committed;
  changed.undone = found.undone;
  changed.idBefore = document.rollbackId;
  return Rollback::stay().remembering(std::move(changed)).then(Rollback::perform(EnterRollback{}));
}

Step<Rollback> onNothingInCommon(const Rollback::Document&, const Rollback::Memory& memory, const NothingInCommon&) {
  return failForGood(
      "this node and " + memory.source +
      " have no entry of their logs in common. Save the data directory of this node, empty it and start it again: it "
      "then copies the data of another member");
}

/// RBK-005: the id is durable before the first change of the log or the data, and moves by one.
Step<Rollback> onUndoneSaved(const Rollback::Document& document, const Rollback::Memory& memory, const UndoneSaved&) {
  Rollback::Memory changed = movedTo(Rollback::Phase::kTakingDown, memory);
  changed.saved = true;
  Rollback::Document counted = document;
  ++counted.rollbackId;
  return Rollback::stay(machines::Durability::kJournaled)
      .with(std::move(counted))
      .remembering(std::move(changed))
      .then(Rollback::perform(TakeStorageDown{memory.common}));
}

/// The phases in which its own work may fail.
constexpr Rollback::Phase kWorking[] = {
    Rollback::Phase::kComparing,   Rollback::Phase::kEntering,  Rollback::Phase::kSaving, Rollback::Phase::kTakingDown,
    Rollback::Phase::kRollingBack, Rollback::Phase::kReplaying, Rollback::Phase::kEnding};

template <class Condition>
bool anyRollback(const machines::World& world, const Condition& condition) {
  return world.count<Rollback>(condition) > 0;
}

}  // namespace

bool losesCommitted(const OpTime& common, const OpTime& committed) { return common.timestamp < committed.timestamp; }

bool isUndoing(Rollback::Phase phase) {
  return phase == Rollback::Phase::kTakingDown || phase == Rollback::Phase::kRollingBack ||
         phase == Rollback::Phase::kReplaying || phase == Rollback::Phase::kEnding;
}

const machines::Transitions<Rollback>& Rollback::transitions() {
  static const machines::Transitions<Rollback> table = [] {
    std::vector<machines::Transition<Rollback>> rows{
        row<Diverged>(Phase::kFollowing, {Phase::kStopping}, onDiverged),
        row<FollowingStopped>(Phase::kStopping, {Phase::kComparing},
                              [](const Document&, const Memory& memory, const FollowingStopped&) {
                                return goTo(Phase::kComparing, memory, FindCommonPoint{memory.source});
                              }),
        row<CommonPointFound>(Phase::kComparing, {Phase::kEntering, Phase::kFollowing, Phase::kFailed}, onCommonPoint),
        row<NothingInCommon>(Phase::kComparing, {Phase::kFailed}, onNothingInCommon),
        row<SourceFailed>(Phase::kStopping, {Phase::kFollowing},
                          [](const Document&, const Memory&, const SourceFailed&) { return followAgain(); }),
        row<SourceFailed>(Phase::kComparing, {Phase::kFollowing},
                          [](const Document&, const Memory&, const SourceFailed&) { return followAgain(); }),
        row<OperationsEnded>(Phase::kEntering, {Phase::kSaving},
                             [](const Document&, const Memory& memory, const OperationsEnded&) {
                               Memory changed = memory;
                               changed.operationsEnded = true;
                               return goTo(Phase::kSaving, changed, SaveUndone{memory.common});
                             }),
        row<RoleTaken>(Phase::kEntering, {Phase::kFollowing},
                       [](const Document&, const Memory&, const RoleTaken&) { return followAgain(); }),
        row<UndoneSaved>(Phase::kSaving, {Phase::kTakingDown}, onUndoneSaved),
        row<StorageTakenDown>(Phase::kTakingDown, {Phase::kRollingBack},
                              [](const Document&, const Memory& memory, const StorageTakenDown&) {
                                return goTo(Phase::kRollingBack, memory, RollStorageBack{memory.common});
                              }),
        row<StorageRolledBack>(Phase::kRollingBack, {Phase::kReplaying},
                               [](const Document&, const Memory& memory, const StorageRolledBack&) {
                                 return goTo(Phase::kReplaying, memory, ReplayLog{memory.common});
                               }),
        row<LogReplayed>(Phase::kReplaying, {Phase::kEnding},
                         [](const Document&, const Memory& memory, const LogReplayed&) {
                           return goTo(Phase::kEnding, memory, EndRollback{memory.common});
                         }),
        row<RollbackOver>(Phase::kEnding, {Phase::kFollowing},
                          [](const Document&, const Memory&, const RollbackOver&) { return followAgain(); }),
    };
    for (const Phase phase : kWorking)
      rows.push_back(row<RollbackFailed>(phase, {Phase::kFailed},
                                         [](const Document&, const Memory&, const RollbackFailed& failure) {
                                           return fail(failure.why, failure.mayPass);
                                         }));
    return machines::Transitions<Rollback>(std::move(rows));
  }();
  return table;
}

Step<Rollback> Rollback::resume(const Document&) { return stay(); }

std::vector<machines::Invariant> Rollback::invariants() {
  using machines::never;
  return {
      never("what a majority has is undone",
            [](const machines::World& world) {
              return anyRollback(world, [](const Snapshot<Rollback>& now) {
                return now.memory.phase != Phase::kFailed && losesCommitted(now.memory.common, now.memory.committed);
              });
            }),
      never("storage is rolled back although nothing is to be undone",
            [](const machines::World& world) {
              return anyRollback(world, [](const Snapshot<Rollback>& now) {
                return isUndoing(now.memory.phase) && now.memory.common >= now.memory.newest;
              });
            }),
      never("storage is rolled back while operations use it",
            [](const machines::World& world) {
              return anyRollback(world, [](const Snapshot<Rollback>& now) {
                return isUndoing(now.memory.phase) && !now.memory.operationsEnded;
              });
            }),
      never("undone documents are in no file",
            [](const machines::World& world) {
              return anyRollback(world, [](const Snapshot<Rollback>& now) {
                return isUndoing(now.memory.phase) && !now.memory.saved;
              });
            }),
      never("a log is cut under the rollback id under which it was read",
            [](const machines::World& world) {
              return anyRollback(world, [](const Snapshot<Rollback>& now) {
                return isUndoing(now.memory.phase) && now.document.rollbackId != now.memory.idBefore + 1;
              });
            }),
  };
}

void Rollback::facts(const NodeName& node, const Snapshot<Rollback>& now, machines::Facts& facts) {
  if (isUndoing(now.memory.phase))
    facts.state("point to which " + node + " is cut by rollback " + std::to_string(now.document.rollbackId),
                shownOpTime(now.memory.common));
}

}  // namespace troupe::replication
