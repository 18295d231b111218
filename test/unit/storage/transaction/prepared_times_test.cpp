#include "storage/transaction/prepared_times.hpp"

#include <gtest/gtest.h>

namespace troupe::storage {

namespace {

bson::Timestamp at(uint32_t seconds) { return {seconds, 1}; }

TEST(PreparedTimes, TheOldestUndecidedPrepareIsNeeded) {
  PreparedTimes times;
  EXPECT_EQ(times.neededFrom(at(100)), at(100)) << "nothing is prepared";
  const auto first = times.add(at(10));
  times.add(at(20));
  EXPECT_EQ(times.neededFrom(at(100)), at(10));
  EXPECT_EQ(times.neededFrom(at(5)), at(5)) << "the checkpoint is older";
  times.decide(first, at(110));
  EXPECT_EQ(times.neededFrom(at(109)), at(10)) << "the checkpoint does not have the decision";
  EXPECT_EQ(times.neededFrom(at(110)), at(20));
}

TEST(PreparedTimes, AFullCheckpointNeedsAll) {
  PreparedTimes times;
  times.decide(times.add(at(10)), at(11));
  EXPECT_EQ(times.neededFrom({}), bson::Timestamp());
  EXPECT_EQ(times.neededFrom(at(10)), at(10)) << "and takes nothing out of mind";
}

TEST(PreparedTimes, WhatWasNotPreparedIsNotNeeded) {
  PreparedTimes times;
  times.withdraw(times.add(at(10)));
  EXPECT_EQ(times.neededFrom(at(100)), at(100));
}

}  // namespace

}  // namespace troupe::storage
