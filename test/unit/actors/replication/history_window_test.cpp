#include "actors/replication/history_window.hpp"

#include <gtest/gtest.h>

namespace troupe::replication {

using std::chrono::seconds;

class HistoryWindowTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWanted = 300, kStable = 1'700'000'000;

  void look(bool isPressed, Duration after = HistoryWindow::kLookEvery) {
    now += after;
    ASSERT_TRUE(window.isDue(now));
    window.look(isPressed, kWanted, now);
  }
  /// Seconds behind the stable time, which is `behind` seconds behind the clock.
  int64_t kept(int64_t behind = 0) const { return kStable - window.oldest(kStable, kWanted, kStable + behind); }

  HistoryWindow window;
  TimePoint now{seconds(10)};
};

TEST_F(HistoryWindowTest, WithoutPressureItIsWhatWasWanted) {
  for (int i = 0; i < 10; ++i) look(false);
  EXPECT_EQ(kept(), kWanted);
  EXPECT_EQ(window.oldest(kStable, 0, kStable), kStable);
}

TEST_F(HistoryWindowTest, UnderPressureItIsHalvedDownToTheLastSecond) {
  look(true);
  EXPECT_EQ(kept(), 150);
  look(true);
  EXPECT_EQ(kept(), 75);
  for (int i = 0; i < 20; ++i) look(true);
  EXPECT_EQ(kept(), HistoryWindow::kLeastSeconds);
  EXPECT_EQ(kept(60), 0) << "a member that catches up";
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
  EXPECT_EQ(window.oldest(kStable, 1, kStable), kStable - 1);
  EXPECT_EQ(window.oldest(kStable, 0, kStable - 5), kStable) << "the clock of the cluster is ahead of ours";
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
