#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class FindTest : public CommandTest {
 protected:
  int64_t cursorOf(std::string_view json) { return run(json).view().at("cursor.id").toInt64(); }
  bson::Document getMore(int64_t id, int64_t batchSize = 0) {
    bson::Builder b;
    b.append("getMore", id).append("collection", "c");
    if (batchSize > 0) b.append("batchSize", batchSize);
    return server.run(b.finish());
  }
};

TEST_F(FindTest, OfAMissingCollectionFindsNothing) {
  EXPECT_TRUE(answers(R"({"find": "c"})", R"({"ok": 1, "cursor": {"id": 0, "ns": "test.c", "firstBatch": []}})"));
}

TEST_F(FindTest, FiltersSortsSkipsLimitsAndProjects) {
  fill("c", 30);
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": {"$lt": 2}}, "sort": {"_id": -1}, "skip": 1, "limit": 2,
                      "projection": {"x": 0}})"),
            (std::vector<std::string>{R"({ "_id" : 21 })", R"({ "_id" : 20 })"}));
}

/// The answer, with or without a hint that forbids the shortcut of lookups by `_id`.
class PointFindTest : public FindTest, public ::testing::WithParamInterface<const char*> {
 protected:
  bson::Document find(std::string_view id, std::string_view more) {
    return run(R"({"find": "c", "filter": {"_id": )" + std::string(id) + "}" + std::string(more) + "}");
  }
};

TEST_P(PointFindTest, FindsByIdWhatAScanFinds) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "collation": {"locale": "en", "strength": 2}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [
      {"_id": 1, "v": 1}, {"_id": "Ant"}, {"_id": {"a": 1}}, {"_id": {"$oid": "0123456789abcdef01234567"}}, {"_id": null},
      {"_id": true}, {"_id": {"$date": {"$numberLong": "5"}}}]})"));
  const bson::Document point = find(GetParam(), ""), scan = find(GetParam(), R"(, "hint": {"$natural": 1})");
  EXPECT_EQ(point.view(), scan.view()) << bson::toRelaxedJson(point) << " but a scan: " << bson::toRelaxedJson(scan);
  const bson::Document one = find(GetParam(), R"(, "limit": 1, "singleBatch": true)");
  EXPECT_EQ(point.view(), one.view()) << bson::toRelaxedJson(one);
}

INSTANTIATE_TEST_SUITE_P(
    Ids, PointFindTest,
    ::testing::Values("1", "1.0", R"({"$numberDecimal": "1"})", "2", R"("Ant")", R"("ant")", R"("bee")", R"({"a": 1})",
                      R"({"a": 2})", "{}", R"({"$oid": "0123456789abcdef01234567"})", "null", "true", "[1]",
                      R"({"$date": {"$numberLong": "5"}})", R"({"$eq": 1})", R"({"$gt": 0})", R"({"$in": [1]})",
                      R"({"$regularExpression": {"pattern": "a", "options": "i"}})", R"({"$no": 1})"));

TEST_F(FindTest, AFindByIdTellsWhatItCost) {
  fill("c", 3);
  const auto examined = [&] {
    const ServerCounters& c = server.server->counters;
    return std::vector<int64_t>{c.keysExamined, c.documentsExamined, c.documentsReturned};
  };
  const auto before = examined();
  ASSERT_EQ(batch(R"({"find": "c", "filter": {"_id": 2}})").size(), 1u);
  ASSERT_EQ(batch(R"({"find": "c", "filter": {"_id": 20}})").size(), 0u);
  EXPECT_EQ(examined(), (std::vector<int64_t>{before[0] + 1, before[1] + 1, before[2] + 1}));
}

TEST_F(FindTest, AFindByIdInBatchesOfOneKeepsItsCursor) {
  fill("c", 3);
  const auto id = cursorOf(R"({"find": "c", "filter": {"_id": 2}, "batchSize": 1})");
  ASSERT_NE(id, 0);
  EXPECT_TRUE(holds(getMore(id), R"({"cursor": {"id": 0, "nextBatch": []}})"_json));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": 2}, "batchSize": 0, "singleBatch": true})").size(), 0u);
}

TEST_F(FindTest, GivesItsResultsInBatches) {
  fill("c", 7);
  const auto id = cursorOf(R"({"find": "c", "batchSize": 3})");
  ASSERT_NE(id, 0);
  auto next = getMore(id, 3);
  EXPECT_TRUE(holds(next, R"({"ok": 1, "cursor": {"ns": "test.c",
                              "nextBatch": [{"_id": 4}, {"_id": 5}, {"_id": 6}]}})"_json));
  next = getMore(id, 3);
  EXPECT_TRUE(holds(next, R"({"cursor": {"id": 0, "nextBatch": [{"_id": 7}]}})"_json));
  EXPECT_EQ(getMore(id)["code"].toInt64(), 43);
}

TEST_F(FindTest, TheFirstBatchHas101Documents) {
  fill("c", 150);
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 101u);
  EXPECT_EQ(server.cursors.statistics().open, 1);
}

