// A rollback that has taken storage down: SRC-008, RBK-020.
#include "actors/maintenance/checkpointer.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "test/unit/actors/replication/rollback_fixture.hpp"

namespace troupe::replication {
namespace {

/// Holds a rollback where storage is down: the engine is busy as long as a transaction is open.
class StorageDownTest : public RollbackActorTest {
 protected:
  StorageDownTest() {
    common = leaveLogsHere();
    stableAt(common);
    insert(2);
    busy = std::make_unique<storage::OperationContext>(storage::OperationServices{.sessions = server.storageSessions});
    work = std::make_unique<storage::WriteUnitOfWork>(busy->recoveryUnit());
    const auto table = server.engine->openTable(storage::SizeStorer::kIdent);
    auto cursor = busy->recoveryUnit().cursor(*table);
    EXPECT_TRUE((*cursor)->put("key", "value").isOK());
    cursor->reset();
    diverge();
    EXPECT_EQ(phase(), "rolling back");
  }
  ~StorageDownTest() override { endTransaction(); }
  void endTransaction() {
    work.reset();
    busy.reset();
  }
  void goOn() {
    endTransaction();
    for (int i = 0; i < 50; ++i) server.node.advance(10ms);
  }

  OpTime common;
  std::unique_ptr<storage::OperationContext> busy;
  std::unique_ptr<storage::WriteUnitOfWork> work;
};

TEST_F(StorageDownTest, ItIsTriedAgainUntilTransactionsHaveEnded) {
  goOn();
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(found(), ElementsAre(1));
}

// RBK-020, SRC-008: background work passes its turns, and goes on afterwards.
TEST_F(StorageDownTest, BackgroundWorkPausesAndGoesOn) {
  int checkpoints = 0, flushes = 0;
  using Disk = storage::DeterministicEngine::DiskOperation;
  server.engine->setDiskFault([&](Disk operation) {
    ++(operation == Disk::kCheckpoint ? checkpoints : flushes);
    return Status::OK();
  });
  server.parameters.scrubberSleepSecs = 1;
  const int64_t scrubbed = server.server->counters.scrubbedTables.load();
  server.durability.take();
  server.node.tell(server.flusher, local(maintenance::FlushNow{}));
  server.node.tell(server.node.address(supervisors::kCheckpointerPath), local(maintenance::CheckpointNow{}));
  const auto asked = server.begin(R"({"fsync": 1})"_json, "admin");
  server.node.advance(5s);
  ASSERT_TRUE(asked->done);
  EXPECT_EQ(asked->takeReply()["code"].asInt32(), static_cast<int>(ErrorCode::kInterruptedDueToReplStateChange));
  EXPECT_EQ(checkpoints, 0);
  EXPECT_EQ(flushes, 0);
  EXPECT_EQ(server.server->counters.scrubbedTables.load(), scrubbed);
  EXPECT_EQ(server.assembly.endOfLog()->get(), common.timestamp) << "the flusher has not moved it";
  goOn();
  server.node.advance(61s);
  EXPECT_GT(checkpoints, 0);
  EXPECT_GT(flushes, 0);
  EXPECT_GT(server.server->counters.scrubbedTables.load(), scrubbed);
  EXPECT_EQ(server.durability.durable(), server.durability.taken());
}

// RBK-002: commands that look for collections without a lock fail like those that wait for one.
TEST_F(StorageDownTest, CommandsFailAndTheNodeGoesOn) {
  const auto waiting = server.begin(R"({"find": "c", "maxTimeMS": 100})"_json);
  server.node.advance(200ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].asInt32(), static_cast<int>(ErrorCode::kMaxTimeMSExpired));
  for (const char* command :
       {R"({"renameCollection": "test.c", "to": "test.d", "maxTimeMS": 100})",
        R"({"collMod": "c", "validator": {}, "maxTimeMS": 100})",
        R"({"convertToCapped": "c", "size": 4096, "maxTimeMS": 100})",
        R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}], "maxTimeMS": 100})",
        R"({"insert": "new", "documents": [{"_id": 1}], "maxTimeMS": 100})", R"({"drop": "c", "maxTimeMS": 100})",
        R"({"dropDatabase": 1, "maxTimeMS": 100})",
        R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}], "maxTimeMS": 100})"}) {
    const bool ofAdmin = std::string_view(command).find("renameCollection") != std::string_view::npos;
    const auto exchange = server.begin(bson::fromJson(command).value(), ofAdmin ? "admin" : "test");
    for (int i = 0; i < 30 && !exchange->done; ++i) server.node.advance(10ms);
    ASSERT_TRUE(exchange->done) << command;
    const auto reply = exchange->takeReply();
    const int32_t code = reply["code"].ok() ? reply["code"].asInt32() : 0;
    EXPECT_TRUE(code == static_cast<int>(ErrorCode::kInterruptedDueToReplStateChange) ||
                code == static_cast<int>(ErrorCode::kMaxTimeMSExpired))
        << command << bson::toRelaxedJson(reply);
  }
  goOn();
  EXPECT_THAT(found(), ElementsAre(1));
  insert(9);
  EXPECT_THAT(found(), ElementsAre(1, 9));
}

// SRC-008, REC-005: a flush would move the end of the log, at which the next start cuts it, back behind what is undone.
TEST_F(StorageDownTest, AStopLeavesBackgroundWorkOutside) {
  server.durability.take();
  server.node.kill(actor, Status(ErrorCode::kInterruptedAtShutdown, "a test"));
  server.node.tell(server.flusher, local(maintenance::FlushNow{}));
  server.node.advance(500ms);
  EXPECT_FALSE(server.server->operations.replicated->background.isOpen());
  EXPECT_EQ(server.assembly.endOfLog()->get(), common.timestamp);
  storage::Locker next(server.locks);
  EXPECT_TRUE(next.tryAcquire(ResourceId::global(), LockMode::kX)) << "the shutdown waits for it";
}

// An operator's restart of it, say: its next life would find no storage.
TEST_F(StorageDownTest, AStopByAnOperatorEndsTheNode) {
  server.node.requestStop(actor);
  server.node.advance(10ms);
  EXPECT_THAT(failures, ElementsAre("the rollback was stopped half way"));
}

// RBK-005, RBK-011: what is on the disk at that moment makes the next start end at the common point.
TEST_F(StorageDownTest, ANodeThatDiesHereStartsAtTheCommonPoint) {
  CommandNode again({.disk = server.engine->disk(), .replicated = true, .name = "n1:1", .replicaSet = "rs"});
  EXPECT_EQ(again.assembly.oplog()->visibility().get(), common.timestamp);
  commands::untilPrimary(again);
  again.node.run();
  EXPECT_THAT(found(again), ElementsAre(1));
  const auto id = RollbackStore(again.assembly.storageAccess()).read();
  ASSERT_TRUE(id.isOK());
  EXPECT_EQ(id->value.rollbackId, 3) << "that of the rollback, and of a start that finds no orderly end";
}

}  // namespace
}  // namespace troupe::replication
