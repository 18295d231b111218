#include "actors/replication/state_transition.hpp"

#include <gtest/gtest.h>

#include "actors/storage/storage_waits.hpp"
#include "test/unit/actors/commands/command_node.hpp"
#include "test/unit/actors/lock_holder.hpp"

namespace troupe::replication {
namespace {

using storage::LockMode;
using storage::ResourceId;

struct StateTransitionTest : ::testing::Test {
  StateTransitionTest() { transition->acceptWrites(1); }

  commands::CommandNode server;
  storage::ReplicatedWrites writes{[] { return 1000u; }};
  std::shared_ptr<StateTransition> transition = std::make_shared<StateTransition>(
      server.node, storage::OperationServices{.sessions = server.storageSessions,
                                              .locks = &server.locks,
                                              .replicated = &writes,
                                              .idleUnits = server.server->operations.idleUnits});
};

TEST_F(StateTransitionTest, AFirstTermBeginsAtOnce) { EXPECT_EQ(writes.fence.term(), 1); }

TEST_F(StateTransitionTest, ATermBeginsThatIsStillExpectedOnly) {
  transition->refuseWrites();
  server.node.run();
  transition->expect(2);
  EXPECT_FALSE(transition->acceptExpected(3));
  transition->refuseWrites();
  EXPECT_FALSE(transition->acceptExpected(2)) << "it has stepped down while it drained";
  EXPECT_FALSE(writes.fence.isOpen());
  transition->expect(4);
  EXPECT_TRUE(transition->acceptExpected(4));
  EXPECT_EQ(writes.fence.term(), 4);
}

TEST_F(StateTransitionTest, WritesAreRefusedAtOnceAndTheNextTermWaitsForOperationsOfTheOldRole) {
  storage::Locker old(server.locks);
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  transition->refuseWrites();
  EXPECT_FALSE(writes.fence.isOpen());
  server.node.run();
  EXPECT_TRUE(transition->isUnderWay());
  transition->acceptWrites(2);
  EXPECT_FALSE(writes.fence.isOpen()) << "an operation of the old role has not ended";
  old.releaseAll();
  server.node.run();
  EXPECT_FALSE(transition->isUnderWay());
  EXPECT_EQ(writes.fence.term(), 2);
  EXPECT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX)) << "the lock was released";
}

TEST_F(StateTransitionTest, TheNextTermWaitsForUnitsInsideOfTheFence) {
  auto pass = writes.fence.enter();
  transition->refuseWrites();
  transition->acceptWrites(2);
  server.node.run();
  EXPECT_TRUE(transition->isUnderWay());
  EXPECT_FALSE(writes.fence.isOpen());
  { const auto ended = std::move(*pass); }
  server.node.run();
  EXPECT_EQ(writes.fence.term(), 2);
}

TEST_F(StateTransitionTest, ItsEndCanBeAwaited) {
  auto awaiting = [](std::shared_ptr<StateTransition> which, bool* over) -> Task<void> {
    co_await which->untilOver();
    *over = true;
  };
  bool first = false, second = false;
  server.node.start(awaiting(transition, &first));
  server.node.run();
  EXPECT_TRUE(first) << "none is under way";
  auto pass = writes.fence.enter();
  transition->refuseWrites();
  server.node.start(awaiting(transition, &second));
  server.node.run();
  EXPECT_FALSE(second);
  { const auto ended = std::move(*pass); }
  server.node.run();
  EXPECT_TRUE(second);
}

/// A step-down that is being tried interrupts nobody: operations may go on, but their writes have ended.
TEST_F(StateTransitionTest, TheEndOfWritesIsNotThatOfOperations) {
  auto awaiting = [](std::shared_ptr<StateTransition> which, bool* over) -> Task<void> {
    co_await which->untilWritesEnded();
    *over = true;
  };
  bool ended = false, none = false;
  storage::Locker old(server.locks);
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  auto pass = writes.fence.enter();
  transition->refuseWrites();
  server.node.start(awaiting(transition, &ended));
  server.node.run();
  EXPECT_FALSE(ended);
  { const auto unit = std::move(*pass); }
  server.node.run();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(transition->isUnderWay());
  server.node.start(awaiting(transition, &none));
  server.node.run();
  EXPECT_TRUE(none) << "there are none any more";
}

