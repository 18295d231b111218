#include "storage/locks/resource_locks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace troupe::storage {
namespace {

using Mode = ResourceLocks::Mode;

struct ResourceLocksTest : testing::Test {
  ResourceLocks locks;
  const size_t stripe = ResourceLocks::stripeOf("db.c");
  std::string log;
  void acquire(Mode mode, const char* who) {
    locks.acquire(stripe, mode, [this, who] { log += who; });
  }
};

TEST_F(ResourceLocksTest, SharedHoldersDoNotExcludeEachOther) {
  acquire(Mode::kShared, "a");
  acquire(Mode::kShared, "b");
  EXPECT_EQ(log, "ab");
}

TEST_F(ResourceLocksTest, AnExclusiveRequestWaitsForTheLastSharedHolder) {
  acquire(Mode::kShared, "a");
  acquire(Mode::kShared, "b");
  acquire(Mode::kExclusive, "X");
  locks.release(stripe, Mode::kShared);
  EXPECT_EQ(log, "ab");
  locks.release(stripe, Mode::kShared);
  EXPECT_EQ(log, "abX");
}

TEST_F(ResourceLocksTest, LaterSharedRequestsQueueBehindAWaitingExclusiveOne) {
  acquire(Mode::kShared, "a");
  acquire(Mode::kExclusive, "X");
  acquire(Mode::kShared, "b");
  acquire(Mode::kShared, "c");
  EXPECT_EQ(log, "a");
  locks.release(stripe, Mode::kShared);
  EXPECT_EQ(log, "aX");
  locks.release(stripe, Mode::kExclusive);
  EXPECT_EQ(log, "aXbc");
}

TEST_F(ResourceLocksTest, TryAcquireNeverWaits) {
  EXPECT_TRUE(locks.tryAcquire(stripe, Mode::kExclusive));
  EXPECT_FALSE(locks.tryAcquire(stripe, Mode::kShared));
  EXPECT_FALSE(locks.tryAcquire(stripe, Mode::kExclusive));
  locks.release(stripe, Mode::kExclusive);
  EXPECT_TRUE(locks.tryAcquire(stripe, Mode::kShared));
}

TEST_F(ResourceLocksTest, AFailedTryDoesNotLoseTheWakeUpOfAWaiter) {
  ASSERT_TRUE(locks.tryAcquire(stripe, Mode::kExclusive));
  acquire(Mode::kExclusive, "X");
  EXPECT_FALSE(locks.tryAcquire(stripe, Mode::kShared));
  locks.release(stripe, Mode::kExclusive);
  EXPECT_EQ(log, "X");
}

TEST_F(ResourceLocksTest, AGuardReleasesWhenItIsDropped) {
  ASSERT_TRUE(locks.tryAcquire(stripe, Mode::kExclusive));
  { LockGuard guard(locks, stripe, Mode::kExclusive); }
  EXPECT_TRUE(locks.tryAcquire(stripe, Mode::kExclusive));
}

TEST_F(ResourceLocksTest, ThreadsNeverShareAnExclusiveSection) {
  std::atomic<int> inside{0}, granted{0};
  std::atomic<bool> violated{false};
  constexpr int kThreads = 4, kRounds = 5000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const Mode mode = (i + t) % 4 == 0 ? Mode::kExclusive : Mode::kShared;
        locks.acquire(stripe, mode, [&, mode] {
          const int weight = mode == Mode::kExclusive ? 1000000 : 1;
          const int before = inside.fetch_add(weight);
          if (mode == Mode::kExclusive ? before != 0 : before >= 1000000) violated = true;
          inside.fetch_sub(weight);
          ++granted;
          locks.release(stripe, mode);
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(violated);
  EXPECT_EQ(granted, kThreads * kRounds);
}

}  // namespace
}  // namespace troupe::storage
