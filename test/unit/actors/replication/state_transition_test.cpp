#include "actors/replication/state_transition.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/commands/command_node.hpp"

namespace troupe::replication {
namespace {

using storage::LockMode;
using storage::ResourceId;

struct StateTransitionTest : ::testing::Test {
  StateTransitionTest() { transition->acceptWrites(1); }

  commands::CommandNode server;
  storage::ReplicatedWrites writes{[] { return 1000u; }};
  std::shared_ptr<StateTransition> transition = std::make_shared<StateTransition>(
      server.node,
      storage::OperationServices{.sessions = server.storageSessions, .locks = &server.locks, .replicated = &writes});
};

TEST_F(StateTransitionTest, AFirstTermBeginsAtOnce) { EXPECT_EQ(writes.fence.term(), 1); }

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
