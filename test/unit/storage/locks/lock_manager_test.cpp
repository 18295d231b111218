#include "storage/locks/lock_manager.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "test/unit/storage/locks/locks_fixture.hpp"

namespace troupe::storage {
namespace {

using enum LockMode;
using namespace std::chrono_literals;

struct LockManagerTest : testing::Test, Locks {};

TEST_F(LockManagerTest, ShowsHoldersAndWaitersWithTheirTimes) {
  acquire('a', ResourceId::global(), kIX);
  time += 5s;
  acquire('a', ResourceId::database("db"), kX);
  acquire('b', ResourceId::global(), kIX);
  acquire('b', ResourceId::database("db"), kIX);
  EXPECT_EQ(shown(), "Global: 1 IX 2 IX | Database db: 1 X; 2 IX");
  const auto views = manager.inspect();
  EXPECT_EQ(views[1].pending[0].since, time);
  time += 7s;
  release('a', ResourceId::database("db"));
  EXPECT_EQ(manager.inspect()[1].granted[0].since, time) << "since it was granted";
  EXPECT_EQ(manager.statistics().of(ResourceType::kDatabase, kIX).timeAcquiringMicros, 0) << "not taken up yet";
  release('b', ResourceId::database("db"));
  EXPECT_EQ(manager.statistics().of(ResourceType::kDatabase, kIX).timeAcquiringMicros, 7'000'000);
}

TEST_F(LockManagerTest, CountsAcquisitionsByTypeAndModeAlsoOfLockersThatAreGone) {
  acquire('a', ResourceId::global(), kIX);
  acquire('a', ResourceId::global(), kIX);
  acquire('b', ResourceId::global(), kIS);
  lockers.erase('a');
  const LockStatistics sum = manager.statistics();
  EXPECT_EQ(sum.of(ResourceType::kGlobal, kIX).acquireCount, 2);
  EXPECT_EQ(sum.of(ResourceType::kGlobal, kIS).acquireCount, 1);
  EXPECT_EQ((*this)['b'].statistics().of(ResourceType::kGlobal, kIX).acquireCount, 0);
}

TEST_F(LockManagerTest, NamesThatNobodyUsesMayComeAndGo) {
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "m" + std::to_string(i % 7000);
    ASSERT_TRUE(acquire('a', ResourceId::mutex(name), kX));
    release('a', ResourceId::mutex(name));
    if (i == 10'000) {
      ASSERT_TRUE(mutex('b', kX));
    }
  }
  EXPECT_EQ(shown(), "Mutex m: 2 X") << "what was held while others went is still held";
  EXPECT_FALSE((*this)['a'].tryAcquire(ResourceId::mutex("m"), kIS));
}

// --- Threads

/// Takes the lock, waiting with the thread: for tests only.
Status wait(Locker& locker, const ResourceId& resource, LockMode mode) {
  std::promise<Status> outcome;
  auto taken = locker.acquire(resource, mode, {}, [&](const Status& status) { outcome.set_value(status); });
  return taken.wait ? outcome.get_future().get() : taken.status;
}

TEST(LockManagerThreads, ExclusiveSectionsAreExclusive) {
  LockManager manager([] { return std::chrono::steady_clock::now(); });
  std::atomic<int> inside{0};
  std::atomic<bool> violated{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t);
      for (int i = 0; i < 3000; ++i) {
        Locker locker(manager);
        const LockMode mode = kHeldModes[random() % 4];
        ASSERT_TRUE(wait(locker, ResourceId::global(), intentAbove(mode)).isOK());
        ASSERT_TRUE(wait(locker, ResourceId::database("db"), mode).isOK());
        const int weight = mode == kX ? 1'000'000 : mode == kS ? 1'000 : mode == kIX ? 1 : 0;
        const int before = inside.fetch_add(weight);
        if (mode == kX && before != 0) violated = true;
        if (mode == kS && before % 1'000 != 0) violated = true;
        if (before >= 1'000'000) violated = true;
        inside.fetch_sub(weight);
        if (random() % 2) locker.release(ResourceId::database("db"));
      }
    });
  }
  std::thread observer([&] {
    for (int i = 0; i < 200; ++i) manager.inspect(), manager.statistics();
  });
  for (auto& thread : threads) thread.join();
  observer.join();
  EXPECT_FALSE(violated);
  EXPECT_EQ(manager.inUse(), 0u);
}

TEST(LockManagerThreads, DeadlocksAreBrokenAndAllGoOn) {
  LockManager manager([] { return std::chrono::steady_clock::now(); });
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      for (int i = 0; i < 500; ++i) {
        for (bool complete = false; !complete;) {
          Locker locker(manager);
          complete = true;
          for (int lock = 0; lock < 3 && complete; ++lock) {
            const std::string name(1, static_cast<char>('a' + random() % 4));
            complete = wait(locker, ResourceId::mutex(name), random() % 2 ? kX : kS).isOK();
          }
        }
        ++done;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 4 * 500);
  EXPECT_EQ(manager.inUse(), 0u);
}

TEST(LockManagerThreads, KillsAndGrantsMeet) {
  LockManager manager([] { return std::chrono::steady_clock::now(); });
  for (int i = 0; i < 500; ++i) {
    Locker holder(manager), waiter(manager);
    ASSERT_TRUE(holder.tryAcquire(ResourceId::mutex("m"), kX));
    std::atomic<int> calls{0};
    auto taken = waiter.acquire(ResourceId::mutex("m"), kX, {}, [&](const Status&) { ++calls; });
    std::thread killer([&] { taken.wait->fail({ErrorCode::kInterrupted, ""}); });
    std::thread releaser([&] { holder.releaseAll(); });
    if (i % 2) waiter.giveUp(taken.wait);
    killer.join();
    releaser.join();
    ASSERT_LE(calls, 1);
    ASSERT_TRUE(i % 2 || calls == 1);
  }
  EXPECT_EQ(manager.inUse(), 0u);
}

}  // namespace
}  // namespace troupe::storage
