// Open units of work between two commands: shared by them, ended by what happens in between.
#include "storage/operation/idle_units.hpp"

#include <thread>

#include "messaging/errors/invariant.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/oplog/write_slots.hpp"
#include "test/unit/storage/oplog/replicated_fixture.hpp"

namespace troupe::storage {

using namespace std::chrono_literals;

class IdleUnitsTest : public ReplicatedFixture {
 protected:
  OperationServices all() {
    return {
        .sessions = *pool, .locks = &locks, .admission = &admission, .replicated = writes.get(), .idleUnits = &idle};
  }
  void insertIn(OperationContext& command, int id) {
    HeldLock lock(command, ResourceType::kCollection, "test.c", LockMode::kIX);
    ASSERT_TRUE(command.tryAdmit(true) && lock.tryAcquire());
    const auto inserted = current()->insert(command.recoveryUnit(), bson::doc("_id", id));
    ASSERT_TRUE(inserted.isOK()) << inserted.status().toString();
  }
  /// A transaction whose first command has inserted a document.
  StashedOperation begun(int id, std::optional<TimePoint> end = std::nullopt) {
    OperationContext first(all());
    first.announceWrites();
    first.setDeadline(TimePoint(5s));
    first.openLastingUnit(UnitLogging::kGrouped, end);
    insertIn(first, id);
    return first.stash();
  }
  Status goOn(StashedOperation stashed) {
    OperationContext next(all());
    return next.unstash(std::move(stashed));
  }
  int64_t count() {
    operation->recoveryUnit().abandonSnapshot();
    auto cursor = *current()->records().cursor(rec());
    int64_t found = 0;
    while (*cursor.next()) ++found;
    return found;
  }
  /// Whether another operation is granted the locks down to the collection, in that mode.
  bool isFree(LockMode mode) {
    OperationContext other(all());
    HeldLock lock(other, ResourceType::kCollection, "test.c", mode);
    return lock.tryAcquire();
  }
  /// Locks, tickets, slots, passes of the fence, sessions: nothing is left of any transaction.
  void expectNothingHeld() {
    operation->recoveryUnit().releaseSession();
    EXPECT_EQ(idle.size(), 0u);
    EXPECT_EQ(locks.inUse(), 0u);
    EXPECT_EQ(admission.write().out(), 0);
    EXPECT_EQ(writes->slots.openReservations(), 0u);
    EXPECT_EQ(pool->statistics().lent, 0);
    expectNoPass();
  }
  void expectNoPass() {
    bool drained = false;
    writes->fence.close([&] { drained = true; });
    EXPECT_TRUE(drained);
  }

