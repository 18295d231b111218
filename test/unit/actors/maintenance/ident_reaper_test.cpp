#include "actors/maintenance/ident_reaper.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;

class IdentReaperTest : public commands::CommandTest {};

TEST_F(IdentReaperTest, DropsTheTablesOfADroppedCollectionByItself) {
  fill("c", 5);
  const std::string ident = server.catalog->find(storage::Namespace("test", "c"))->ident();
  ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
  EXPECT_GT(server.catalog->reaper().size(), 0u);
  EXPECT_TRUE(server.engine->disk().tables.contains(ident));
  server.node.advance(3s);
  EXPECT_EQ(server.catalog->reaper().size(), 0u);
  EXPECT_FALSE(server.engine->disk().tables.contains(ident));
}

/// A member of a replica set, whose schema changes carry times.
class MemberReaperTest : public commands::CommandTest {
 protected:
  MemberReaperTest() : CommandTest(member({})) {
    changeAt(10, [&](auto& unit) {
      return storage::createCollection(*server.catalog, unit, storage::Namespace("test", "c"), {}).status();
    });
    ident = found()->ident();
    checkpointAt(15);
    changeAt(20, [&](auto& unit) { return storage::dropCollection(*server.catalog, unit, found()); });
  }
  static commands::CommandNode::Options member(storage::DeterministicDisk disk) {
    return {.disk = std::move(disk), .replicated = true, .name = "n1:1", .replicaSet = "rs"};
  }
  storage::CollectionPtr found() const { return server.catalog->find(storage::Namespace("test", "c")); }
  static storage::Timestamp at(uint64_t ts) { return storage::Timestamp::fromUint64(ts); }
  template <class Body>
  void changeAt(uint64_t time, const Body& body) {
    storage::OperationContext applier({.sessions = server.storageSessions}, storage::OperationOrigin::kApplier);
    applier.setWriteMode(storage::WriteMode::kApplied);
    storage::RecoveryUnit& unit = applier.recoveryUnit();
    storage::WriteUnitOfWork work(unit);
    ASSERT_TRUE(unit.setCommitTimestamp(at(time)).isOK());
    ASSERT_TRUE(body(unit).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  void moveTo(uint64_t stable, uint64_t oldest) {
    ASSERT_TRUE(server.engine->setStableTimestamp(at(stable)).isOK());
    ASSERT_TRUE(server.engine->setOldestTimestamp(at(oldest)).isOK());
  }
  void checkpointAt(uint64_t stable) {
    ASSERT_TRUE(server.engine->setStableTimestamp(at(stable)).isOK());
    ASSERT_TRUE(server.engine->checkpoint().isOK());
  }
  bool isThere() const { return server.engine->disk().tables.contains(ident); }

  std::string ident;
};

TEST_F(MemberReaperTest, KeepsATableUntilACheckpointHoldsItsDrop) {
  moveTo(30, 30);
  server.node.advance(5s);
  EXPECT_TRUE(isThere()) << "the last checkpoint is that of 15, and knows the collection";
  commands::CommandNode afterAKill(member(server.engine->disk()));
  EXPECT_TRUE(afterAKill.catalog->find(storage::Namespace("test", "c")));
  checkpointAt(30);
  server.node.advance(5s);
  EXPECT_FALSE(isThere());
}

TEST_F(MemberReaperTest, KeepsATableWhileItsHistoryCanBeRead) {
  checkpointAt(30);
  moveTo(30, 20);
  server.node.advance(5s);
  EXPECT_TRUE(isThere()) << "the drop is not older than the oldest time";
  moveTo(30, 21);
  server.node.advance(5s);
  EXPECT_FALSE(isThere());
}

// RBK-020
TEST_F(MemberReaperTest, WaitsWhileARollbackHasTakenStorageDown) {
  storage::BackgroundGate& gate = server.server->operations.replicated->background;
  checkpointAt(30);
  gate.close([] {});
  moveTo(30, 30);
  server.node.advance(5s);
  EXPECT_TRUE(isThere());
  gate.open();
  server.node.advance(5s);
  EXPECT_FALSE(isThere());
}

TEST_F(MemberReaperTest, ForgetsNamesThatOnlyOlderReadsWouldNeed) {
  EXPECT_EQ(server.catalog->snapshot()->historySize(), 2u) << "a name and a UUID";
  moveTo(30, 19);
  server.node.advance(5s);
  EXPECT_EQ(server.catalog->snapshot()->historySize(), 2u);
  moveTo(30, 20);
  server.node.advance(5s);
  EXPECT_EQ(server.catalog->snapshot()->historySize(), 0u);
}

}  // namespace troupe::maintenance
