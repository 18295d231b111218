#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

#include "actors/replication/replication_progress.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/oplog/truncate_after_point.hpp"
#include "test/unit/actors/commands/replicated_member_fixture.hpp"

namespace troupe::commands {
using namespace server;

// RBK-005: what others have read of its log may not be there any more.
TEST_F(ReplicatedMemberTest, AStartThatFindsNoOrderlyEndMovesTheRollbackId) {
  const auto idOf = [](CommandNode& node) {
    const int64_t id = node.run(R"({"replSetGetRBID": 1})"_json, "admin")["rbid"].toInt64();
    EXPECT_EQ(node.run(R"({"serverStatus": 1})"_json, "admin").view().at("repl.rbid").toInt64(), id);
    return id;
  };
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  EXPECT_EQ(idOf(first), 1);
  CommandNode second(member(first.engine->disk(), 2));
  EXPECT_EQ(idOf(second), 2);
  CommandNode third(member(second.engine->disk(), 3));
  EXPECT_EQ(idOf(third), 3) << "a kill right after the start finds the id of before on the disk";
  ASSERT_TRUE(third.assembly.endOfLog()->set({}).isOK());  // as a stop in order does
  ASSERT_TRUE(third.engine->flushLog().isOK());
  CommandNode fourth(member(third.engine->disk(), 4));
  EXPECT_EQ(idOf(fourth), 3);
}

// RBK-005, REC-005: what others have read since its start need not be on the disk, and an entry may be there without
// those before it.
TEST_F(ReplicatedMemberTest, AKillBeforeTheFirstFlushOfAStartIsNoOrderlyEnd) {
  const auto idOf = [](CommandNode& node) {
    return node.run(R"({"replSetGetRBID": 1})"_json, "admin")["rbid"].toInt64();
  };
  CommandNode first(member({}, 1));
  becomePrimary(first);
  ASSERT_TRUE(write(first, 1).isOK());
  ASSERT_TRUE(first.assembly.endOfLog()->set({}).isOK());  // as a stop in order does
  ASSERT_TRUE(first.engine->flushLog().isOK());
  CommandNode second(member(first.engine->disk(), 2));
  EXPECT_EQ(idOf(second), idOf(first)) << "it was stopped in order";
  EXPECT_EQ(second.assembly.endOfLog()->get(), second.server->operations.replicated->visibility.get());
  ASSERT_TRUE(second.engine->flushLog().isOK());  // the system wrote the journal, not the flusher
  CommandNode third(member(second.engine->disk(), 3));
  EXPECT_EQ(idOf(third), idOf(second) + 1);
}

/// The disk of a member with two documents, as of a stable checkpoint.
class MembersDataTest : public ReplicatedMemberTest {
 protected:
  MembersDataTest() {
    becomePrimary(first);
    EXPECT_TRUE(write(first, 1).isOK());
    EXPECT_TRUE(write(first, 2).isOK());
    first.node.advance(1s);
    EXPECT_TRUE(first.engine->checkpoint({.stable = true}).isOK());
    disk = first.engine->disk();
    begin = first.run(R"({"find": "oplog.rs", "limit": 1})"_json, "local")
                .view()
                .at("cursor.firstBatch.0.ts")
                .asTimestamp();
    EXPECT_GT(disk.recoveryTimestamp, begin);
  }

  CommandNode first{member({}, 1)};
  storage::DeterministicDisk disk;
  bson::Timestamp begin;  ///< of the log
};

// REC-002: as of the log's beginning they would be later than they are said to be.
TEST_F(MembersDataTest, ThoseOfAnUnknownTimeBeginWithTheEndOfTheLog) {
  disk.recoveryTimestamp = {};  // as after a full checkpoint
  CommandNode second(member(disk, 2));
  const bson::Timestamp end = second.server->operations.replicated->visibility.get();
  EXPECT_GT(end, begin);
  EXPECT_EQ(second.engine->initialDataTimestamp(), end);
  EXPECT_EQ(second.engine->oldestTimestamp(), end) << "there is no history";
  EXPECT_EQ(second.engine->disk().recoveryTimestamp, end) << "a checkpoint holds them before anybody is served";
  EXPECT_EQ(count(second), 2);
  CommandNode third(member(second.engine->disk(), 3));
  EXPECT_EQ(count(third), 2);
  untilPrimary(third);
  ASSERT_TRUE(write(third, 3).isOK());
}

TEST_F(MembersDataTest, ThoseOfAFounderWithoutACheckpointBeginWithItsLog) {  // CKP-002
  disk.recoveryTimestamp = {};
  for (auto& [ident, table] : disk.tables)
    if (!table.options.logged) table.rows.clear();
  CommandNode second(member(disk, 2));
  EXPECT_EQ(count(second), 2);
  EXPECT_EQ(second.engine->initialDataTimestamp(), begin);
}

TEST_F(MembersDataTest, ALookWithoutTheSetKeepsTheirTime) {
  CommandNode alone({.disk = disk, .name = "n1:1", .time = std::make_shared<VirtualEnvironment>(2)});
  EXPECT_EQ(count(alone), 2);
  ASSERT_TRUE(alone.run(R"({"insert": "mine", "documents": [{"_id": 1}]})"_json, "local")["ok"].truthy());
  ASSERT_TRUE(alone.run(R"({"fsync": 1})"_json, "admin")["ok"].truthy());
  alone.node.advance(61s);
  EXPECT_EQ(alone.engine->disk().recoveryTimestamp, disk.recoveryTimestamp);
  CommandNode again(member(alone.engine->disk(), 3));
  EXPECT_EQ(again.engine->initialDataTimestamp(), disk.recoveryTimestamp);
  EXPECT_EQ(count(again), 2);
  EXPECT_EQ(again.catalog->find({"local", "mine"})->records().count(), 1);
}

/// The log of the set that it founds begins later than that of the set it has left.
TEST_F(MembersDataTest, ThoseOfANodeThatHasLeftItsSetHaveNone) {
  CommandNode alone({.disk = disk, .name = "n1:1", .time = std::make_shared<VirtualEnvironment>(2)});
  ASSERT_TRUE(alone.run(R"({"dropDatabase": 1, "writeConcern": {"w": 1, "j": true}})"_json, "local")["ok"].truthy());
  CommandNode founder(member(alone.engine->disk(), 3));
  EXPECT_EQ(founder.engine->disk().recoveryTimestamp, bson::Timestamp());
  becomePrimary(founder);
  ASSERT_TRUE(write(founder, 3).isOK());
  CommandNode afterAKill(member(founder.engine->disk(), 4));
  EXPECT_EQ(count(afterAKill), 3);
}

/// Every other start would meet the same, at whichever step it reads the entry.
TEST_F(MembersDataTest, AnEntryThatIsNoneNeedsAnOperator) {
  const auto startOn = [](storage::DeterministicDisk left) -> std::string {
    left.tables.at(std::string(storage::OplogStore::kIdent)).rows.rbegin()->second = bson::Document().bytes();
    try {
      CommandNode second(member(std::move(left), 2));
      return "it started";
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
  };
  EXPECT_THAT(startOn(disk), ::testing::HasSubstr("ManualInterventionRequired")) << "the data are as new as the log";
  ASSERT_TRUE(write(first, 3).isOK());
  EXPECT_THAT(startOn(first.engine->disk()), ::testing::HasSubstr("ManualInterventionRequired")) << "it is replayed";
}

}  // namespace troupe::commands
