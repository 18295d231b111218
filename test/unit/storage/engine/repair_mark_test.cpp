// What a repair has found outlives it, and no start serves the data before it has ended.
#include "storage/engine/repair_mark.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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

TEST_F(RepairMarkTest, ADirectoryThatLacksItsFirstFileIsNotTakenForANewOne) {
  {
    auto engine = std::move(open(false)).value();
    ASSERT_TRUE(engine->createTable("collection-1", {}).isOK());
  }
  std::filesystem::remove(directory_.path() + "/WiredTiger.turtle");
  const std::string before = listing(directory_.path());
  for (const bool repair : {false, true}) {
    EXPECT_EQ(open(repair).status(), ErrorCode::kManualInterventionRequired);
    EXPECT_EQ(listing(directory_.path()), before);
  }
}

/// Allows this process few more open files than it has, for its lifetime.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    const rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(Repair, ThatMayOpenTooFewFilesLosesNothing) {
  constexpr int kTables = 60;
  const auto identOf = [](int i) { return "collection-" + std::to_string(i); };
  TemporaryDirectory directory;
  auto engine = std::move(openWiredTiger(testOptions(directory.path()))).value();
  for (int i = 0; i < kTables; ++i) ASSERT_TRUE(engine->createTable(identOf(i), {}).isOK());
  ASSERT_TRUE(engine->checkpoint({}).isOK());
  for (int i = 0; i < kTables; ++i) {
    const Table table = *engine->openTable(identOf(i));
    ASSERT_TRUE(Transaction(*engine, table).put("k", "in the log").commit().isOK());
  }
  ASSERT_TRUE(engine->flushLog().isOK());
  const auto killed = frozenCopy(directory.path());
  WiredTigerOptions options = testOptions(killed->path());
  options.salvageMetadata = true;
  {
    const FewFiles few(40);
    EXPECT_EQ(openWiredTiger(options).status(), ErrorCode::kTooManyFilesOpen);
  }
  auto repaired = openWiredTiger(options);
  ASSERT_TRUE(repaired.isOK()) << repaired.status().toString();
  for (int i = 0; i < kTables; ++i) {
    const Table table = *(*repaired)->openTable(identOf(i));
    EXPECT_EQ(Transaction(**repaired, table).read("k"), "in the log") << i;
  }
}

}  // namespace
}  // namespace troupe::storage
