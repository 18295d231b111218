// Commands that read at an earlier time see the data and the catalog of that time (CAT-016, CAT-022, CAT-025, CAT-026,
// RDS-005, RDS-009).
#include <gmock/gmock.h>

#include "storage/catalog/drop_reaper.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// The only member of a set, whose tables an oplog recovers, as those of every member.
class TimedReadTest : public CommandTest {
 protected:
  TimedReadTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    server.node.advance(1s);
  }

  /// Runs a write, and gives the time from which on its effect is seen.
  bson::Timestamp does(std::string_view json, std::string_view db = "test") {
    const bson::Document reply = run(json, db);
    EXPECT_TRUE(reply["ok"].truthy() && !reply["writeErrors"].ok()) << json << bson::toRelaxedJson(reply);
    return reply["operationTime"].asTimestamp();
  }
  bson::Timestamp inserts(const char* collection, int id) {
    return does(R"({"insert": ")" + std::string(collection) + R"(", "documents": [{"_id": )" + std::to_string(id) +
                R"(, "x": )" + std::to_string(id % 2) + "}]}");
  }
  bson::Document readAt(bson::Timestamp time, std::string_view json) {
    const auto concern = bson::doc("level", "snapshot", "atClusterTime", time);
    return server.run(with(json, bson::doc("readConcern", concern)));
  }
  int64_t codeAt(bson::Timestamp time, std::string_view json) {
    const bson::Document reply = readAt(time, json);
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  static std::vector<int64_t> idsIn(const bson::Document& reply) {
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::vector<int64_t> ids;
    const auto batch = reply.view().at("cursor.firstBatch");
    if (!batch.is(bson::Type::kArray)) return ids;
    for (const bson::Element& each : batch.asArray()) ids.push_back(each.asDocument()["_id"].toInt64());
    return ids;
  }
  std::vector<int64_t> idsAt(bson::Timestamp time, const char* collection) {
    return idsIn(readAt(time, R"({"find": ")" + std::string(collection) + R"(", "sort": {"_id": 1}})"));
  }
  /// What a `$listCatalog` shows, read under a concern.
  std::vector<std::string> namesIn(std::string_view read, const bson::Document& concern, std::string_view db = "test") {
    const bson::Document reply = server.run(with(read, bson::doc("readConcern", concern)), db);
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::vector<std::string> names;
    const auto batch = reply.view().at("cursor.firstBatch");
    if (!batch.is(bson::Type::kArray)) return names;
    for (const bson::Element& each : batch.asArray()) names.emplace_back(each.asDocument()["name"].toStringOr());
    return names;
  }
  std::string identOf(const char* collection) { return server.catalog->find({"test", collection})->ident(); }
  bool hasTable(const std::string& ident) { return server.engine->disk().tables.contains(ident); }
  /// Nobody can read before the present any more, and the last checkpoint has all.
  void endHistory() {
    ASSERT_TRUE(succeeds(R"({"setParameter": 1, "minSnapshotHistoryWindowInSeconds": 0})", "admin"));
    for (int i = 0; i < 3; ++i) {
      server.node.advance(2s);
      does(R"({"insert": "other", "documents": [{}]})");
    }
    ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
    server.node.advance(2s);
  }
};

/// An initial sync copies what is not committed yet, and the commit point is learned from its beginning on: a read
/// there would show data that may be undone (RDC-005).
TEST_F(TimedReadTest, AMajorityReadWaitsUntilWhatACopyEndedWithIsCommitted) {
  const bson::Timestamp committed = inserts("a", 1);
  server.engine->setInitialDataTimestamp({committed.seconds + 3, 1});
  const auto majority = server.begin(R"({"find": "a", "readConcern": {"level": "majority"}})"_json);
  const auto snapshot = server.begin(R"({"find": "a", "readConcern": {"level": "snapshot"}})"_json);
  server.node.advance(1s);
  EXPECT_FALSE(majority->done);
  EXPECT_FALSE(snapshot->done);
  server.node.advance(4s);
  inserts("a", 2);
  server.node.advance(1s);
  ASSERT_TRUE(majority->done && snapshot->done);
  EXPECT_THAT(idsIn(majority->takeReply()), ElementsAre(1, 2));
  EXPECT_THAT(idsIn(snapshot->takeReply()), ElementsAre(1, 2));
}

