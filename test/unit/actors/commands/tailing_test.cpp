#include "actors/commands/tailing.hpp"

#include <gmock/gmock.h>

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class TailingTest : public CommandTest {
 protected:
  TailingTest() { EXPECT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 4096, "max": 5})")); }

  void add(int id) {
    ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", id)}))["ok"].truthy());
  }
  int64_t open(std::string_view find = R"({"find": "c", "tailable": true, "awaitData": true})") {
    const bson::Document reply = run(find);
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return reply.view().at("cursor.id").toInt64();
  }
  static bson::Document getMore(int64_t id) { return bson::doc("getMore", id, "collection", "c"); }
  static bson::Document getMore(int64_t id, int64_t patience) {
    return bson::doc("getMore", id, "collection", "c", "maxTimeMS", patience);
  }
};

TEST_F(TailingTest, ACursorStaysOpenAtTheEndAndGoesOnWithWhatComesLater) {
  add(1);
  const auto id = open(R"({"find": "c", "tailable": true})");
  ASSERT_NE(id, 0);
  EXPECT_TRUE(
      holds(server.run(getMore(id)), bson::doc("cursor", bson::doc("id", id, "nextBatch", std::vector<int>{}))));
  add(2);
  add(3);
  EXPECT_TRUE(holds(server.run(getMore(id)), R"({"cursor": {"nextBatch": [{"_id": 2}, {"_id": 3}]}})"_json));
  EXPECT_TRUE(holds(server.run(getMore(id)), R"({"cursor": {"nextBatch": []}})"_json));
}

TEST_F(TailingTest, ItsFilterAndProjectionHoldForWhatComesLaterToo) {
  add(1);
  const auto id = open(R"({"find": "c", "tailable": true, "filter": {"_id": 4}, "projection": {"_id": 1}})");
  ASSERT_NE(id, 0) << "nothing matched yet, but there is a position to go on from";
  add(3);
  add(4);
  EXPECT_TRUE(holds(server.run(getMore(id)), R"({"cursor": {"nextBatch": [{"_id": 4}]}})"_json));
}

TEST_F(TailingTest, AGetMoreThatAwaitsDataIsAnsweredByTheInsert) {
  add(1);
  const auto waiting = server.begin(getMore(open(), 60'000));
  server.node.advance(30s);
  EXPECT_FALSE(waiting->done);
  add(2);
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), R"({"ok": 1, "cursor": {"nextBatch": [{"_id": 2}]}})"_json));
}

TEST_F(TailingTest, NewsThatDoNotMatchLetItWaitOn) {
  add(1);
  const auto id = open(R"({"find": "c", "tailable": true, "awaitData": true, "filter": {"_id": {"$ne": 2}}})");
  const auto waiting = server.begin(getMore(id, 5000));
  add(2);
  server.node.run();
  EXPECT_FALSE(waiting->done);
  server.node.advance(5s);
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(
      holds(waiting->takeReply(), bson::doc("ok", 1, "cursor", bson::doc("id", id, "nextBatch", std::vector<int>{}))));
}

TEST_F(TailingTest, ItWaitsASecondUnlessTold) {
  add(1);
  const auto waiting = server.begin(getMore(open()));
  server.node.advance(990ms);
  EXPECT_FALSE(waiting->done);
  server.node.advance(10ms);
  EXPECT_TRUE(waiting->done);
}

/// An answer costs its reader and its sender more than some further documents do; news that come alone go at once.
class GatheringTest : public TailingTest {
 protected:
  GatheringTest() {
    EXPECT_TRUE(succeeds(R"({"drop": "c"})"));
    EXPECT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 4096})"));
    add(1);
    id_ = open();
    EXPECT_THAT(idsAfter([this](auto&) { add(2); }), ElementsAre(2)) << "one that comes alone";
    addEvery(100us, 3, 5);
    EXPECT_THAT(idsAfter([](auto&) {}), ElementsAre(3, 4, 5)) << "as those of a burst the next ones are gathered";
  }
  /// The answer that leaves after what `write` does, if one does.
  template <typename Write>
  std::vector<int64_t> idsAfter(Write write) {
    const auto waiting = server.begin(getMore(id_));
    server.node.run();
    write(*waiting);
    server.node.run();
    std::vector<int64_t> ids;
    if (!waiting->done) return ids;
    const bson::Document reply = waiting->takeReply();
    for (const bson::Element& each : reply.view().at("cursor.nextBatch").asArray())
      ids.push_back(each.asDocument()["_id"].toInt64());
    return ids;
  }
  void addEvery(Duration pause, int first, int last) {
    for (int i = first; i <= last; ++i) {
      add(i);
      server.node.run();
      server.node.advance(pause);
    }
  }

 private:
  int64_t id_ = 0;
};

