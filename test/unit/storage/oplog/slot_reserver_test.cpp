#include "storage/oplog/slot_reserver.hpp"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <map>
#include <thread>
#include <vector>

#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

using bson::Timestamp;

class SlotReserverTest : public ::testing::Test {
 protected:
  uint32_t now = 100;
  OplogVisibility visibility;
  SlotReserver reserver{[this] { return now; }, visibility};
};

TEST_F(SlotReserverTest, TimesGrowWithTheClockAndWithinASecond) {
  const auto first = reserver.reserve(1, 1);
  const auto three = reserver.reserve(1, 3);
  EXPECT_EQ(first[0], (OpTime{1, {100, 1}}));
  EXPECT_EQ(three[0].timestamp, (Timestamp{100, 2}));
  EXPECT_EQ(three.last().timestamp, (Timestamp{100, 4}));
  now = 101;
  EXPECT_EQ(reserver.reserve(1, 1)[0].timestamp, (Timestamp{101, 1}));
  now = 99;  // the clock was set back
  EXPECT_EQ(reserver.reserve(2, 1)[0], (OpTime{2, {101, 2}}));
}

/// A slot whose unit was rolled back has no entry: nobody must be told to wait for that time.
TEST_F(SlotReserverTest, KnowsTheNewestTimeThatWasWritten) {
  auto first = reserver.reserve(1, 2), second = reserver.reserve(1, 1), third = reserver.reserve(1, 1);
  const Timestamp endOfFirst = first.last().timestamp, endOfThird = third.last().timestamp;
  third.markWritten();
  third.release();
  EXPECT_EQ(reserver.lastWritten(), Timestamp()) << "there are holes before it";
  EXPECT_EQ(reserver.newestWritten(), endOfThird);
  first.markWritten();
  first.release();
  EXPECT_EQ(reserver.lastWritten(), endOfFirst);
  second.release();
  EXPECT_EQ(reserver.lastWritten(), endOfThird);
  reserver.reserve(1, 3).release();
  EXPECT_EQ(reserver.lastWritten(), endOfThird) << "rolled back";
  EXPECT_EQ(reserver.newestWritten(), endOfThird);
  EXPECT_GT(reserver.withoutHoles(), endOfThird);
  reserver.resetTo({90, 1});
  EXPECT_EQ(reserver.lastWritten(), (Timestamp{90, 1}));
  EXPECT_EQ(reserver.newestWritten(), (Timestamp{90, 1}));
}

TEST_F(SlotReserverTest, GoesOnBehindWhatWasSeenElsewhere) {
  reserver.advanceTo({200, 7});
  EXPECT_EQ(reserver.reserve(1, 1)[0].timestamp, (Timestamp{200, 8}));
  reserver.advanceTo({150, 1});
  EXPECT_EQ(reserver.newest(), (Timestamp{200, 8})) << "it never goes back";
}

TEST_F(SlotReserverTest, GoesBackWithALogThatWasCutOffButForItsClock) {
  reserver.advanceTo({200, 7});
  reserver.resetTo({150, 3});
  EXPECT_EQ(reserver.newest(), (Timestamp{200, 7}));
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{150, 3}));
  EXPECT_EQ(visibility.get(), (Timestamp{150, 3}));
  auto slots = reserver.reserve(2, 1);
  EXPECT_EQ(slots[0], (OpTime{2, {200, 8}}));
  EXPECT_EQ(visibility.get(), (Timestamp{150, 3})) << "what is open is a hole again";
  EXPECT_THROW(reserver.resetTo({100, 1}), BrokenInvariant) << "an open slot would come to lie behind the end";
  slots.release();
  EXPECT_EQ(visibility.get(), (Timestamp{200, 8}));
}

TEST_F(SlotReserverTest, AReservationDoesNotStraddleSeconds) {
  reserver.advanceTo({200, UINT32_MAX - 1});
  const auto slots = reserver.reserve(1, 2);
  EXPECT_EQ(slots[0].timestamp, (Timestamp{201, 1}));
}