TEST_F(FindTest, ASingleBatchLeavesNoCursor) {
  fill("c", 7);
  EXPECT_EQ(cursorOf(R"({"find": "c", "batchSize": 3, "singleBatch": true})"), 0);
  EXPECT_EQ(server.cursors.statistics().open, 0);
}

TEST_F(FindTest, ABatchSizeOfZeroOpensTheCursorOnly) {
  fill("c", 3);
  const bson::Document reply = run(R"({"find": "c", "batchSize": 0})");
  EXPECT_TRUE(holds(reply, R"({"cursor": {"firstBatch": []}})"_json));
  EXPECT_TRUE(holds(getMore(reply.view().at("cursor.id").toInt64()),
                    R"({"cursor": {"id": 0, "nextBatch": [{"_id": 1}, {"_id": 2}, {"_id": 3}]}})"_json));
}

TEST_F(FindTest, ALimitEndsTheCursorOnTime) {
  fill("c", 10);
  const auto id = cursorOf(R"({"find": "c", "batchSize": 2, "limit": 4})");
  ASSERT_NE(id, 0);
  EXPECT_TRUE(holds(getMore(id), R"({"cursor": {"id": 0, "nextBatch": [{"_id": 3}, {"_id": 4}]}})"_json));
}

TEST_F(FindTest, ACursorSeesWhatWasWrittenBetweenBatches) {
  fill("c", 4);
  const auto id = cursorOf(R"({"find": "c", "batchSize": 2})");
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}]})"));
  EXPECT_TRUE(holds(getMore(id), R"({"cursor": {"nextBatch": [{"_id": 4}]}})"_json));
}

TEST_F(FindTest, ACursorEndsWithItsCollection) {
  fill("c", 4);
  const auto id = cursorOf(R"({"find": "c", "batchSize": 2})");
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  EXPECT_EQ(getMore(id)["code"].toInt64(), 175);
}

TEST_F(FindTest, KillCursorsEndsThem) {
  fill("c", 4);
  const auto id = cursorOf(R"({"find": "c", "batchSize": 2})");
  bson::Builder kill;
  kill.append("killCursors", "c").openArray("cursors").push(id).push(int64_t{99}).close();
  const bson::Document reply = server.run(kill.finish());
  EXPECT_EQ(reply["cursorsKilled"].asArray().first().toInt64(), id);
  EXPECT_EQ(reply["cursorsNotFound"].asArray().first().toInt64(), 99);
  EXPECT_EQ(getMore(id)["code"].toInt64(), 43);
}

TEST_F(FindTest, RefusesNegativeNumbersAndMalformedFilters) {
  EXPECT_EQ(code(R"({"find": "c", "skip": -1})"), 2);
  EXPECT_EQ(code(R"({"find": "c", "limit": -1})"), 2);
  EXPECT_EQ(code(R"({"find": "c", "filter": {"a": {"$noSuchOperator": 1}}})"), 2);
  EXPECT_EQ(code(R"({"find": "c", "filter": 3})"), 14);
}

TEST_F(FindTest, GetMoreChecksItsArguments) {
  EXPECT_EQ(code(R"({"getMore": "x", "collection": "c"})"), 14);
  EXPECT_EQ(code(R"({"getMore": {"$numberLong": "5"}})"), 40414);
  EXPECT_EQ(code(R"({"getMore": {"$numberLong": "5"}, "collection": "c"})"), 43);
}

TEST_F(FindTest, OnAViewRunsItsPipeline) {
  fill("c", 20);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": [{"$match": {"x": 3}}]})"));
  EXPECT_EQ(batch(R"({"find": "v", "sort": {"_id": -1}})").size(), 2u);
  EXPECT_TRUE(answers(R"({"count": "v"})", R"({"n": 2})"));
}

TEST_F(FindTest, UsesVariablesAndCollations) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "s": "Ann"}, {"_id": 2, "s": "bob"}]})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"$expr": {"$eq": ["$s", "$$who"]}}, "let": {"who": "bob"}})").size(), 1u);
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"s": "ANN"}, "collation": {"locale": "en", "strength": 2}})").size(), 1u);
}

TEST_F(FindTest, CountAndDistinct) {
  fill("c", 25);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 25})"));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"x": 1}, "limit": 2})", R"({"n": 2})"));
  EXPECT_TRUE(answers(R"({"distinct": "c", "key": "x", "query": {"_id": {"$lt": 4}}})", R"({"values": [1, 2, 3]})"));
  EXPECT_EQ(code(R"({"distinct": "c"})"), 40414);
}

TEST_F(FindTest, AnIdleCursorOfAKilledSessionIsGone) {
  fill("c", 5);
  const bson::Document session = run(R"({"startSession": 1})");
  bson::Builder find;
  find.append("find", "c").append("batchSize", 1).append("lsid", session["id"]);
  const auto id = server.run(find.finish()).view().at("cursor.id").toInt64();
  bson::Builder kill;
  kill.openArray("killSessions").push(session["id"].asDocument()).close();
  ASSERT_TRUE(server.run(kill.finish())["ok"].truthy());
  EXPECT_EQ(getMore(id)["code"].toInt64(), 43);
}

