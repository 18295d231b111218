#include "actors/maintenance/checkpointer.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using bson::operator""_json;
using DiskOperation = storage::DeterministicEngine::DiskOperation;

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() : CheckpointerTest(commands::CommandNode::Options{}) {}
  explicit CheckpointerTest(commands::CommandNode::Options options) : server(std::move(options)) {
    server.engine->setDiskFault([this](DiskOperation operation) {
      checkpoints += operation == DiskOperation::kCheckpoint;
      return operation == DiskOperation::kCheckpoint ? fault : Status::OK();
    });
  }
  void insert(int id) {
    bson::Builder b;
    b.append("insert", "c").openArray("documents").push(bson::doc("_id", id)).close();
    ASSERT_TRUE(server.run(b.finish())["ok"].truthy());
  }

  commands::CommandNode server;
  const Address checkpointer = server.node.address(supervisors::kCheckpointerPath);
  int checkpoints = 0;
  Status fault;
};

TEST_F(CheckpointerTest, TakesOneEachPeriodInWhichSomethingWasWritten) {
  insert(1);
  server.node.advance(59s);
  EXPECT_EQ(checkpoints, 0);
  server.node.advance(2s);
  EXPECT_EQ(checkpoints, 1);
  insert(2);
  server.node.advance(61s);
  EXPECT_EQ(checkpoints, 2);
}

TEST_F(CheckpointerTest, TakesNoneWhileNothingIsWritten) {
  server.node.advance(10min);
  EXPECT_EQ(checkpoints, 0);
}

TEST_F(CheckpointerTest, TakesOneAtOnceWhenAsked) {
  insert(1);
  server.node.tell(checkpointer, local(CheckpointNow{}));
  server.node.run();
  EXPECT_EQ(checkpoints, 1);
}

TEST_F(CheckpointerTest, AChangedPeriodHoldsSoon) {
  insert(1);
  server.parameters.syncPeriodSeconds = 5;
  server.node.advance(7s);
  EXPECT_EQ(checkpoints, 1);
}

TEST_F(CheckpointerTest, KeepsTheSizesOfCollections) {
  insert(1);
  insert(2);
  server.node.advance(61s);
  commands::CommandNode after({.disk = server.engine->disk()});
  EXPECT_TRUE(commands::holds(after.run(R"({"count": "c"})"_json), R"({"n": 2})"_json));
}

/// A member of a replica set; its writes carry times.
class MemberCheckpointerTest : public CheckpointerTest {
 protected:
  MemberCheckpointerTest() : CheckpointerTest(member({})) {
    writeAt(1, [&](auto& unit) { return storage::createCollection(*server.catalog, unit, kName, {}).status(); });
  }
  static commands::CommandNode::Options member(storage::DeterministicDisk disk) {
    return {.disk = std::move(disk), .replicated = true, .name = "n1:1", .replicaSet = "rs"};
  }
  static storage::Timestamp at(uint64_t ts) { return storage::Timestamp::fromUint64(ts); }
  template <class Body>
  void writeAt(uint64_t ts, const Body& body) {
    storage::OperationContext applier({.sessions = server.storageSessions}, storage::OperationOrigin::kApplier);
    applier.setWriteMode(storage::WriteMode::kApplied);
    storage::RecoveryUnit& unit = applier.recoveryUnit();
    storage::WriteUnitOfWork work(unit);
    ASSERT_TRUE(unit.setCommitTimestamp(at(ts)).isOK());
    ASSERT_TRUE(body(unit).isOK());
    ASSERT_TRUE(work.commit().isOK());
    server.durability.take();
  }
  void insertAt(int id, uint64_t ts) {
    writeAt(ts, [&](auto& unit) { return server.catalog->find(kName)->insert(unit, bson::doc("_id", id)).status(); });
  }
  void checkpointNow() {
    server.node.tell(checkpointer, local(CheckpointNow{}));
    server.node.run();
  }
  /// The disk as a kill at this moment would leave it.
  storage::Timestamp recovered() const { return server.engine->disk().recoveryTimestamp; }
  int64_t documentsAfterAKill() {
    commands::CommandNode after(member(server.engine->disk()));
    storage::RecoveryUnit unit(after.storageSessions);
    auto cursor = after.catalog->find(kName)->records().cursor(unit);
    EXPECT_TRUE(cursor.isOK()) << cursor.status().toString();
    int64_t count = 0;
    while (*cursor->next()) ++count;
    return count;
  }

  const storage::Namespace kName{"test", "c"};
};

TEST_F(MemberCheckpointerTest, TakesTheDataOfTheStableTimeAndAKillRecoversThem) {
  insertAt(1, 10);
  insertAt(2, 20);
  insertAt(3, 30);
  server.engine->setInitialDataTimestamp(at(10));
  ASSERT_TRUE(server.engine->setStableTimestamp(at(25)).isOK());
  server.node.advance(61s);
  EXPECT_EQ(recovered(), at(25));
  EXPECT_EQ(documentsAfterAKill(), 2);
  ASSERT_TRUE(server.engine->setStableTimestamp(at(30)).isOK());
  server.node.advance(61s);  // nothing was written since, but more is stable
  EXPECT_EQ(recovered(), at(30));
  EXPECT_EQ(documentsAfterAKill(), 3);
}

