// The log of operations as a reader of committed data finds it: nothing beyond the commit point, whatever is visible.
#include <gmock/gmock.h>

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kMajority = R"({"level": "majority"})";

/// The only member of a set: what it writes is committed when it is durable, which the tests hold back.
class MajorityLogTest : public CommandTest {
 protected:
  MajorityLogTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    EXPECT_TRUE(succeeds(R"({"create": "c"})"));
    insert(1);
    server.node.advance(1s);
  }

  void holdCommits() { commands::holdCommits(server); }
  void letCommit() { commands::letCommit(server); }
  void insert(int id, const char* into = "c", std::string_view db = "test") {
    const bson::Document reply = server.run(
        bson::doc("insert", into, "documents", std::vector{bson::doc("_id", id)}, "writeConcern", bson::doc("w", 1)),
        db);
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  static bson::Document majority(std::string_view command) {
    return with(command, bson::doc("readConcern", parse(kMajority)));
  }
  /// `_id`s of the inserts whose entries are in the batch.
  static std::vector<int64_t> inserted(const bson::Document& reply, const char* batch = "cursor.firstBatch") {
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::vector<int64_t> ids;
    const auto entries = reply.view().at(batch);
    if (!entries.is(bson::Type::kArray)) return ids;
    for (const bson::Element& each : entries.asArray()) {
      const bson::View entry = each.asDocument();
      if (entry["op"].toStringOr() == "i" && entry["ns"].toStringOr() == "test.c")
        ids.push_back(entry.at("o._id").toInt64());
    }
    return ids;
  }
  std::vector<int64_t> committed(std::string_view command) { return inserted(server.run(majority(command), "local")); }
  int64_t tail(const bson::Document& find, std::string_view db = "local") {
    const bson::Document reply = server.run(find, db);
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return reply.view().at("cursor.id").toInt64();
  }
  std::shared_ptr<Exchange> more(int64_t cursor, const char* of = "oplog.rs", std::string_view db = "local") {
    return server.begin(bson::doc("getMore", cursor, "collection", of, "maxTimeMS", int64_t{60'000}), db);
  }
};

constexpr std::string_view kTail = R"({"find": "oplog.rs", "tailable": true, "awaitData": true})";

TEST_F(MajorityLogTest, EndsAtTheCommitPointInBothDirections) {
  holdCommits();
  insert(2);
  insert(3);
  EXPECT_THAT(inserted(run(R"({"find": "oplog.rs"})", "local")), ElementsAre(1, 2, 3));
  EXPECT_THAT(committed(R"({"find": "oplog.rs"})"), ElementsAre(1));
  EXPECT_THAT(committed(R"({"find": "oplog.rs", "sort": {"$natural": -1}})"), ElementsAre(1));
  EXPECT_THAT(committed(R"({"aggregate": "oplog.rs", "cursor": {}, "pipeline": [{"$match": {"op": "i"}}]})"),
              ElementsAre(1));
  letCommit();
  EXPECT_THAT(committed(R"({"find": "oplog.rs"})"), ElementsAre(1, 2, 3));
  EXPECT_THAT(committed(R"({"find": "oplog.rs", "sort": {"$natural": -1}})"), ElementsAre(3, 2, 1));
}

TEST_F(MajorityLogTest, ATailWakesWhenTheCommitPointMovesAndNotBefore) {
  holdCommits();
  const auto waiting = more(tail(majority(kTail)));
  const auto ofNewest = more(tail(parse(kTail)));
  insert(2);
  server.node.advance(5s);
  EXPECT_TRUE(ofNewest->done) << "it sees what is visible";
  EXPECT_FALSE(waiting->done);
  letCommit();
  ASSERT_TRUE(waiting->done);
  EXPECT_THAT(inserted(waiting->takeReply(), "cursor.nextBatch"), ElementsAre(2));
}

/// Each write of a busy primary would wake each change stream twice.
TEST_F(MajorityLogTest, WritesThatAreNotCommittedWakeNoTail) {
  holdCommits();
  const bson::Uuid log = server.catalog->find({"local", "oplog.rs"})->uuid();
  const int64_t known = server.cappedWaiters.newsOf({log, true});
  const int64_t knownOfNewest = server.cappedWaiters.newsOf({log});
  insert(2);
  EXPECT_GT(server.cappedWaiters.newsOf({log}), knownOfNewest);
  EXPECT_EQ(server.cappedWaiters.newsOf({log, true}), known);
  letCommit();
  EXPECT_GT(server.cappedWaiters.newsOf({log, true}), known);
}

/// A batch of a member is applied before it is visible: the commit point may be ahead for a moment.
TEST_F(MajorityLogTest, ATailWakesWhenWhatIsCommittedBecomesVisible) {
  auto hole = server.server->operations.replicated->slots.reserve(termOf(server), 1);
  const auto waiting = more(tail(majority(kTail)));
  insert(2);
  server.server->progress->noteApplied({termOf(server), server.server->operations.replicated->slots.newest()});
  server.server->progress->noteDurable(server.server->progress->applied());
  ASSERT_GT(server.server->progress->majority(), server.server->operations.replicated->visibility.get());
  server.node.run();
  EXPECT_FALSE(waiting->done);
  hole.release();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_THAT(inserted(waiting->takeReply(), "cursor.nextBatch"), ElementsAre(2));
}

TEST_F(MajorityLogTest, ATailOfACappedCollectionWakesWithTheCommitPointToo) {
  ASSERT_TRUE(succeeds(R"({"create": "capped", "capped": true, "size": 4096})"));
  insert(1, "capped");
  server.node.advance(1s);
  holdCommits();
  const auto waiting =
      more(tail(majority(R"({"find": "capped", "tailable": true, "awaitData": true})"), "test"), "capped", "test");
  insert(2, "capped");
  server.node.advance(5s);
  EXPECT_FALSE(waiting->done);
  letCommit();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), R"({"cursor": {"nextBatch": [{"_id": 2}]}})"_json));
}

/// It has no times: a majority read sees each write at once.
TEST_F(MajorityLogTest, ATailOfWhatIsNotReplicatedWakesWithTheWrite) {
  ASSERT_TRUE(succeeds(R"({"create": "capped", "capped": true, "size": 4096})", "local"));
  insert(1, "capped", "local");
  holdCommits();
  const auto waiting = more(tail(majority(R"({"find": "capped", "tailable": true, "awaitData": true})")), "capped");
  EXPECT_FALSE(waiting->done);
  insert(2, "capped", "local");
  server.node.run();
  EXPECT_TRUE(waiting->done);
  letCommit();
}

TEST_F(MajorityLogTest, AWaitingTailEndsWhenTheNodeStops) {
  const auto waiting = more(tail(majority(kTail)));
  EXPECT_FALSE(waiting->done);
  server.hello.beginShutdown();
  server.cappedWaiters.wakeAll();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 11600);
}

/// A write of an earlier term may have been undone before this node led again: its newest entry says nothing of it.
TEST_F(MajorityLogTest, AStateDocumentAwaitsItsMajorityInItsTerm) {
  const auto awaited = [&](std::optional<int64_t> term) {
    return server.node.wait(server.assembly.storageAccess().majority(term)).code();
  };
  EXPECT_EQ(awaited(std::nullopt), ErrorCode::kOK);
  EXPECT_EQ(awaited(termOf(server)), ErrorCode::kOK);
  EXPECT_EQ(awaited(termOf(server) - 1), ErrorCode::kInterruptedDueToReplStateChange);
}

}  // namespace
}  // namespace troupe::commands