TEST_F(TimedReadTest, NamesAreThoseOfTheTimeThroughCreateRenameAndDrop) {
  const auto before = inserts("other", 1);
  const auto one = inserts("a", 1);
  const auto renamed = does(R"({"renameCollection": "test.a", "to": "test.b"})", "admin");
  const auto again = inserts("a", 2);
  const auto dropped = does(R"({"drop": "b"})");
  const auto back = does(R"({"renameCollection": "test.a", "to": "test.b"})", "admin");
  const std::pair<bson::Timestamp, std::pair<std::vector<int64_t>, std::vector<int64_t>>> expected[] = {
      {before, {{}, {}}},  {one, {{1}, {}}},     {renamed, {{}, {1}}},
      {again, {{2}, {1}}}, {dropped, {{2}, {}}}, {back, {{}, {2}}}};
  for (const auto& [time, ids] : expected) {
    EXPECT_EQ(idsAt(time, "a"), ids.first) << time.increment;
    EXPECT_EQ(idsAt(time, "b"), ids.second) << time.increment;
  }
}

TEST_F(TimedReadTest, AUuidIsThatOfItsCollectionAtEveryTime) {
  const auto one = inserts("a", 1);
  const bson::Uuid uuid = server.catalog->find({"test", "a"})->uuid();
  const auto renamed = does(R"({"renameCollection": "test.a", "to": "test.b"})", "admin");
  inserts("a", 2);
  const auto dropped = does(R"({"drop": "b"})");
  const auto readByUuid = [&](bson::Timestamp time) {
    return server.run(bson::doc("find", uuid, "readConcern", bson::doc("level", "snapshot", "atClusterTime", time)));
  };
  for (const auto time : {one, renamed}) EXPECT_THAT(idsIn(readByUuid(time)), ElementsAre(1));
  EXPECT_EQ(readByUuid(one).view().at("cursor.ns").toStringOr(), "test.a");
  EXPECT_EQ(readByUuid(renamed).view().at("cursor.ns").toStringOr(), "test.b");
  EXPECT_EQ(readByUuid(dropped)["code"].toInt64(), 26);
  EXPECT_EQ(server.run(bson::doc("find", uuid))["code"].toInt64(), 26);
}

TEST_F(TimedReadTest, ListCatalogShowsTheCatalogOfItsTime) {  // CAT-006
  const auto one = inserts("a", 1);
  const auto renamed = does(R"({"renameCollection": "test.a", "to": "test.b"})", "admin");
  const auto dropped = does(R"({"drop": "b"})");
  const char* all = R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listCatalog": {}}, {"$match": {"db": "test"}}]})";
  const char* ofA = R"({"aggregate": "a", "cursor": {}, "pipeline": [{"$listCatalog": {}}]})";
  const auto at = [](bson::Timestamp time) { return bson::doc("level", "snapshot", "atClusterTime", time); };
  EXPECT_THAT(namesIn(all, at(one), "admin"), ElementsAre("a"));
  EXPECT_THAT(namesIn(all, at(renamed), "admin"), ElementsAre("b"));
  EXPECT_THAT(namesIn(all, at(dropped), "admin"), ElementsAre());
  EXPECT_THAT(namesIn(ofA, at(one)), ElementsAre("a"));
  EXPECT_THAT(namesIn(ofA, at(renamed)), ElementsAre());
}

TEST_F(TimedReadTest, ListCatalogShowsWhatAMajorityHas) {  // CAT-006
  inserts("a", 1);
  const Status parked = server.node.wait(supervisors::controlActor(
      server.node, "/node/storage/journal-flusher", supervisors::ControlAction::kPark, "nothing is durable"));
  ASSERT_TRUE(parked.isOK()) << parked.toString();
  ASSERT_TRUE(server.run(with(R"({"create": "b"})", bson::doc("writeConcern", bson::doc("w", 1))))["ok"].truthy());
  const char* all = R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listCatalog": {}}, {"$match": {"db": "test"}}]})";
  EXPECT_THAT(namesIn(all, bson::doc("level", "majority"), "admin"), ElementsAre("a"));
  EXPECT_THAT(namesIn(all, bson::doc("level", "local"), "admin"), UnorderedElementsAre("a", "b"));
}

TEST_F(TimedReadTest, AReadUsesTheIndexesThatItsTimeHas) {
  inserts("c", 1);
  const auto without = inserts("c", 2);
  does(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})");
  const auto with = inserts("c", 3);
  const auto hidden = does(R"({"collMod": "c", "index": {"name": "x_1", "hidden": true}})");
  const auto shown = does(R"({"collMod": "c", "index": {"name": "x_1", "hidden": false}})");
  const auto gone = does(R"({"dropIndexes": "c", "index": "x_1"})");
  inserts("c", 4);
  const char* find = R"({"find": "c", "filter": {"x": {"$gte": 0}}, "hint": "x_1", "sort": {"_id": 1}})";
  constexpr int64_t kBadHint = 2;
  EXPECT_EQ(codeAt(without, find), kBadHint) << "its keys are later";
  EXPECT_THAT(idsIn(readAt(with, find)), ElementsAre(1, 2, 3));
  EXPECT_EQ(codeAt(hidden, find), kBadHint);
  EXPECT_THAT(idsIn(readAt(shown, find)), ElementsAre(1, 2, 3)) << "the table of a dropped index";
  EXPECT_EQ(codeAt(gone, find), kBadHint);
  EXPECT_THAT(idsAt(without, "c"), ElementsAre(1, 2)) << "without a hint";
}