TEST_F(MemberCheckpointerTest, TakesFullOnesDuringInitialSync) {
  insertAt(1, 10);
  insertAt(2, 20);
  ASSERT_TRUE(server.engine->setStableTimestamp(at(10)).isOK());
  checkpointNow();
  EXPECT_EQ(recovered(), at(0));
  EXPECT_EQ(documentsAfterAKill(), 2);
}

TEST_F(MemberCheckpointerTest, AFullOneFreesTheTablesThatWereDroppedDuringInitialSync) {
  const std::string ident = server.catalog->find(kName)->ident();
  const auto isThere = [&] { return server.engine->disk().tables.contains(ident); };
  server.catalog->engine().beginCopy();
  insertAt(1, 10);
  checkpointNow();
  writeAt(20, [&](auto& unit) { return storage::dropCollection(*server.catalog, unit, server.catalog->find(kName)); });
  server.node.advance(2s);
  EXPECT_TRUE(isThere()) << "a kill would bring its row back";
  checkpointNow();
  server.node.advance(2s);
  EXPECT_FALSE(isThere());
}

/// It has the row of the dropped collection: a start that finds no table for it fails.
TEST_F(MemberCheckpointerTest, AStableOneBesideWhichACopyBeginsFreesNothing) {
  const std::string ident = server.catalog->find(kName)->ident();
  const auto isThere = [&] { return server.engine->disk().tables.contains(ident); };
  insertAt(1, 10);
  server.engine->setInitialDataTimestamp(at(5));
  writeAt(20, [&](auto& unit) { return storage::dropCollection(*server.catalog, unit, server.catalog->find(kName)); });
  ASSERT_TRUE(server.engine->setStableTimestamp(at(15)).isOK());
  server.engine->setDiskFault([&](DiskOperation operation) {
    if (operation == DiskOperation::kCheckpoint) server.engine->beginCopy();
    return Status::OK();
  });
  checkpointNow();
  ASSERT_TRUE(server.engine->isCopying());
  EXPECT_EQ(recovered(), at(15));
  server.node.advance(2s);
  EXPECT_TRUE(isThere());
  EXPECT_EQ(documentsAfterAKill(), 1);
  checkpointNow();
  server.node.advance(2s);
  EXPECT_FALSE(isThere()) << "a full one holds the drop";
}

TEST_F(MemberCheckpointerTest, TakesNoneBeforeTheDataAreConsistent) {
  insertAt(1, 10);
  server.engine->setInitialDataTimestamp(at(20));
  ASSERT_TRUE(server.engine->setStableTimestamp(at(15)).isOK());
  const int before = checkpoints;
  checkpointNow();
  EXPECT_TRUE(server.run(R"({"fsync": 1})"_json, "admin")["ok"].truthy());
  EXPECT_EQ(checkpoints, before);
}

TEST_F(MemberCheckpointerTest, FsyncTakesAStableOneToo) {
  insertAt(1, 10);
  insertAt(2, 20);
  server.engine->setInitialDataTimestamp(at(5));
  ASSERT_TRUE(server.engine->setStableTimestamp(at(10)).isOK());
  EXPECT_TRUE(server.run(R"({"fsync": 1})"_json, "admin")["ok"].truthy());
  EXPECT_EQ(recovered(), at(10));
  EXPECT_EQ(documentsAfterAKill(), 1);
}

TEST_F(CheckpointerTest, OneThatFailsIsTriedAgainAfterSeconds) {
  insert(1);
  fault = {ErrorCode::kOutOfDiskSpace, "the disk is full"};
  server.node.advance(62s);
  EXPECT_EQ(checkpoints, 1);
  server.node.advance(6s);
  EXPECT_EQ(checkpoints, 2);
  const auto row = server.node.registry().row(supervisors::kCheckpointerPath);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->restarts, 0) << "that would take the other actors of storage with it";
  EXPECT_EQ(server.server->counters.failedCheckpoints, 2);
  fault = Status::OK();
  server.node.advance(6s);
  EXPECT_EQ(checkpoints, 3);
  server.node.advance(50s);
  EXPECT_EQ(checkpoints, 3) << "that one was taken";
}

TEST_F(CheckpointerTest, OneThatWasAskedForIsNotForgottenWithAFailure) {
  server.parameters.syncPeriodSeconds = 0;
  fault = {ErrorCode::kOutOfDiskSpace, "the disk is full"};
  server.node.tell(checkpointer, local(CheckpointNow{}));
  server.node.run();
  EXPECT_EQ(checkpoints, 1);
  fault = Status::OK();
  server.node.advance(7s);
  EXPECT_EQ(checkpoints, 2);
}

}  // namespace troupe::maintenance
