#include "storage/engine/watermark.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "messaging/bson/types.hpp"

namespace troupe::storage {
namespace {

using bson::Timestamp;

TEST(Watermark, ResumesAllWhoWaitForItOnce) {
  Watermark<uint64_t> mark;
  int resumed = 0;
  mark.whenPast(mark.get(), [&] { ++resumed; });
  mark.whenPast(mark.get(), [&] { ++resumed; });
  EXPECT_EQ(resumed, 0);
  mark.increment();
  EXPECT_EQ(resumed, 2);
  mark.increment();
  EXPECT_EQ(resumed, 2);
  EXPECT_EQ(mark.waiters(), 0U);
}

TEST(Watermark, AMoveBetweenALookAndTheWaitIsNotMissed) {
  Watermark<uint64_t> mark;
  const uint64_t seen = mark.get();
  mark.increment();
  bool resumed = false;
  EXPECT_EQ(mark.whenPast(seen, [&] { resumed = true; }), 0U);
  EXPECT_TRUE(resumed);
}

TEST(Watermark, AWithdrawnWaiterIsNotCalled) {
  Watermark<uint64_t> mark;
  bool resumed = false;
  const auto waiter = mark.whenPast(0, [&] { resumed = true; });
  EXPECT_TRUE(mark.withdraw(waiter));
  mark.increment();
  EXPECT_FALSE(resumed);
  EXPECT_FALSE(mark.withdraw(waiter));
}

TEST(Watermark, AResumedWaiterMayWaitAgain) {
  Watermark<uint64_t> mark;
  int resumed = 0;
  mark.whenPast(0, [&] {
    ++resumed;
    mark.whenPast(mark.get(), [&] { ++resumed; });
  });
  mark.increment();
  EXPECT_EQ(resumed, 1);
  mark.increment();
  EXPECT_EQ(resumed, 2);
}

TEST(Watermark, ResumesThoseItHasPassedAndNoOthers) {
  Watermark<Timestamp> mark;
  std::vector<int> resumed;
  mark.whenPast({5, 0}, [&] { resumed.push_back(5); });
  mark.whenPast({7, 0}, [&] { resumed.push_back(7); });
  mark.advance({5, 0});
  EXPECT_TRUE(resumed.empty()) << "past it, not at it";
  mark.advance({6, 0});
  EXPECT_EQ(resumed, std::vector{5});
  mark.advance({3, 0});
  EXPECT_EQ(mark.get(), (Timestamp{6, 0})) << "it does not go back";
  mark.resumeAll();
  EXPECT_EQ(resumed, (std::vector{5, 7}));
  EXPECT_EQ(mark.get(), (Timestamp{6, 0}));
}

TEST(Watermark, GoesBackOnlyWhenItIsReset) {
  Watermark<Timestamp> mark;
  mark.advance({6, 0});
  Timestamp found;
  mark.whenPast({6, 0}, [&] { found = mark.get(); });
  mark.reset({2, 0});
  EXPECT_EQ(found, (Timestamp{2, 0})) << "a waiter looks at what there is now";
  EXPECT_EQ(mark.waiters(), 0U);
  bool resumed = false;
  mark.whenPast({2, 0}, [&] { resumed = true; });
  mark.advance({3, 0});
  EXPECT_TRUE(resumed);
}

TEST(WatermarkThreads, NoIncrementIsLost) {
  Watermark<uint64_t> mark;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) mark.increment();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(mark.get(), 2000U);
}

}  // namespace
}  // namespace troupe::storage
