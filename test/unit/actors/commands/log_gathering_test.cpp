// Readers of a primary's log on a busy set: the entries of a burst of writers go together, and so does their flush.
#include <gmock/gmock.h>

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
namespace {

using ::testing::ElementsAre;

/// The only member of a set, whose log somebody follows: what it writes is committed when it is durable.
class LogGatheringTest : public CommandTest {
 protected:
  LogGatheringTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    EXPECT_TRUE(succeeds(R"({"create": "c"})"));
    server.node.advance(1s);
    const bson::Document opened =
        server.run(R"({"find": "oplog.rs", "tailable": true, "awaitData": true})"_json, "local");
    cursor_ = opened.view().at("cursor.id").toInt64();
    EXPECT_NE(cursor_, 0);
  }
  std::shared_ptr<Exchange> read() {
    auto reading =
        server.begin(bson::doc("getMore", cursor_, "collection", "oplog.rs", "maxTimeMS", int64_t{60'000}), "local");
    server.node.run();
    return reading;
  }
  std::shared_ptr<Exchange> insert(int id) {
    auto writing = server.begin(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", id)}, "writeConcern",
                                          bson::doc("w", "majority")),
                                "test", server.connect());
    server.node.run();
    return writing;
  }
  static std::vector<int64_t> idsIn(Exchange& reading) {
    std::vector<int64_t> ids;
    const bson::Document reply = reading.takeReply();
    for (const bson::Element& each : reply.view().at("cursor.nextBatch").asArray())
      if (each.asDocument()["op"].toStringOr() == "i") ids.push_back(each.asDocument().at("o._id").toInt64());
    return ids;
  }
  /// As a busy set is: its reader has got several entries at once, of writers that waited together.
  void makeBusy() {
    const auto first = read();
    std::vector<std::shared_ptr<Exchange>> writes{insert(1)};
    EXPECT_TRUE(first->done) << "the log was quiet";
    holdCommits(server);
    for (int id = 2; id <= 4; ++id) writes.push_back(insert(id));
    const auto second = read();
    EXPECT_THAT(idsIn(*second), ElementsAre(2, 3, 4));
    letCommit(server);
    for (const auto& write : writes) EXPECT_TRUE(write->done);
  }
  int64_t flushes() { return server.server->durability.statistics().flushes; }

  int64_t cursor_ = 0;
};

TEST_F(LogGatheringTest, TheEntriesOfABurstAreSentWhenItsLastWriterWaitsAndFlushedOnce) {
  makeBusy();
  const auto reading = read();
  const int64_t before = flushes();
  const auto first = insert(11), second = insert(12);
  EXPECT_FALSE(reading->done) << "three waited before";
  EXPECT_EQ(flushes(), before) << "the reader still gathers";
  EXPECT_FALSE(second->done);
  const auto last = insert(13);
  ASSERT_TRUE(reading->done) << "no time has passed";
  EXPECT_THAT(idsIn(*reading), ElementsAre(11, 12, 13));
  EXPECT_EQ(flushes(), before + 1);
  EXPECT_TRUE(first->done && second->done && last->done);
}

TEST_F(LogGatheringTest, ABurstThatBecameSmallerIsAwaitedForAMoment) {
  makeBusy();
  const auto reading = read();
  const auto first = insert(11), second = insert(12);
  EXPECT_FALSE(reading->done);
  server.node.advance(1500us);
  ASSERT_TRUE(reading->done);
  EXPECT_THAT(idsIn(*reading), ElementsAre(11, 12));
  EXPECT_TRUE(first->done && second->done) << "they are flushed";
}

/// What it waits for is no news for the reader.
TEST_F(LogGatheringTest, AWriterWhoseEntryWasReadIsFlushedAtOnce) {
  makeBusy();
  const auto reading = read();
  const int64_t before = flushes();
  ASSERT_TRUE(server
                  .run(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", 11)}, "writeConcern",
                                 bson::doc("w", 1)))["ok"]
                  .truthy());
  server.node.advance(2ms);
  ASSERT_TRUE(reading->done);
  const auto next = read();
  EXPECT_EQ(flushes(), before) << "the write awaits no flush";
  const auto nothing = server.begin(R"({"delete": "c", "deletes": [{"q": {"_id": 0}, "limit": 1}],
                                        "writeConcern": {"w": "majority"}})"_json,
                                    "test", server.connect());
  server.node.run();
  EXPECT_TRUE(nothing->done) << "it found nothing, and awaits the newest entry";
  EXPECT_FALSE(next->done);
  EXPECT_EQ(server.locks.inUse(), 0u) << "who waits for news holds nothing";
  insert(12);
  server.node.advance(2ms);
  EXPECT_TRUE(next->done);
}

TEST_F(LogGatheringTest, TheEndOfAReaderEndsItsGathering) {
  makeBusy();
  const auto reading = read();
  const auto waiting = insert(11);
  EXPECT_FALSE(waiting->done);
  EXPECT_TRUE(
      server.run(bson::doc("killCursors", "oplog.rs", "cursors", std::vector{cursor_}), "local")["ok"].truthy());
  server.node.run();
  EXPECT_TRUE(reading->done);
  EXPECT_TRUE(waiting->done);
}

}  // namespace
}  // namespace troupe::commands