TEST_F(TimedReadTest, AllKindsOfReadsSeeTheCollectionOfTheTime) {
  inserts("c", 1);
  const auto time = inserts("c", 2);
  does(R"({"insert": "d", "documents": [{"_id": 1}]})");
  does(R"({"drop": "c"})");
  inserts("c", 9);
  EXPECT_EQ(codeAt(time, R"({"count": "c"})"), 72) << "counters have no history";
  EXPECT_EQ(readAt(time, R"({"distinct": "c", "key": "_id"})")["values"].asArray().count(), 2u);
  EXPECT_THAT(idsIn(readAt(time, R"({"find": "c", "filter": {"_id": 2}})")), ElementsAre(2)) << "by its _id";
  EXPECT_THAT(idsIn(readAt(time, R"({"aggregate": "c", "pipeline": [{"$match": {"x": 1}}], "cursor": {}})")),
              ElementsAre(1));
  EXPECT_THAT(idsIn(readAt(time, R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$unionWith": "d"}]})")),
              ElementsAre(1, 2))
      << "the other one was not there yet";
}

TEST_F(TimedReadTest, TheBatchesOfACursorAreOfOneTime) {
  for (int id = 1; id <= 6; ++id) inserts("c", id);
  const auto time = inserts("c", 7);
  const auto first = readAt(time, R"({"find": "c", "batchSize": 2})");
  ASSERT_EQ(idsIn(first), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(first.view().at("cursor.atClusterTime").asTimestamp(), time);
  does(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})");
  does(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})");
  const auto rest = server.run(bson::doc("getMore", first.view().at("cursor.id").toInt64(), "collection", "c"));
  ASSERT_TRUE(rest["ok"].truthy()) << bson::toRelaxedJson(rest);
  EXPECT_EQ(rest.view().at("cursor.nextBatch").asArray().count(), 5u);
}

// CAT-024, CAT-025
TEST_F(TimedReadTest, ADroppedCollectionIsReadUntilItsHistoryEnds) {
  const auto time = inserts("c", 1);
  const std::string ident = identOf("c");
  does(R"({"drop": "c"})");
  ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
  server.node.advance(5s);
  EXPECT_THAT(idsAt(time, "c"), ElementsAre(1));
  EXPECT_TRUE(hasTable(ident));
  endHistory();
  EXPECT_EQ(codeAt(time, R"({"find": "c"})"), 239);
  EXPECT_FALSE(hasTable(ident));
}

/// A cursor that was opened at an earlier time, after the drop, has the table until it ends.
TEST_F(TimedReadTest, ATableStaysWhileACursorOfAnEarlierTimeHasIt) {
  for (int id = 1; id <= 3; ++id) inserts("c", id);
  const auto time = inserts("c", 4);
  const std::string ident = identOf("c");
  does(R"({"drop": "c"})");
  const auto first = readAt(time, R"({"find": "c", "batchSize": 2})");
  ASSERT_EQ(idsIn(first), (std::vector<int64_t>{1, 2}));
  endHistory();
  EXPECT_TRUE(hasTable(ident));
  EXPECT_TRUE(server.catalog->reaper().isPending(ident));
  server.server->cursors.killIf([](const ClientCursor&) { return true; });
  server.node.advance(2s);
  EXPECT_FALSE(hasTable(ident));
}

// DRP-005: what a rollback could bring back does not come back into a database that is gone.
TEST_F(TimedReadTest, ADatabaseGoesAfterItsCollections) {
  inserts("a", 1);
  inserts("b", 1);
  const auto reply = run(R"({"dropDatabase": 1})");
  EXPECT_TRUE(holds(reply, R"({"ok": 1, "dropped": "test"})"_json)) << bson::toRelaxedJson(reply);
  std::string last;
  for (const std::string& entry : batch(R"({"find": "oplog.rs", "filter": {"op": "c"}, "sort": {"$natural": -1},
                                            "limit": 3, "projection": {"_id": 0, "o": 1}})",
                                        "local"))
    last += entry;
  EXPECT_EQ(last, R"({ "o" : { "dropDatabase" : 1 } }{ "o" : { "drop" : "b" } }{ "o" : { "drop" : "a" } })");
}

