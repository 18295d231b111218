// What a repair has found outlives it, and no start serves the data before it has ended.
#include "storage/engine/repair_mark.hpp"

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

class RepairMarkTest : public ::testing::Test {
 protected:
  StatusWith<std::unique_ptr<Engine>> open(bool repair) {
    WiredTigerOptions options = testOptions(directory_.path());
    options.salvageMetadata = repair;
    return openWiredTiger(options);
  }

  TemporaryDirectory directory_;
  const RepairMark mark_{directory_.path()};
};

TEST_F(RepairMarkTest, AStartIsRefusedUntilTheRepairHasEnded) {
  ASSERT_TRUE(open(false).isOK());
  ASSERT_TRUE(open(true).isOK()) << "and is killed";
  EXPECT_EQ(open(false).status(), ErrorCode::kManualInterventionRequired);
  ASSERT_TRUE(open(true).isOK());
  ASSERT_TRUE(mark_.end().isOK());
  EXPECT_TRUE(open(false).isOK());
}

TEST_F(RepairMarkTest, WhatARepairFoundCountsForTheNext) {
  ASSERT_TRUE(open(true).isOK());
  ASSERT_TRUE(mark_.add("_mdb_catalog").isOK());
  ASSERT_TRUE(mark_.add("index-1").isOK());
  ASSERT_TRUE(open(true).isOK());
  EXPECT_EQ(mark_.damaged(), (std::set<std::string>{"_mdb_catalog", "index-1"}));
  ASSERT_TRUE(mark_.end().isOK());
  EXPECT_TRUE(mark_.damaged().empty());
}

}  // namespace
}  // namespace troupe::storage
