// Promises of the in-memory engine beyond the contract.
#include "storage/engine/deterministic_engine.hpp"

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

TEST(DeterministicEngine, ADiskIsAValueWithManyFutures) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  ASSERT_TRUE(Transaction(*engine, table).put("k", "1").commit().isOK());
  ASSERT_TRUE(engine->flushLog().isOK());
  const DeterministicDisk disk = engine->crash();
  auto one = DeterministicEngine::open(disk);
  auto other = DeterministicEngine::open(disk);
  ASSERT_TRUE(Transaction(*one, *one->openTable("t")).put("k", "2").commit().isOK());
  EXPECT_EQ(Transaction(*other, *other->openTable("t")).read("k"), "1");
}

TEST(DeterministicEngine, AfterACrashEverythingAnswersShutdown) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  auto session = std::move(engine->openSession()).value();
  ASSERT_TRUE(session->begin().isOK());
  auto cursor = std::move(session->cursor(table)).value();
  ASSERT_TRUE(cursor->put("k", "v").isOK());
  EXPECT_TRUE(engine->crash().tables.at("t").rows.empty());
  EXPECT_EQ(cursor->seek("k").status().code(), ErrorCode::kShutdownInProgress);
  EXPECT_EQ(session->commit().code(), ErrorCode::kShutdownInProgress);
  EXPECT_EQ(engine->openSession().status().code(), ErrorCode::kShutdownInProgress);
  EXPECT_EQ(engine->flushLog().code(), ErrorCode::kShutdownInProgress);
  engine.reset();
  cursor.reset();
  session.reset();  // outlives its engine
}

TEST(DeterministicEngine, AFailedFlushOrCheckpointWritesNothing) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  ASSERT_TRUE(Transaction(*engine, table).put("k", "1").commit().isOK());
  engine->setDiskFault([](DeterministicEngine::DiskOperation operation) {
    return operation == DeterministicEngine::DiskOperation::kFlushLog ? Status(ErrorCode::kOutOfDiskSpace, "full")
                                                                      : Status(ErrorCode::kOperationFailed, "broken");
  });
  EXPECT_EQ(engine->flushLog().code(), ErrorCode::kOutOfDiskSpace);
  EXPECT_EQ(engine->checkpoint().status().code(), ErrorCode::kOperationFailed);
  EXPECT_TRUE(engine->disk().tables.at("t").rows.empty());
  engine->setDiskFault({});
  EXPECT_TRUE(engine->flushLog().isOK());
  EXPECT_EQ(engine->disk().tables.at("t").rows.at("k"), "1");
}

TEST(DeterministicEngine, AStableCheckpointLeavesOutNewerTransactionsWhole) {
  auto engine = DeterministicEngine::open();
  const Table a = *engine->createTable("a", {.logged = false});
  const Table b = *engine->createTable("b", {.logged = false});
  for (uint64_t ts : {10, 20}) {
    auto session = std::move(engine->openSession()).value();
    ASSERT_TRUE(session->begin().isOK());
    ASSERT_TRUE(session->setCommitTimestamp(at(ts)).isOK());
    ASSERT_TRUE((*session->cursor(a))->put("k", std::to_string(ts)).isOK());
    ASSERT_TRUE((*session->cursor(b))->put("k", std::to_string(ts)).isOK());
    ASSERT_TRUE(session->commit().isOK());
  }
  ASSERT_TRUE(engine->setStableTimestamp(at(15)).isOK());
  ASSERT_TRUE(engine->checkpoint().isOK());
  EXPECT_EQ(engine->disk().tables.at("a").rows.at("k"), "10");
  EXPECT_EQ(engine->disk().tables.at("b").rows.at("k"), "10");
  ASSERT_TRUE(engine->setStableTimestamp(at(20)).isOK());
  ASSERT_TRUE(engine->checkpoint().isOK());  // nothing was written since, yet more is stable
  EXPECT_EQ(engine->disk().tables.at("a").rows.at("k"), "20");
}

TEST(DeterministicEngine, AChangedTableIsDroppedOnlyAfterACheckpoint) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  ASSERT_TRUE(Transaction(*engine, table).put("k", "1").commit().isOK());
  EXPECT_EQ(engine->dropTable("t").code(), ErrorCode::kObjectIsBusy);
  ASSERT_TRUE(engine->checkpoint().isOK());
  EXPECT_TRUE(engine->dropTable("t").isOK());
}

}  // namespace
}  // namespace troupe::storage