TEST_F(GatheringTest, NewsOfABurstAreGatheredUntilItHasEnded) {
  const auto later = [&](auto& waiting) {
    addEvery(150us, 6, 7);
    EXPECT_FALSE(waiting.done) << "one has come 150 us ago";
    server.node.advance(100us);
  };
  EXPECT_THAT(idsAfter(later), ElementsAre(6, 7));
  server.node.advance(10ms);
  EXPECT_THAT(idsAfter([&](auto&) { add(8); }), ElementsAre(8)) << "no burst was before";
}

TEST_F(GatheringTest, ABurstWithoutEndIsAnsweredInTime) {
  EXPECT_THAT(idsAfter([&](auto&) { addEvery(150us, 6, 16); }), SizeIs(11)) << "after 1.5 ms";
}

TEST_F(TailingTest, ACursorDiesWithItsPosition) {
  add(1);
  const auto id = open();
  for (int i = 2; i <= 8; ++i) add(i);
  EXPECT_EQ(server.run(getMore(id))["code"].toInt64(), 136);
  EXPECT_EQ(server.run(getMore(id))["code"].toInt64(), 43);
}

TEST_F(TailingTest, AWaitingCursorEndsWhenItsCollectionIsDropped) {
  add(1);
  const auto waiting = server.begin(getMore(open(), 60'000));
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 175);
}

TEST_F(TailingTest, AWaitingCursorEndsWhenItIsKilled) {
  add(1);
  const auto id = open();
  const auto waiting = server.begin(getMore(id, 60'000));
  const bson::Document killed = server.run(bson::doc("killCursors", "c", "cursors", std::vector{id}));
  EXPECT_EQ(killed["cursorsKilled"].asArray().count(), 1u);
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 237);
  EXPECT_EQ(server.cursors.statistics().open, 0);
}

TEST_F(TailingTest, AWaitingCursorEndsWhenTheNodeStops) {
  add(1);
  const auto waiting = server.begin(getMore(open(), 60'000));
  server.hello.beginShutdown();
  server.cappedWaiters.wakeAll();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 11600);
}

TEST_F(TailingTest, OnAnEmptyOrMissingCollectionThereIsNothingToGoOnFrom) {
  EXPECT_EQ(open(), 0);
  EXPECT_EQ(open(R"({"find": "missing", "tailable": true})"), 0);
}

TEST_F(TailingTest, AHintDoesNotTurnTheOrder) {
  add(1);
  add(2);
  EXPECT_NE(open(R"({"find": "c", "tailable": true, "hint": {"$natural": -1}})"), 0);
  EXPECT_EQ(batch(R"({"find": "c", "tailable": true, "hint": {"$natural": -1}, "projection": {"_id": 1}})").front(),
            R"({ "_id" : 1 })");
}

TEST_F(TailingTest, RefusesWhatCannotBeTailed) {
  ASSERT_TRUE(succeeds(R"({"create": "plain"})"));
  ASSERT_TRUE(succeeds(R"({"create": "view", "viewOn": "c", "pipeline": []})"));
  EXPECT_EQ(code(R"({"find": "plain", "tailable": true})"), 2);
  EXPECT_EQ(code(R"({"find": "view", "tailable": true})"), 168);
  EXPECT_EQ(code(R"({"find": "c", "awaitData": true})"), 9);
  EXPECT_EQ(code(R"({"find": "c", "tailable": true, "singleBatch": true})"), 2);
  EXPECT_EQ(code(R"({"find": "c", "tailable": true, "sort": {"_id": 1}})"), 2);
  EXPECT_EQ(code(R"({"find": "c", "tailable": true, "sort": {"$natural": -1}})"), 2);
  add(1);
  const auto id = open(R"({"find": "c", "tailable": true})");
  EXPECT_EQ(server.run(getMore(id, 5))["code"].toInt64(), 2) << "only those that await data wait";
  EXPECT_TRUE(server.run(getMore(id))["ok"].truthy()) << "the cursor has outlived the mistake";
}

}  // namespace troupe::commands
