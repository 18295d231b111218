#include "storage/locks/lock_graph.hpp"

#include <gtest/gtest.h>

#include "test/unit/storage/locks/locks_fixture.hpp"

namespace troupe::storage {
namespace {

using enum LockMode;

struct DeadlockTest : testing::Test, Locks {
  bool take(char name, const char* label, LockMode mode) { return acquire(name, ResourceId::mutex(label), mode); }
};

TEST_F(DeadlockTest, TheRequestThatClosesACycleFails) {
  ASSERT_TRUE(take('a', "1", kX));
  ASSERT_TRUE(take('b', "2", kX));
  EXPECT_FALSE(take('b', "1", kX));  // late
  EXPECT_FALSE(take('a', "2", kX));
  EXPECT_EQ(failures['a'], ErrorCode::kWriteConflict);
  EXPECT_EQ(log, "") << "the caller has the outcome already";
  EXPECT_EQ(manager.statistics().of(ResourceType::kMutex, kX).deadlockCount, 1);
  (*this)['a'].releaseAll();
  EXPECT_EQ(log, "b") << "the other one goes on once the victim has given up its locks";
}

TEST_F(DeadlockTest, TheOrderOfArrivalDoesNotMatter) {
  ASSERT_TRUE(take('a', "1", kX));
  ASSERT_TRUE(take('b', "2", kX));
  EXPECT_FALSE(take('a', "2", kX));  // in order; closes nothing
  EXPECT_FALSE(take('b', "1", kX));  // late; closes it
  EXPECT_EQ(failures['b'], ErrorCode::kWriteConflict);
  EXPECT_EQ(failures.count('a'), 0u);
}

TEST_F(DeadlockTest, ALongCycleIsFound) {
  for (const char* each : {"a1", "b2", "c3", "d4"}) ASSERT_TRUE(take(each[0], each + 1, kX));
  EXPECT_FALSE(take('d', "1", kX));
  EXPECT_FALSE(take('a', "2", kS));
  EXPECT_FALSE(take('b', "3", kIX));
  EXPECT_TRUE(failures.empty());
  EXPECT_FALSE(take('c', "4", kIS));
  EXPECT_EQ(failures['c'], ErrorCode::kWriteConflict);
}

TEST_F(DeadlockTest, TwoUpgradesOfTheSameResourceAreADeadlock) {
  mutex('a', kS);
  mutex('b', kS);
  EXPECT_FALSE(mutex('a', kX));
  EXPECT_FALSE(mutex('b', kX));
  EXPECT_EQ(failures['b'], ErrorCode::kWriteConflict);
  (*this)['b'].releaseAll();
  EXPECT_EQ(log, "a");
}

TEST_F(DeadlockTest, WaitersInAQueueAreWaitedForToo) {
  ASSERT_TRUE(take('a', "2", kX));
  ASSERT_TRUE(take('h', "1", kS));
  EXPECT_FALSE(take('w', "1", kX));
  // 'w' waits for 'h' only; 'a' would queue behind 'w', and 'h' wants what 'a' holds.
  EXPECT_FALSE(take('h', "2", kS));
  EXPECT_FALSE(take('a', "1", kS));
  EXPECT_EQ(failures['a'], ErrorCode::kWriteConflict);
}

TEST_F(DeadlockTest, ALongQueueIsNoDeadlock) {
  ASSERT_TRUE(take('a', "2", kX));
  ASSERT_TRUE(take('b', "3", kX));
  for (const char name : {'c', 'd', 'e'}) EXPECT_FALSE(take(name, "2", kX));
  EXPECT_FALSE(take('b', "2", kX));  // late, but 'a' runs
  EXPECT_TRUE(failures.empty());
}

}  // namespace
}  // namespace troupe::storage
