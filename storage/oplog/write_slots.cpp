#include "storage/oplog/write_slots.hpp"

#include <algorithm>
#include <memory>

#include "messaging/errors/invariant.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::storage {

namespace {

/// Tables, by id, that a unit of work may write without slots.
struct DerivedRows final : BoundState {
  explicit DerivedRows(std::vector<uint32_t> of) : tables(std::move(of)) {}
  std::vector<uint32_t> tables;
};

/// The unit takes no slots: its writes come with their times.
bool timesAreGiven(const RecoveryUnit& unit) {
  const OperationContext* operation = unit.operation();
  if (!operation) return false;
  return operation->writeMode() == WriteMode::kApplied || operation->writeMode() == WriteMode::kAside;
}

/// Of the entry that the operation applies; nothing where the caller stamps its units itself, or there is none.
std::optional<bson::Timestamp> timeApplied(const RecoveryUnit& unit) {
  const OperationContext* operation = unit.operation();
  return operation && operation->writeMode() == WriteMode::kApplied ? operation->appliedTime() : std::nullopt;
}

}  // namespace

bool writesAreReplicated(const RecoveryUnit& unit) {
  const OperationContext* operation = unit.operation();
  if (!operation || !operation->services().replicated) return false;
  return operation->writeMode() == WriteMode::kReplicated || operation->writeMode() == WriteMode::kFromMigration;
}

/// The operation holds the state transition lock: its right to write cannot be taken away but for the fence. Where
/// there is no lock manager the work is alone on its node.
StatusWith<ReplicatedUnit*> ReplicatedUnit::enter(RecoveryUnit& unit) {
  if (ReplicatedUnit* entered = in(unit)) {
    TROUPE_TRY(entered->enterAgain());
    return entered;
  }
  OperationContext& operation = *unit.operation();
  invariant(
      !operation.services().locks || covers(operation.locker()->modeOf(ResourceId::stateTransition()), LockMode::kIX),
      "a replicated write holds the state transition lock");
  ReplicatedWrites& writes = *operation.services().replicated;
  TROUPE_ASSIGN(auto pass, writes.fence.enter(operation.writeTerm()));
  operation.setWriteTerm(pass.term());
  std::unique_ptr<ReplicatedUnit> owned(new ReplicatedUnit(writes, std::move(pass)));
  ReplicatedUnit* entered = owned.get();
  unit.bindToUnit(UnitPart::kReplication, std::move(owned));
  if (unit.unitLogging() == UnitLogging::kGrouped) {
    // Before the handlers that need the time: this is the first one of the unit that has to do with replication.
    // A prepared unit is told its time.
    unit.onPreCommit([entered, &unit](std::optional<Timestamp> commitTime) {
      return commitTime ? Status::OK() : entered->reserve(1).stamp(unit, 0);
    });
  }
  // Another operation may have taken the unit up by then.
  unit.onCommit([entered, &unit](auto) {
    for (SlotReserver::Slots& slots : entered->slots_) slots.markWritten();
    // The entry of a prepared unit's decision comes later than its own, and is noted by the time it is decided.
    OperationContext& operation = *unit.operation();
    operation.setLastOpTime(std::max(operation.lastOpTime(), entered->last_));
  });
  return entered;
}

void ReplicatedUnit::handOver() {
  for (SlotReserver::Slots& slots : slots_) slots.markWritten();
  slots_.clear();
  pass_.reset();
}

Status ReplicatedUnit::enterAgain() {
  if (pass_) return Status::OK();
  TROUPE_ASSIGN(auto pass, writes_.fence.enter());
  term_ = pass.term();
  pass_.emplace(std::move(pass));
  return Status::OK();
}

StatusWith<OpTime> reservePrepareSlot(RecoveryUnit& unit) {
  ReplicatedUnit* const entered = ReplicatedUnit::in(unit);
  if (!entered) return OpTime();
  invariant(unit.unitLogging() == UnitLogging::kGrouped, "a unit of work that is to be prepared is grouped");
  TROUPE_TRY(entered->enterAgain());
  return entered->reserve(1)[0];
}

