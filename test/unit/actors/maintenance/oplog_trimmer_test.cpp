#include "actors/maintenance/oplog_trimmer.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using bson::operator""_json;
using namespace std::chrono_literals;

class OplogTrimmerTest : public commands::CommandTest {
 protected:
  static constexpr int64_t kLimit = 100'000;
  static commands::CommandNode::Options member() {
    return {.name = "n1:1", .replicaSet = "rs", .oplog = {.maxBytes = kLimit}};
  }
  explicit OplogTrimmerTest(const commands::CommandNode::Options& options = member()) : CommandTest(options) {
    server.server->operations.replicated->fence.open(1);
    storage::OperationContext operation(server.server->operations);
    storage::HeldLock lock = collectionLock(operation, ns, storage::LockMode::kX);
    EXPECT_TRUE(lock.tryAcquire());
    storage::WriteUnitOfWork work(operation.recoveryUnit());
    EXPECT_TRUE(storage::createCollection(*server.catalog, operation.recoveryUnit(), ns, {}).isOK());
    EXPECT_TRUE(work.commit().isOK());
  }
  /// Each entry takes about a kilobyte.
  void write(int count) {
    for (int i = 0; i < count; ++i) {
      storage::OperationContext operation(server.server->operations);
      storage::HeldLock lock = collectionLock(operation, ns, storage::LockMode::kIX);
      ASSERT_TRUE(lock.tryAcquire());
      storage::WriteUnitOfWork work(operation.recoveryUnit());
      const auto document = bson::doc("_id", ++last_, "filling", std::string(900, 'x'));
      ASSERT_TRUE(server.catalog->find(ns)->insert(operation.recoveryUnit(), document).isOK());
      ASSERT_TRUE(work.commit().isOK());
    }
  }
  /// What a start would begin its replay with: no earlier entry is needed.
  void takeCheckpoint() {
    ASSERT_TRUE(server.engine->setStableTimestamp(server.server->operations.replicated->slots.newest()).isOK());
    ASSERT_TRUE(server.engine->checkpoint({.stable = true}).isOK());
  }
  static int64_t entries(commands::CommandNode& node) {
    return node.run(R"({"count": "oplog.rs"})"_json, "local")["n"].toInt64();
  }

  const storage::Namespace ns{"config", "things"};
  int last_ = 0;
};

// TRN-005
TEST_F(OplogTrimmerTest, TheOldestEntriesGoWhenTheLogHasOutgrownItsSize) {
  write(300);
  EXPECT_EQ(entries(server), 301);
  takeCheckpoint();
  server.node.advance(2s);
  EXPECT_LE(entries(server), 120);
  EXPECT_GE(entries(server), 80);
  const auto status = server.run(R"({"serverStatus": 1})"_json, "admin");  // TRN-001
  EXPECT_GE(status.view().at("oplogTruncation.truncateCount").toInt64(), 1);
  EXPECT_TRUE(status.view().at("oplogTruncation.totalTimeTruncatingMicros").ok());
  const auto newest = server.run(R"({"find": "oplog.rs", "sort": {"$natural": -1}, "limit": 1})"_json, "local");
  EXPECT_TRUE(commands::holds(newest, R"({"cursor": {"firstBatch": [{"o": {"_id": 300}}]}})"_json));
}

class OplogRetentionTest : public OplogTrimmerTest {
 protected:
  OplogRetentionTest() : OplogTrimmerTest(keeping(1h)) {}
  static commands::CommandNode::Options keeping(std::chrono::milliseconds retention) {
    auto options = member();
    options.oplog.minRetentionMillis = retention.count();
    return options;
  }
};

TEST_F(OplogRetentionTest, EntriesStayForTheLeastRetentionHoweverLargeTheLogIs) {  // TRN-007
  write(300);
  takeCheckpoint();
  server.node.advance(59min);
  EXPECT_GE(entries(server), 301);
  takeCheckpoint();
  server.node.advance(2min);
  EXPECT_LE(entries(server), 120);
}

// RBK-020
TEST_F(OplogTrimmerTest, NothingGoesWhileARollbackHasTakenStorageDown) {
  storage::BackgroundGate& gate = server.server->operations.replicated->background;
  bool isEmpty = false;
  gate.close([&] { isEmpty = true; });
  EXPECT_TRUE(isEmpty);
  write(300);
  takeCheckpoint();
  server.node.advance(2s);
  EXPECT_EQ(entries(server), 301);
  gate.open();
  server.node.advance(2s);
  EXPECT_LE(entries(server), 120);
}

// TRN-004
TEST_F(OplogTrimmerTest, EntriesOfAnEarlierLifeGoToo) {
  write(300);
  takeCheckpoint();
  ASSERT_TRUE(server.engine->flushLog().isOK());
  auto options = member();
  options.disk = server.engine->disk();
  commands::CommandNode again(options);
  again.node.advance(3s);
  EXPECT_LE(entries(again), 120);
}

// TRN-006: a start after a crash replays the log from the last checkpoint on.
TEST_F(OplogTrimmerTest, WhatAReplayNeedsStays) {
  write(300);
  server.node.advance(2s);
  EXPECT_EQ(entries(server), 301) << "there is no stable checkpoint";
  takeCheckpoint();
  write(1);
  server.node.advance(2s);
  EXPECT_LE(entries(server), 121);
  EXPECT_GE(entries(server), 2) << "the checkpoint's and the one behind it";
}

// TRN-006: the checkpoint has nothing of the transaction, a start decides it by the entry of its prepare.
TEST_F(OplogTrimmerTest, WhatAPreparedTransactionNeedsStays) {
  storage::PreparedTimes& prepared = server.storageSessions.preparedTimes();
  write(50);
  const auto transaction = prepared.add(server.server->operations.replicated->slots.newest());
  write(250);
  takeCheckpoint();
  server.node.advance(2s);
  EXPECT_GE(entries(server), 251);
  write(1);
  prepared.decide(transaction, server.server->operations.replicated->slots.newest());
  server.node.advance(2s);
  EXPECT_GE(entries(server), 252) << "the decision is later than the checkpoint";
  takeCheckpoint();
  server.node.advance(2s);
  EXPECT_LE(entries(server), 120);
}

}  // namespace troupe::maintenance
