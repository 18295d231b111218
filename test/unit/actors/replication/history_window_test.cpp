#include "actors/replication/history_window.hpp"

#include <gtest/gtest.h>

namespace troupe::replication {

using std::chrono::seconds;

class HistoryWindowTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWanted = 300;

  void look(bool isPressed, Duration after = HistoryWindow::kLookEvery) {
    now += after;
    ASSERT_TRUE(window.isDue(now));
    window.look(isPressed, kWanted, stable, now);
  }
  bson::Timestamp oldest(int64_t wanted = kWanted, int64_t behind = 0) const {
    return window.oldest(stable, wanted, stable.seconds + behind);
  }
  /// Seconds behind the stable time, which is `behind` seconds behind the clock.
  int64_t kept(int64_t behind = 0) const { return int64_t{stable.seconds} - oldest(kWanted, behind).seconds; }

  HistoryWindow window;
  bson::Timestamp stable{1'700'000'000, 7};
  TimePoint now{seconds(10)};
};

TEST_F(HistoryWindowTest, WithoutPressureItIsWhatWasWanted) {
  for (int i = 0; i < 10; ++i) look(false);
  EXPECT_EQ(oldest(), (bson::Timestamp{1'699'999'700, 7}));
  EXPECT_EQ(oldest(0), stable);
}

TEST_F(HistoryWindowTest, UnderPressureItIsHalvedDownToWhatWasStableAMomentAgo) {
  look(true);
  EXPECT_EQ(kept(), 150);
  look(true);
  EXPECT_EQ(kept(), 75);
  for (int i = 0; i < 20; ++i) {
    ++stable.increment;
    look(true);
  }
  const bson::Timestamp before = stable;
  for (const uint32_t looksAgo : {0U, 1U, 2U}) {
    EXPECT_EQ(oldest(), (bson::Timestamp{before.seconds, before.increment - 3 + looksAgo})) << "300 ms of 250";
    ++stable.increment;
    look(true);
  }
}

TEST_F(HistoryWindowTest, WhatStandsStillIsGivenUpAfterAMoment) {
  for (int i = 0; i < 20; ++i) look(true);
  EXPECT_EQ(oldest(), stable);
  stable.increment += 5;
  look(true);
  EXPECT_EQ(oldest(), (bson::Timestamp{stable.seconds, 7}));
  for (int i = 0; i < 3; ++i) look(true);
  EXPECT_EQ(oldest(), stable);
}

TEST_F(HistoryWindowTest, ItNeverGoesBeyondWhatIsStable) {
  for (int i = 0; i < 20; ++i) look(true);
  stable = {stable.seconds - 60, 1};  // after a rollback
  EXPECT_EQ(oldest(), stable);
}

TEST_F(HistoryWindowTest, UntilAMomentHasPassedTheLastSecondIsKept) {
  window.look(true, 1, stable, now);
  EXPECT_EQ(oldest(1), (bson::Timestamp{stable.seconds - 1, 7}));
}

TEST_F(HistoryWindowTest, UnderPressureAMemberThatCatchesUpKeepsNone) {
  look(false);
  EXPECT_EQ(kept(60), kWanted) << "there is room for it";
  look(true);
  EXPECT_EQ(kept(HistoryWindow::kLongAgoSeconds), 0);
  EXPECT_EQ(kept(HistoryWindow::kLongAgoSeconds - 1), 150);
}

TEST_F(HistoryWindowTest, WithTimeItGrowsAgainToWhatIsWanted) {
  for (int i = 0; i < 20; ++i) look(true);
  look(false, seconds(100));
  EXPECT_EQ(kept(), 100);
  look(true);
  EXPECT_EQ(kept(), 50);
  look(false, seconds(1000));
  EXPECT_EQ(kept(), kWanted);
  look(true);
  EXPECT_EQ(kept(), 150);
}

TEST_F(HistoryWindowTest, ItIsNeverMoreThanWanted) {
  look(true);
  EXPECT_EQ(oldest(1), (bson::Timestamp{stable.seconds - 1, 7}));
  EXPECT_EQ(oldest(0, -5), stable) << "the clock of the cluster is ahead of ours";
}

TEST_F(HistoryWindowTest, PressureIsWhatTheEngineWritesPagesFor) {
  EXPECT_FALSE(HistoryWindow::isPressed({}));
  EXPECT_FALSE(HistoryWindow::isPressed({.cacheBytesDirty = 44, .cacheBytesMax = 1000}));
  EXPECT_TRUE(HistoryWindow::isPressed({.cacheBytesDirty = 45, .cacheBytesMax = 1000}));
  EXPECT_FALSE(HistoryWindow::isPressed({.openTables = 74, .openTablesLimit = 100}, true));
  EXPECT_TRUE(HistoryWindow::isPressed({.openTables = 75, .openTablesLimit = 100}, true));
  EXPECT_FALSE(HistoryWindow::isPressed({.openTables = 100, .openTablesLimit = 100}, false)) << "none is history";
}

}  // namespace troupe::replication