TEST_F(TimedReadTest, ACursorOfAnEarlierTimeOutlivesTheDropAndOthersEnd) {
  for (int id = 1; id <= 4; ++id) inserts("c", id);
  const auto time = inserts("c", 5);
  const auto early = readAt(time, R"({"find": "c", "batchSize": 2})").view().at("cursor.id").toInt64();
  const auto present = run(R"({"find": "c", "batchSize": 2})").view().at("cursor.id").toInt64();
  does(R"({"drop": "c"})");
  const auto more = [&](int64_t id) { return server.run(bson::doc("getMore", id, "collection", "c")); };
  const auto rest = more(early);
  ASSERT_TRUE(rest["ok"].truthy()) << bson::toRelaxedJson(rest);
  EXPECT_EQ(rest.view().at("cursor.nextBatch").asArray().count(), 3);
  EXPECT_EQ(more(present)["code"].toInt64(), 175) << "QueryPlanKilled";
}

/// The counter is that of the newest data.
TEST_F(TimedReadTest, ACountOfWhatAMajorityHasDoesNotTakeTheCounter) {
  for (int id = 1; id <= 4; ++id) inserts("c", id);
  server.catalog->find({"test", "c"})->records().correctSize(77, 77);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 77})"));
  EXPECT_TRUE(answers(R"({"count": "c", "readConcern": {"level": "majority"}})", R"({"n": 4})"));
}

TEST_F(TimedReadTest, NothingIsCreatedInADatabaseWhileAMajorityHasYetToKnowOfItsDrop) {
  inserts("c", 1);
  const Status parked = server.node.wait(supervisors::controlActor(
      server.node, "/node/storage/journal-flusher", supervisors::ControlAction::kPark, "nothing is durable"));
  ASSERT_TRUE(parked.isOK()) << parked.toString();
  const auto dropping = server.begin(parse(R"({"dropDatabase": 1})"), "test", server.connect());
  server.node.advance(1s);
  ASSERT_FALSE(dropping->done);
  const auto atOnce = bson::doc("writeConcern", bson::doc("w", 1));
  for (const char* command :
       {R"({"create": "d"})", R"({"insert": "d", "documents": [{"_id": 1}]})",
        R"({"createIndexes": "d", "indexes": [{"key": {"x": 1}, "name": "x"}]})", R"({"dropDatabase": 1})"}) {
    const bson::Document reply = server.run(with(command, atOnce));
    const bson::Element first = reply.view().at("writeErrors.0.code");
    EXPECT_EQ(first.ok() ? first.toInt64() : reply["code"].toInt64(), 215) << bson::toRelaxedJson(reply);
  }
  EXPECT_TRUE(server.run(with(R"({"create": "d"})", atOnce), "other")["ok"].truthy());
  dropping->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(dropping->done);
  EXPECT_TRUE(server.run(with(R"({"create": "d"})", atOnce))["ok"].truthy());
}

// DRP-005: between the two stages the command goes on without its client, and nobody reads what is gone.
TEST_F(TimedReadTest, ADatabasesDropGoesOnWithoutItsClient) {
  for (int id = 1; id <= 4; ++id) inserts("c", id);
  const auto cursor = run(R"({"find": "c", "batchSize": 2})").view().at("cursor.id").toInt64();
  const Status parked = server.node.wait(supervisors::controlActor(
      server.node, "/node/storage/journal-flusher", supervisors::ControlAction::kPark, "nothing is durable"));
  ASSERT_TRUE(parked.isOK()) << parked.toString();
  const auto client = server.connect();
  int looks = 0;
  client->watchPeer = [&](Duration) { ++looks; };
  const auto dropping = server.begin(parse(R"({"dropDatabase": 1})"), "test", client);
  server.node.advance(1s);
  ASSERT_FALSE(dropping->done);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(server.run(bson::doc("getMore", cursor, "collection", "c"))["code"].toInt64(), 175) << "QueryPlanKilled";
  const Status resumed = server.node.wait(
      supervisors::controlActor(server.node, "/node/storage/journal-flusher", supervisors::ControlAction::kResume, ""));
  ASSERT_TRUE(resumed.isOK()) << resumed.toString();
  server.node.advance(1s);
  ASSERT_TRUE(dropping->done);
  EXPECT_TRUE(dropping->takeReply()["ok"].truthy());
  EXPECT_GT(looks, 0) << "the wait for its own write concern";
}

}  // namespace
}  // namespace troupe::commands