WriteSlots ReplicatedUnit::reserve(size_t count) {
  if (count == 0) return {};
  slots_.push_back(writes_.slots.reserve(term(), count));
  last_ = slots_.back().last();
  return {slots_.back()[0], count};
}

StatusWith<WriteSlots> reserveSlots(RecoveryUnit& unit, const Namespace& ns, size_t count) {
  if (const auto given = timeApplied(unit)) {
    TROUPE_TRY(unit.setCommitTimestamp(*given));
    return WriteSlots();
  }
  if (!writesAreReplicated(unit) || !ns.isReplicated()) return WriteSlots();
  TROUPE_TRY(unit.begin());
  TROUPE_ASSIGN(ReplicatedUnit* const entered, ReplicatedUnit::enter(unit));
  if (unit.unitLogging() == UnitLogging::kGrouped) return WriteSlots();
  return entered->reserve(count);
}

Status admitDerived(RecoveryUnit& unit, const Namespace& ns, std::vector<uint32_t> tables) {
  if (!unit.pool().isMember() || !ns.isReplicated()) return Status::OK();
  if (!timesAreGiven(unit)) {
    invariant(writesAreReplicated(unit), "keys are derived with the right to write, or by an applier");
    TROUPE_TRY(unit.begin());
    TROUPE_TRY(ReplicatedUnit::enter(unit).status());
  }
  unit.bindToUnit(UnitPart::kDerivedRows, std::make_unique<DerivedRows>(std::move(tables)));
  return Status::OK();
}

StatusWith<OpTime> reserveSlot(RecoveryUnit& unit, const Namespace& ns, size_t count) {
  TROUPE_ASSIGN(const WriteSlots slots, reserveSlots(unit, ns, count));
  TROUPE_TRY(slots.stamp(unit, count - 1));
  return slots[count - 1];
}

/// The slot of a row written aside has no entry in the log, so it is not the operation's OpTime. Appliers know no order
/// among their slots, so theirs is the time before which none of them writes.
TimeAside timeAside(RecoveryUnit& unit, bson::Timestamp notBefore) {
  const auto notOlder = [&](bson::Timestamp time) { return std::max(time, notBefore); };
  if (ReplicatedUnit* const entered = ReplicatedUnit::in(unit)) {
    auto hole = entered->writes_.slots.reserveBeforeAll(entered->term());
    const bson::Timestamp time = notOlder(hole[0].timestamp);
    return {time, std::move(hole)};
  }
  if (!unit.commitTimestamp()) return {};
  const auto batchStart = unit.operation() ? unit.operation()->batchStart() : std::nullopt;
  return {notOlder(batchStart.value_or(*unit.commitTimestamp())), {}};
}

/// A grouped unit gets its time when it commits. One of a transaction writes in the snapshot that it reads; any other
/// write in an earlier snapshot would miss documents, and conflict for good with what is newer.
void requireSlots(const RecoveryUnit& unit) {
  if (!unit.pool().isMember()) return;
  if (timesAreGiven(unit)) {
    invariant(unit.commitTimestamp().has_value(), "a write whose time is given carries it");
    return;
  }
  invariant(ReplicatedUnit::in(unit), "a replicated write has reserved its slot");
  invariant(unit.readSource() == ReadSource::kNoTimestamp || unit.unitLogging() == UnitLogging::kGrouped,
            "a replicated write sees the newest data");
  invariant(unit.commitTimestamp() || unit.unitLogging() == UnitLogging::kGrouped,
            "a replicated write carries the time of its slot");
}

void requireSlots(const RecoveryUnit& unit, const Table& table) {
  const auto* derived = static_cast<const DerivedRows*>(unit.unitState(UnitPart::kDerivedRows));
  if (derived && std::find(derived->tables.begin(), derived->tables.end(), table.id) != derived->tables.end()) return;
  requireSlots(unit);
}

}  // namespace troupe::storage