TEST_F(SlotReserverTest, ReadersStopBeforeTheFirstHole) {
  auto early = reserver.reserve(1, 2);
  auto late = reserver.reserve(1, 2);
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{100, 0}));
  late.release();
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{100, 0})) << "the earlier one is still open";
  early.release();
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{100, 4}));
}

TEST_F(SlotReserverTest, TheVisibilityPointFollowsWhenAHoleCloses) {
  auto early = reserver.reserve(1, 1);
  auto late = reserver.reserve(1, 1);
  bool moved = false;
  visibility.whenPast({100, 0}, [&] { moved = true; });
  late.release();
  EXPECT_FALSE(moved) << "the earlier one is still open";
  early.release();
  EXPECT_TRUE(moved);
  EXPECT_EQ(visibility.get(), (Timestamp{100, 2}));
}

TEST_F(SlotReserverTest, WhatWasSeenElsewhereMovesTheClockAndNotTheLog) {
  reserver.reserve(1, 1);
  reserver.advanceTo({200, 7});
  EXPECT_EQ(reserver.newest(), (Timestamp{200, 7}));
  EXPECT_EQ(reserver.lastHandedOut(), (Timestamp{100, 1}));
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{100, 1}));
  EXPECT_EQ(visibility.get(), (Timestamp{100, 1}));
  reserver.reserve(1, 1);
  EXPECT_EQ(visibility.get(), (Timestamp{200, 8}));
}

TEST_F(SlotReserverTest, MovedSlotsAreOneHole) {
  auto slots = reserver.reserve(1, 1);
  auto moved = std::move(slots);
  EXPECT_TRUE(slots.empty());  // NOLINT: looked at after the move on purpose
  EXPECT_EQ(reserver.openReservations(), 1u);
  moved = reserver.reserve(1, 1);
  EXPECT_EQ(reserver.openReservations(), 1u) << "the first was given back";
}

TEST_F(SlotReserverTest, WhenTheFirstOfThreeHolesClosesReadersComeUpToTheSecond) {
  auto first = reserver.reserve(1, 2);
  const auto second = reserver.reserve(1, 3), third = reserver.reserve(1, 1);
  first.release();
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{100, 2}));
  EXPECT_EQ(visibility.get(), (Timestamp{100, 2}));
}

/// The last time before that one.
static Timestamp justBelow(Timestamp time) { return Timestamp{time.seconds, time.increment - 1}; }

RC_GTEST_PROP(SlotReserverProperty, IsWithoutHolesJustBelowTheFirstOpenTime, (const std::vector<uint8_t>& steps)) {
  uint32_t now = 1;
  OplogVisibility visibility;
  SlotReserver reserver([&] { return now; }, visibility);
  std::map<Timestamp, SlotReserver::Slots> open;
  Timestamp newest;
  for (const uint8_t step : steps) {
    if (step % 3 == 0 && !open.empty()) {
      open.erase(std::next(open.begin(), step % open.size()));
    } else {
      now += step % 2;
      auto slots = reserver.reserve(1, 1 + step % 4);
      RC_ASSERT(newest < slots[0].timestamp);
      newest = slots.last().timestamp;
      open.emplace(slots[0].timestamp, std::move(slots));
    }
    const Timestamp reached = reserver.withoutHoles();
    RC_ASSERT(reached == (open.empty() ? newest : justBelow(open.begin()->first)));
    RC_ASSERT(reserver.openReservations() == open.size());
  }
}

TEST(SlotReserverThreads, TimesAreUnique) {
  OplogVisibility visibility;
  SlotReserver reserver([] { return 5u; }, visibility);
  std::vector<std::vector<Timestamp>> taken(2);
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) mine.push_back(reserver.reserve(1, 1)[0].timestamp);
    });
  for (auto& thread : threads) thread.join();
  std::set<Timestamp> all;
  for (const auto& mine : taken) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), 4000u);
  EXPECT_EQ(reserver.withoutHoles(), (Timestamp{5, 4000}));
  EXPECT_EQ(visibility.get(), (Timestamp{5, 4000}));
}

}  // namespace troupe::storage
