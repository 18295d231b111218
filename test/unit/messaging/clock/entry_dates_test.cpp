#include "messaging/clock/entry_dates.hpp"

#include <gtest/gtest.h>

namespace troupe {

constexpr uint32_t kNow = 1'700'000'000, kDay = 86'400;

bson::Date at(uint32_t seconds) { return {int64_t{seconds} * 1000}; }
OpTime entry(uint32_t seconds, uint32_t increment = 1) { return {1, {seconds, increment}}; }

TEST(EntryDates, TimesThatAreNotAheadAreDates) {
  EntryDates dates;
  dates.note({kNow, 1}, at(kNow));
  dates.note({kNow + 1, 1}, {at(kNow).millis + 900});
  EXPECT_EQ(dates.of(entry(kNow + 1)), at(kNow + 1));
  EXPECT_EQ(dates.of(OpTime()), at(0));
  EXPECT_EQ(dates.aheadMillis(), 0);
}

// A client has brought a time of tomorrow: all entries until then have its second, and increments that grow.
TEST(EntryDates, EntriesOfOneSecondAheadHaveTheDatesOfTheirWrites) {
  EntryDates dates;
  dates.note({kNow, 1}, at(kNow));
  for (uint32_t i = 0; i < 100; ++i) dates.note({kNow + kDay, 10 * i + 1}, at(kNow + 5 + i));
  EXPECT_EQ(dates.of(entry(kNow)), at(kNow)) << "was written before";
  EXPECT_EQ(dates.of(entry(kNow + kDay, 1)), at(kNow + 5));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 505)), at(kNow + 55));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 991)), at(kNow + 104));
  EXPECT_EQ(dates.aheadMillis(), int64_t{kDay - 104} * 1000);
}

TEST(EntryDates, TheClockCatchesUp) {
  EntryDates dates;
  dates.note({kNow + 60, 1}, at(kNow));
  dates.note({kNow + 60, 2}, at(kNow + 59));
  dates.note({kNow + 61, 1}, at(kNow + 61));
  EXPECT_EQ(dates.of(entry(kNow + 60, 1)), at(kNow));
  EXPECT_EQ(dates.of(entry(kNow + 60, 2)), at(kNow + 60)) << "near enough";
  EXPECT_EQ(dates.of(entry(kNow + 100)), at(kNow + 100));
  EXPECT_EQ(dates.aheadMillis(), 0);
}

TEST(EntryDates, ARollbackForgetsWhatItUndoes) {
  EntryDates dates;
  dates.note({kNow + 50, 1}, at(kNow));
  dates.note({kNow + kDay, 1}, at(kNow + 10));
  dates.note({kNow + 50, 9}, at(kNow + 20));
  EXPECT_EQ(dates.of(entry(kNow + 50, 2)), at(kNow));
  EXPECT_EQ(dates.of(entry(kNow + 50, 10)), at(kNow + 20));
}

// A member that hangs hears of the others' entries, and its own were written before this process began.
TEST(EntryDates, WhatWasHeardOfWasWrittenByThenAndWhatIsOlderBefore) {
  EntryDates dates;
  dates.noteHeard({kNow + kDay, 50}, at(kNow));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 7)), at(kNow)) << "not in a day";
  EXPECT_EQ(dates.of(entry(kNow - 100)), at(kNow - 100));
  dates.noteHeard({kNow + kDay, 60}, at(kNow + 30));
  dates.noteHeard({kNow + kDay, 60}, at(kNow + 90));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 60)), at(kNow + 30)) << "the first time";
  EXPECT_EQ(dates.of(entry(kNow + kDay, 50)), at(kNow));
  dates.note({kNow + kDay, 55}, at(kNow + 10));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 55)), at(kNow + 10)) << "it is applied";
}

TEST(EntryDates, WhatIsForgottenCountsAsTheOldestThatIsKnown) {
  EntryDates dates;
  for (uint32_t i = 0; i < 10'000; ++i) dates.note({kNow + kDay, i + 1}, at(kNow + i));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 10'000)), at(kNow + 9'999));
  EXPECT_EQ(dates.of(entry(kNow + kDay, 1)), at(kNow + 10'000 - 4096));
}

}  // namespace troupe