  LockManager locks{[] { return TimePoint(); }};
  ExecutionAdmission admission{[] { return TimePoint(); }};
  IdleUnits idle;
};

TEST_P(IdleUnitsTest, TwoCommandsOnTwoThreadsShareOneUnit) {
  StashedOperation stashed;
  std::thread([&] { stashed = begun(1); }).join();
  EXPECT_EQ(idle.size(), 1u);
  EXPECT_EQ(admission.write().out(), 0) << "an idle transaction has no ticket";
  EXPECT_FALSE(isFree(LockMode::kX)) << "but its locks";
  EXPECT_EQ(count(), 0);
  std::thread([&] {
    OperationContext second(all());
    ASSERT_TRUE(second.unstash(std::move(stashed)).isOK());
    EXPECT_EQ(idle.size(), 0u);
    EXPECT_TRUE(second.announcesWrites()) << "a change of the role has to interrupt it";
    EXPECT_EQ(second.writeTerm(), 1);
    insertIn(second, 2);
    const bson::Value one(1);
    EXPECT_TRUE(*current()->findById(second.recoveryUnit(), one.element())) << "it reads what the first one wrote";
    ASSERT_TRUE(second.commitLastingUnit().isOK());
    EXPECT_EQ(second.lastOpTime().timestamp, writes->slots.newest()) << "of the command that commits";
    EXPECT_TRUE(second.hasWritten());
    EXPECT_EQ(locks.inUse(), 0u) << "two-phase locking has ended";
  }).join();
  EXPECT_EQ(count(), 2);
  expectNothingHeld();
}

TEST_P(IdleUnitsTest, LocksThatBothCommandsTookAreHeldToTheEndOfTheUnit) {
  StashedOperation stashed = begun(1);
  {
    OperationContext second(all());
    HeldLock own(second, ResourceType::kDatabase, "test", LockMode::kIX);
    ASSERT_TRUE(second.tryAdmit(true) && own.tryAcquire());
    ASSERT_TRUE(second.unstash(std::move(stashed)).isOK());
    own.reset();
    EXPECT_EQ(second.locker()->modeOf(ResourceId::database("test")), LockMode::kIX);
    stashed = second.stash();
  }
  EXPECT_FALSE(isFree(LockMode::kX));
  EXPECT_TRUE(isFree(LockMode::kIX));
  stashed = {};
  EXPECT_TRUE(isFree(LockMode::kX));
  expectNothingHeld();
}

TEST_P(IdleUnitsTest, AStashThatIsDroppedIsRolledBack) {
  { const StashedOperation dropped = begun(1); }
  EXPECT_EQ(count(), 0);
  expectNothingHeld();
}

TEST_P(IdleUnitsTest, OnlyALastingUnitIsStashed) {
  OperationContext command(all());
  {
    const WriteUnitOfWork ofItsFrame(command.recoveryUnit());
    EXPECT_THROW(command.stash(), std::logic_error);
    EXPECT_THROW(command.openLastingUnit(UnitLogging::kGrouped), std::logic_error);
  }
  command.openLastingUnit(UnitLogging::kGrouped);
  const WriteUnitOfWork ofAStatement(command.recoveryUnit());
  EXPECT_THROW(command.stash(), std::logic_error) << "a statement is under way";
}

TEST_P(IdleUnitsTest, AChangeOfTheRoleEndsItAndTheNextCommandIsTold) {
  StashedOperation stashed = begun(1);
  bool drained = false;
  writes->fence.close([&] { drained = true; });
  EXPECT_FALSE(drained);
  idle.interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_TRUE(drained);
  EXPECT_EQ(locks.inUse(), 0u);
  EXPECT_EQ(goOn(std::move(stashed)), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_EQ(count(), 0);
  expectNothingHeld();
}

TEST_P(IdleUnitsTest, OneThatIsStashedWhileTheRoleChangesIsEndedToo) {
  OperationContext command(all());
  command.openLastingUnit(UnitLogging::kGrouped);
  insertIn(command, 1);
  idle.interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  StashedOperation stashed = command.stash();
  EXPECT_EQ(locks.inUse(), 0u);
  EXPECT_EQ(goOn(std::move(stashed)), ErrorCode::kInterruptedDueToReplStateChange);
  idle.resume();
  EXPECT_TRUE(goOn(begun(2)).isOK());
  expectNothingHeld();
}

// A rollback that gives up lifts what it has interrupted itself, and not a step-down's.
TEST_P(IdleUnitsTest, NoneIsKeptUntilAllWhoInterruptedHaveResumed) {
  idle.interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  idle.interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  idle.resume();
  EXPECT_EQ(goOn(begun(1)), ErrorCode::kInterruptedDueToReplStateChange);
  idle.resume();
  EXPECT_TRUE(goOn(begun(2)).isOK());
  expectNothingHeld();
}

TEST_P(IdleUnitsTest, AKillBeforeOrAfterTheStashEndsIt) {
  OperationContext command(all());
  command.openLastingUnit(UnitLogging::kGrouped);
  insertIn(command, 1);
  command.kill(ErrorCode::kInterrupted);
  EXPECT_EQ(goOn(command.stash()), ErrorCode::kInterrupted);

  StashedOperation stashed = begun(2);
  EXPECT_TRUE(idle.end(stashed.open.id(), ErrorCode::kInterrupted));
  EXPECT_EQ(locks.inUse(), 0u);
  EXPECT_FALSE(idle.end(stashed.open.id(), ErrorCode::kInterrupted)) << "it is over";
  EXPECT_EQ(goOn(std::move(stashed)), ErrorCode::kInterrupted);
  EXPECT_EQ(count(), 0);
  expectNothingHeld();
}

TEST_P(IdleUnitsTest, ItsLifetimeGoesWithItAndTheDeadlineStaysWithTheCommand) {
  StashedOperation soon = begun(1, TimePoint(10s)), late = begun(2, TimePoint(20s));
  EXPECT_EQ(idle.endExpired(TimePoint(9s)), 0u);
  EXPECT_EQ(idle.endExpired(TimePoint(10s)), 1u);
  EXPECT_EQ(goOn(std::move(soon)), ErrorCode::kTransactionExceededLifetimeLimitSeconds);
  {
    OperationContext next(all());
    ASSERT_TRUE(next.unstash(std::move(late)).isOK());
    EXPECT_EQ(next.deadline(), std::nullopt);
    late = next.stash();
  }
  EXPECT_EQ(idle.endExpired(TimePoint(19s)), 0u);
  EXPECT_EQ(idle.endExpired(TimePoint(20s)), 1u);
  expectNothingHeld();
}

class PreparedUnitTest : public IdleUnitsTest {
 protected:
  PreparedUnitTest() { prepare(1); }
  ~PreparedUnitTest() override { stashed = {}; }

  /// A transaction that has inserted a document.
  void prepare(int id) {
    OperationContext first(all());
    first.announceWrites();
    WriteUnitOfWork& work = first.openLastingUnit(UnitLogging::kGrouped);
    insertIn(first, id);
    const auto logs = [&](const OpTime& at) {
      logged = at;
      EXPECT_LT(writes->slots.withoutHoles(), at.timestamp) << "a hole until the entry is there";
      EXPECT_TRUE(first.recoveryUnit().isPrepared());
      return Status::OK();
    };
    EXPECT_THROW((void)work.prepare(writes->slots.newest(), logs), BrokenInvariant) << "no slot was reserved for it";
    slot = *reservePrepareSlot(first.recoveryUnit());
    EXPECT_THROW((void)work.prepare(slot.timestamp), BrokenInvariant) << "nothing writes its entry";
    const Status prepared = work.prepare(slot.timestamp, logs);
    EXPECT_TRUE(prepared.isOK()) << prepared.toString();
    EXPECT_EQ(logged, slot);
    stashed = first.stash();
  }

  /// As takeUp does it: the lock of the state transition first, which the unit has not kept.
  template <class Body>
  void inNextCommand(const Body& body) {
    OperationContext next(all());
    HeldLock role(next, ResourceType::kStateTransition, {}, LockMode::kIX);
    ASSERT_TRUE(role.tryAcquire());
    ASSERT_TRUE(next.unstash(std::move(stashed)).isOK());
    body(next);
  }

  OpTime slot, logged;
  StashedOperation stashed;
};

TEST_P(PreparedUnitTest, KeepsItsPlaceThroughAChangeOfTheRole) {
  expectNoPass();
  idle.interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_FALSE(idle.end(stashed.open.id(), ErrorCode::kInterrupted));
  EXPECT_EQ(idle.endExpired(TimePoint::max()), 0u);
  EXPECT_EQ(idle.size(), 1u);
  Locker transition(locks);
  EXPECT_TRUE(transition.tryAcquire(ResourceId::stateTransition(), LockMode::kX)) << "nothing keeps the old role";
  transition.releaseAll();
  EXPECT_FALSE(isFree(LockMode::kX)) << "the other locks stay";
}

TEST_P(PreparedUnitTest, HoldsUpNeitherTheLogNorTheNextRole) {
  EXPECT_EQ(writes->slots.withoutHoles(), slot.timestamp);
  EXPECT_EQ(writes->slots.lastWritten(), slot.timestamp);
  EXPECT_EQ(writes->slots.openReservations(), 0u);
  writes->slots.resetTo(slot.timestamp);  // as the next primary's term begins
}

TEST_P(PreparedUnitTest, ALogThatDoesNotTakeThePrepareEndsTheUnit) {
  stashed = {};
  const bson::Timestamp before = writes->slots.newest();
  {
    OperationContext other(all());
    WriteUnitOfWork& work = other.openLastingUnit(UnitLogging::kGrouped);
    insertIn(other, 2);
    const OpTime at = *reservePrepareSlot(other.recoveryUnit());
    const auto fails = [](const OpTime&) { return Status(ErrorCode::kTemporarilyUnavailable, "the cache is full"); };
    EXPECT_EQ(work.prepare(at.timestamp, fails), ErrorCode::kTemporarilyUnavailable);
    EXPECT_FALSE(other.recoveryUnit().inUnitOfWork());
    EXPECT_EQ(writes->slots.lastWritten(), before) << "the slot is left empty";
  }
  EXPECT_EQ(count(), 0);
  expectNothingHeld();
}

/// A checkpoint has nothing of it until its decision is stable.
TEST_P(PreparedUnitTest, ItsEntryIsNeededUntilACheckpointHasItsDecision) {
  for (const bool commits : {true, false}) {
    SCOPED_TRACE(commits);
    const auto later = [&](uint32_t by) {
      return bson::Timestamp{slot.timestamp.seconds, slot.timestamp.increment + by};
    };
    EXPECT_EQ(pool->preparedTimes().neededFrom(later(20)), slot.timestamp);
    inNextCommand([&](OperationContext& next) {
      WriteUnitOfWork& work = *next.lastingUnit();
      EXPECT_TRUE((commits ? work.commitPrepared(later(25), later(30)) : work.abortPrepared(later(30))).isOK());
    });
    EXPECT_EQ(pool->preparedTimes().neededFrom(later(29)), slot.timestamp);
    EXPECT_EQ(pool->preparedTimes().neededFrom(later(30)), later(30));
    EXPECT_EQ(count(), 1);
    if (commits) prepare(2);
  }
  expectNothingHeld();
}

TEST_P(PreparedUnitTest, AnAbortIsAPrimarysOnlyInsideOfTheFence) {
  writes->fence.close([] {});
  const bson::Timestamp time{slot.timestamp.seconds, slot.timestamp.increment + 10};
  inNextCommand([&](OperationContext& next) {
    EXPECT_EQ(next.lastingUnit()->abortPrepared(time), ErrorCode::kNotWritablePrimary);
    EXPECT_TRUE(next.recoveryUnit().isPrepared());
    next.setWriteMode(WriteMode::kApplied);
    EXPECT_TRUE(next.lastingUnit()->abortPrepared(time).isOK()) << "the log says so";
  });
  EXPECT_EQ(count(), 0);
  expectNothingHeld();
}

TEST_P(PreparedUnitTest, StaysWhenTheCommandThatWasToDecideItIsKilled) {
  writes->fence.close([] {});
  const bson::Timestamp time{slot.timestamp.seconds, slot.timestamp.increment + 10};
  inNextCommand([&](OperationContext& next) {
    next.kill(ErrorCode::kInterruptedDueToReplStateChange);
    EXPECT_EQ(next.lastingUnit()->commitPrepared(time, time), ErrorCode::kNotWritablePrimary);
    stashed = next.stash();
  });
  EXPECT_EQ(idle.size(), 1u);
  writes->fence.open(2);
  inNextCommand([&](OperationContext& next) { ASSERT_TRUE(next.lastingUnit()->commitPrepared(time, time).isOK()); });
  EXPECT_EQ(count(), 1);
  expectNothingHeld();
}

TEST_P(PreparedUnitTest, IsDecidedByAPrimaryOnlyInsideOfTheFence) {
  writes->fence.close([] {});
  const bson::Timestamp time{slot.timestamp.seconds, slot.timestamp.increment + 10};
  inNextCommand([&](OperationContext& next) {
    EXPECT_EQ(next.lastingUnit()->commitPrepared(time, time), ErrorCode::kNotWritablePrimary);
    EXPECT_TRUE(next.recoveryUnit().isPrepared());
    stashed = next.stash();
  });
  writes->fence.open(2);  // a later term than it was prepared in
  inNextCommand([&](OperationContext& next) {
    ASSERT_TRUE(next.lastingUnit()->commitPrepared(time, time).isOK());
    EXPECT_FALSE(next.recoveryUnit().isPrepared());
  });
  EXPECT_EQ(count(), 1);
  expectNothingHeld();
}

TEST_P(PreparedUnitTest, IsDecidedByTheLogWhereTheNodeIsNotPrimary) {
  writes->fence.close([] {});
  const bson::Timestamp time{slot.timestamp.seconds, slot.timestamp.increment + 10};
  inNextCommand([&](OperationContext& next) {
    next.setWriteMode(WriteMode::kApplied);
    EXPECT_TRUE(next.lastingUnit()->commitPrepared(time, time).isOK());
  });
  EXPECT_EQ(count(), 1);
  expectNothingHeld();
}

TEST_P(PreparedUnitTest, TheEndOfTheNodeEndsIt) {
  idle.endAll(ErrorCode::kInterruptedAtShutdown);
  EXPECT_EQ(goOn(std::move(stashed)), ErrorCode::kInterruptedAtShutdown);
  EXPECT_EQ(count(), 0);
  expectNothingHeld();
}

TROUPE_ON_BOTH_ENGINES(IdleUnitsTest);
TROUPE_ON_BOTH_ENGINES(PreparedUnitTest);

}  // namespace troupe::storage