// RDS-001, LCK-002
TEST_F(FindTest, ReadsWaitForNoLock) {
  fill("c", 3);
  fill("d", 3);
  const auto opened = run(R"({"find": "c", "batchSize": 1})");
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  storage::Locker whole(server.locks);  // the database, and with it all collections
  ASSERT_TRUE(whole.tryAcquire(storage::ResourceId::global(), storage::LockMode::kIX));
  ASSERT_TRUE(whole.tryAcquire(storage::ResourceId::database("test"), storage::LockMode::kX));
  for (const char* read :
       {R"({"find": "c"})", R"({"find": "c", "filter": {"_id": 1}})", R"({"find": "c", "filter": {"x": {"$gt": 1}}})",
        R"({"find": "v"})", R"({"count": "c", "query": {"x": 1}})", R"({"distinct": "c", "key": "x"})",
        R"({"aggregate": "c", "pipeline": [], "cursor": {}})",
        R"({"aggregate": "c", "pipeline": [{"$lookup": {"from": "d", "localField": "x", "foreignField": "x",
                                                        "as": "l"}}], "cursor": {}})",
        R"({"aggregate": "c", "pipeline": [{"$unionWith": "d"}], "cursor": {}})",
        R"({"aggregate": "c", "pipeline": [{"$graphLookup": {"from": "d", "startWith": "$x", "connectFromField": "x",
            "connectToField": "_id", "as": "g"}}], "cursor": {}})",
        R"({"listIndexes": "c"})", R"({"explain": {"find": "c"}})"}) {
    const auto answered = server.begin(parse(read));
    ASSERT_TRUE(answered->done) << read;
    EXPECT_TRUE(answered->takeReply()["ok"].truthy()) << read;
  }
  EXPECT_EQ(getMore(opened.view().at("cursor.id").toInt64())["cursor"].asDocument()["nextBatch"].asArray().count(), 2u);
  EXPECT_FALSE(server.begin(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"_json)->done) << "a write waits";
  whole.releaseAll();
}

TEST_F(FindTest, ACollectionIsReadByItsUuid) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": 9}]})", "other"));
  const auto uuidOf = [&](std::string_view db, std::string_view name) {
    return server.catalog->find(storage::Namespace(db, name))->uuid();
  };
  const auto reply = server.run(bson::doc("find", uuidOf("test", "c"), "filter", bson::doc("_id", 2)));
  EXPECT_TRUE(holds(reply, R"({"ok": 1, "cursor": {"ns": "test.c", "firstBatch": [{"_id": 2, "x": 2}]}})"_json));
  EXPECT_TRUE(holds(server.run(bson::doc("count", uuidOf("test", "c"))), R"({"n": 3})"_json));
  EXPECT_TRUE(
      holds(server.run(bson::doc("distinct", uuidOf("test", "c"), "key", "_id")), R"({"values": [1, 2, 3]})"_json));
  EXPECT_TRUE(holds(server.run(bson::doc("listIndexes", uuidOf("test", "c"))), R"({"cursor": {"ns": "test.c"}})"_json));
  EXPECT_EQ(server.run(bson::doc("find", uuidOf("other", "d")))["code"].toInt64(), 26) << "of another database";
  EXPECT_EQ(server.run(bson::doc("find", bson::Uuid{}))["code"].toInt64(), 26);
  EXPECT_EQ(server.run(bson::doc("drop", uuidOf("test", "c")))["code"].toInt64(), 73)
      << "a change names the collection";
}

TEST_F(FindTest, UnderTheStrictStableApiRefusesOptionsThatAreNotPartOfIt) {
  fill("c", 1);
  EXPECT_EQ(code(R"({"find": "c", "apiVersion": "1", "apiStrict": true, "sort": {"x": 1}, "limit": 1})"), 0);
  for (const auto* option : {"awaitData", "noCursorTimeout", "oplogReplay", "returnKey", "showRecordId", "tailable"})
    EXPECT_EQ(code(R"({"find": "c", "apiVersion": "1", "apiStrict": true, ")" + std::string(option) + R"(": true})"),
              323)
        << option;
}

/// The fixture closes the engine before it forgets cursors, so one that kept something of the engine would crash here.
TEST_F(FindTest, AnIdleCursorKeepsNothingOfTheEngine) {
  fill("c", 20);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"));
  for (const auto find : {R"({"find": "c", "hint": "x", "sort": {"_id": 1}, "batchSize": 1})",
                          R"({"find": "c", "sort": {"x": 1}, "batchSize": 1})",
                          R"({"find": "c", "filter": {"x": 3}, "batchSize": 1})", R"({"find": "c", "batchSize": 1})"}) {
    EXPECT_NE(cursorOf(find), 0) << find;
  }
  EXPECT_EQ(server.cursors.statistics().open, 4);
}

}  // namespace troupe::commands