TEST_F(StateTransitionTest, OperationsThatComeMeanwhileQueueBehindIt) {
  storage::Locker old(server.locks), late(server.locks);
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  transition->refuseWrites();
  server.node.run();
  EXPECT_FALSE(late.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
  old.releaseAll();
  server.node.run();
  EXPECT_TRUE(late.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
}

TEST_F(StateTransitionTest, NobodyIsGrantedTheLockOnceTheCallHasReturned) {
  storage::Locker old(server.locks), late(server.locks);
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  transition->refuseWrites();
  EXPECT_FALSE(late.tryAcquire(ResourceId::stateTransition(), LockMode::kIS)) << "before the pool has run anything";
  old.releaseAll();
  server.node.run();
  EXPECT_TRUE(late.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
}

/// Else all reads would wait for the lock that a writer waits for.
TEST_F(StateTransitionTest, AWriterThatWaitsForACollectionEndsWhenWritesAreRefused) {
  LockHolder validation(server.locks, "test.c", LockMode::kX);
  const storage::OperationServices services{
      .sessions = server.storageSessions, .locks = &server.locks, .replicated = &writes};
  std::optional<ErrorCode> writer, reader, late;
  const auto lock = [&](storage::OperationContext& operation, std::optional<ErrorCode>& outcome) {
    server.node.start([](Node* node, storage::OperationContext* waiting, std::optional<ErrorCode>* to) -> Task<void> {
      const storage::Namespace ns("test", "c");
      const auto held = co_await lockCollection(*node, *waiting, ns, LockMode::kIX);
      *to = held.status().code();
    }(&server.node, &operation, &outcome));
    server.node.run();
  };
  storage::OperationContext writing(services), other(services), behind(services);
  writing.announceWrites();
  behind.announceWrites();
  lock(writing, writer);
  ASSERT_FALSE(writer);
  transition->refuseWrites();
  server.node.run();
  EXPECT_EQ(writer, ErrorCode::kNotWritablePrimary);
  EXPECT_FALSE(transition->isUnderWay());
  lock(behind, late);
  EXPECT_EQ(late, ErrorCode::kNotWritablePrimary) << "they are refused still";
  lock(other, reader);
  EXPECT_FALSE(reader) << "no writer that the transition ends";
  validation.release();
  server.node.run();
  EXPECT_EQ(reader, ErrorCode::kOK);
}

/// Reads that come and go would keep the change of the role waiting for as long as two of them overlap.
TEST_F(StateTransitionTest, ReadsThatComeMeanwhileDoNotOvertakeIt) {
  const storage::OperationServices services{
      .sessions = server.storageSessions, .locks = &server.locks, .replicated = &writes};
  storage::OperationContext first(services), second(services);
  std::optional<storage::HeldLock> held[2];
  const auto read = [&](storage::OperationContext& operation, std::optional<storage::HeldLock>& into) {
    server.node.start(
        [](Node* node, storage::OperationContext* reading, std::optional<storage::HeldLock>* to) -> Task<void> {
          const storage::Namespace ns("test", "c");
          auto lock = co_await lockCollection(*node, *reading, ns, LockMode::kIS);
          if (lock.isOK()) to->emplace(std::move(*lock));
        }(&server.node, &operation, &into));
    server.node.run();
  };
  read(first, held[0]);
  ASSERT_TRUE(held[0]);
  transition->refuseWrites();
  server.node.run();
  read(second, held[1]);
  EXPECT_FALSE(held[1]);
  held[0].reset();
  server.node.run();
  EXPECT_FALSE(transition->isUnderWay());
  EXPECT_TRUE(held[1]) << "once the role has changed";
}

/// fsyncLock keeps writes out for as long as an operator wants.
TEST_F(StateTransitionTest, AWriterThatWaitsForTheGlobalLockEndsWhenWritesAreRefused) {
  storage::Locker locked(server.locks);
  ASSERT_TRUE(locked.tryAcquire(ResourceId::global(), LockMode::kS));
  const storage::OperationServices services{
      .sessions = server.storageSessions, .locks = &server.locks, .replicated = &writes};
  storage::OperationContext writing(services);
  CollectionWriter writer(server.server->writes, writing);
  std::optional<ErrorCode> outcome;
  server.node.start([](CollectionWriter* by, std::optional<ErrorCode>* to) -> Task<void> {
    const auto opened = co_await by->open(storage::Namespace("test", "c"), IfMissing::kLeave);
    *to = opened.status().code();
  }(&writer, &outcome));
  server.node.run();
  ASSERT_FALSE(outcome);
  transition->refuseWrites();
  server.node.run();
  EXPECT_EQ(outcome, ErrorCode::kNotWritablePrimary);
  EXPECT_FALSE(transition->isUnderWay());
}

/// With transactions whose clients are silent.
struct IdleTransactionTest : StateTransitionTest {
  IdleTransactionTest() {
    EXPECT_TRUE(server.run(bson::doc("insert", "c", "documents", bson::array(bson::doc("_id", 1))))["ok"].truthy());
  }
  storage::OperationServices services() {
    return {.sessions = server.storageSessions,
            .locks = &server.locks,
            .admission = &server.admission,
            .replicated = &writes,
            .idleUnits = server.server->operations.idleUnits};
  }
  storage::StashedOperation begun() {
    storage::OperationContext first(services());
    first.announceWrites();
    first.openLastingUnit(storage::UnitLogging::kGrouped);
    storage::HeldLock lock(first, storage::ResourceType::kCollection, "test.c", LockMode::kIX);
    EXPECT_TRUE(first.tryAdmit(true) && lock.tryAcquire());
    EXPECT_TRUE(server.catalog->find({"test", "c"})->insert(first.recoveryUnit(), bson::doc("_id", 2)).isOK());
    return first.stash();
  }
  struct Command {
    explicit Command(const storage::OperationServices& services) : operation(services) {}
    storage::OperationContext operation;
    std::optional<Status> outcome;
  };
  /// Begins to take a transaction up.
  std::shared_ptr<Command> takeUp(storage::StashedOperation& stashed) {
    auto command = std::make_shared<Command>(services());
    server.node.start([](Node* node, std::shared_ptr<Command> c, storage::StashedOperation* what) -> Task<void> {
      c->outcome.emplace(co_await troupe::takeUp(*node, c->operation, *what));
    }(&server.node, command, &stashed));
    server.node.run();
    return command;
  }
  void expectNothingHeld() {
    EXPECT_EQ(server.server->operations.idleUnits->size(), 0u);
    EXPECT_EQ(server.locks.inUse(), 0u);
    EXPECT_EQ(server.admission.write().out(), 0);
    EXPECT_EQ(writes.slots.openReservations(), 0u);
  }
};

TEST_F(IdleTransactionTest, TheNextCommandTakesLockAndTicketAgain) {
  storage::StashedOperation stashed = begun();
  EXPECT_EQ(server.admission.write().out(), 0);
  {
    const auto next = takeUp(stashed);
    ASSERT_TRUE(next->outcome && next->outcome->isOK());
    EXPECT_EQ(server.admission.write().out(), 1);
    ASSERT_TRUE(next->operation.commitLastingUnit().isOK());
    EXPECT_FALSE(next->operation.locker()->holdsAny());
  }
  EXPECT_EQ(server.catalog->find({"test", "c"})->records().count(), 2);
  expectNothingHeld();
}

TEST_F(IdleTransactionTest, AStepDownDoesNotWaitForTheirClients) {
  storage::StashedOperation stashed = begun();
  transition->refuseWrites();
  server.node.run();
  EXPECT_FALSE(transition->isUnderWay());
  expectNothingHeld();
  transition->acceptWrites(2);
  const auto next = takeUp(stashed);
  ASSERT_TRUE(next->outcome);
  EXPECT_EQ(*next->outcome, ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_FALSE(next->operation.locker()->holdsAny());
  EXPECT_FALSE(next->operation.lastingUnit());
  EXPECT_EQ(server.catalog->find({"test", "c"})->records().count(), 1);
}

TEST_F(IdleTransactionTest, OneThatWaitsToBeTakenUpIsEndedByAStepDown) {
  storage::Locker old(server.locks);
  storage::StashedOperation stashed = begun();
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  transition->refuseWrites();  // waits for `old`
  const auto next = takeUp(stashed);
  ASSERT_FALSE(next->outcome) << "it waits behind the change of the role";
  old.releaseAll();
  server.node.run();
  ASSERT_TRUE(next->outcome);
  EXPECT_EQ(*next->outcome, ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_FALSE(transition->isUnderWay());
  expectNothingHeld();
}

TEST_F(IdleTransactionTest, ACommandThatIsKilledOrLateBeforeItHasTakenItUpLeavesItAsItWas) {
  storage::StashedOperation stashed = begun();
  std::vector<storage::Ticket> tickets;
  while (auto ticket = server.admission.write().tryTake(storage::AdmissionPriority::kNormal))
    tickets.push_back(std::move(ticket));
  const auto killed = takeUp(stashed);
  ASSERT_FALSE(killed->outcome) << "there is no ticket";
  killed->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(killed->outcome);
  EXPECT_EQ(*killed->outcome, ErrorCode::kInterrupted);
  EXPECT_EQ(server.server->operations.idleUnits->size(), 1u);
  tickets.clear();
  const auto next = takeUp(stashed);
  ASSERT_TRUE(next->outcome && next->outcome->isOK());
  EXPECT_TRUE(next->operation.commitLastingUnit().isOK());
  EXPECT_EQ(server.catalog->find({"test", "c"})->records().count(), 2);
}

TEST_F(IdleTransactionTest, OneThatNobodyTakesUpEndsWithItsLifetime) {
  storage::OperationContext first(services());
  first.openLastingUnit(storage::UnitLogging::kGrouped, server.time->now() + std::chrono::seconds(30));
  storage::HeldLock lock(first, storage::ResourceType::kCollection, "test.c", LockMode::kIX);
  ASSERT_TRUE(first.tryAdmit(true) && lock.tryAcquire());
  storage::StashedOperation stashed = first.stash();
  server.node.advance(std::chrono::seconds(25));
  EXPECT_EQ(server.server->operations.idleUnits->size(), 1u);
  server.node.advance(std::chrono::seconds(10));
  EXPECT_EQ(server.server->operations.idleUnits->size(), 0u);
  const auto next = takeUp(stashed);
  ASSERT_TRUE(next->outcome);
  EXPECT_EQ(*next->outcome, ErrorCode::kTransactionExceededLifetimeLimitSeconds);
  expectNothingHeld();
}

TEST_F(StateTransitionTest, ATermThatIsOverBeforeItBeganDoesNotBegin) {
  auto pass = writes.fence.enter();
  transition->refuseWrites();
  transition->acceptWrites(2);
  transition->refuseWrites();
  { const auto ended = std::move(*pass); }
  server.node.run();
  EXPECT_FALSE(transition->isUnderWay());
  EXPECT_FALSE(writes.fence.isOpen());
}

}  // namespace
}  // namespace troupe::replication
