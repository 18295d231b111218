// create, drop, dropDatabase, renameCollection, listDatabases, listCollections.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using CollectionTest = CommandTest;

TEST_F(CollectionTest, AreMadeOnceWithTheirOptions) {
  EXPECT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 4096})"));
  EXPECT_TRUE(answers(
      R"({"listCollections": 1})",
      R"({"cursor": {"firstBatch": [{"name": "c", "type": "collection", "options": {"capped": true, "size": 4096},
                          "info": {"readOnly": false}, "idIndex": {"name": "_id_", "key": {"_id": 1}}}]}})"));
  EXPECT_EQ(code(R"({"create": "c"})"), 48);
}

TEST_F(CollectionTest, RefuseOptionsThatMakeNoSense) {
  EXPECT_EQ(code(R"({"create": "c", "noSuchOption": 1})"), 40415);
  EXPECT_EQ(code(R"({"create": "c", "capped": true})"), 72);
  EXPECT_EQ(code(R"({"create": "c", "validator": {"$where": 1, "a": {"$no": 1}}})"), 2);
  EXPECT_EQ(code(R"({"create": "v", "viewOn": "c", "pipeline": [{"$out": "d"}]})"), 167);
}

TEST_F(CollectionTest, AreDroppedWithTheirIndexes) {
  fill("c", 3);
  EXPECT_TRUE(answers(R"({"drop": "c"})", R"({"ok": 1, "nIndexesWas": 1, "ns": "test.c"})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"));
  EXPECT_TRUE(succeeds(R"({"drop": "c"})"));
}

TEST_F(CollectionTest, GoWithTheirDatabase) {
  fill("c", 1);
  fill("d", 1);
  EXPECT_TRUE(answers(R"({"dropDatabase": 1})", R"({"ok": 1, "dropped": "test"})"));
  EXPECT_TRUE(answers(R"({"listDatabases": 1, "filter": {"name": "test"}})", R"({"databases": []})", "admin"));
  EXPECT_EQ(code(R"({"dropDatabase": 1})", "admin"), 20);
}

TEST_F(CollectionTest, KeepTheirDocumentsUnderANewName) {
  fill("c", 3);
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "test.d"})", "admin"));
  EXPECT_TRUE(answers(R"({"count": "d"})", R"({"n": 3})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 0})"));
}

TEST_F(CollectionTest, KeepTheirUuidUnderANewName) {
  fill("c", 1);
  const auto uuid = [&] {
    const auto reply = run(R"({"listCollections": 1})");
    return std::string(reply.view().at("cursor.firstBatch.0.info.uuid").valueBytes());
  };
  const auto before = uuid();
  ASSERT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "test.d"})", "admin"));
  EXPECT_EQ(uuid(), before);
}

TEST_F(CollectionTest, TakeAnotherPlaceOnlyWhenAskedTo) {
  fill("c", 3);
  fill("d", 1);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "test.d"})", "admin"), 48);
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "test.d", "dropTarget": true})", "admin"));
  EXPECT_TRUE(answers(R"({"count": "d"})", R"({"n": 3})"));
}

TEST_F(CollectionTest, CannotBeRenamedFromNothingOrToThemselves) {
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "test.d"})", "admin"), 26);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "test.c"})", "admin"), 20);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "a$b"})", "admin"), 73);
}

TEST_F(CollectionTest, AreListedByFilterAndName) {
  fill("a", 1);
  fill("b", 1);
  EXPECT_TRUE(answers(
      R"({"listCollections": 1, "filter": {"name": "b"}, "nameOnly": true})",
      R"({"cursor": {"ns": "test.$cmd.listCollections", "firstBatch": [{"name": "b", "type": "collection"}]}})"));
}

TEST_F(CollectionTest, DatabasesAreListedWithTheirSizes) {
  fill("c", 1);
  EXPECT_TRUE(answers(R"({"listDatabases": 1, "filter": {"name": "test"}})",
                      R"({"databases": [{"name": "test", "empty": false}]})", "admin"));
  EXPECT_TRUE(answers(R"({"listDatabases": 1, "nameOnly": true})",
                      R"({"databases": [{"name": "admin"}, {"name": "config"}, {"name": "local"}, {"name": "test"}]})",
                      "admin"))
      << "every node has its own three";
}

TEST_F(CollectionTest, DropDatabaseIsGivenOne) {
  EXPECT_EQ(code(R"({"dropDatabase": null})"), 40414);
  EXPECT_EQ(code(R"({"dropDatabase": "test"})"), 14);
  EXPECT_EQ(code(R"({"dropDatabase": 2})"), 5255100);
}

TEST_F(CollectionTest, TheIdIndexOfANewOneCanOnlyBeWhatItIs) {
  EXPECT_TRUE(succeeds(R"({"create": "c", "idIndex": {"key": {"_id": 1}, "name": "mine", "v": 2}})"));
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {}})"), 9);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": {"x": 1}, "name": "_id_"}})"), 2);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": {"_id": "hashed"}, "name": "_id_"}})"), 2);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": 1, "name": "_id_"}})"), 14);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": {"_id": 1}, "name": ""}})"), 67);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": {"_id": 1}, "name": "_id_", "v": 2.5}})"), 2);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": {"_id": 1}, "name": "_id_", "unique": true}})"), 197);
  EXPECT_EQ(code(R"({"create": "d", "idIndex": {"key": {"_id": 1}, "name": "_id_", "collation": {"locale": "en"}}})"),
            2);
  EXPECT_EQ(code(R"({"create": "d", "viewOn": "c", "idIndex": {"key": {"_id": 1}, "name": "_id_"}})"), 72);
}

TEST_F(CollectionTest, OptionsOfTheEngineAreChecked) {
  EXPECT_TRUE(succeeds(R"({"create": "c", "storageEngine": {"wiredTiger": {"configString": ""}}})"));
  EXPECT_EQ(code(R"({"create": "d", "storageEngine": {"other": {}}})"), 72);
  EXPECT_EQ(code(R"({"create": "d", "storageEngine": {"wiredTiger": 1}})"), 2);
  EXPECT_EQ(code(R"({"create": "d", "storageEngine": {"wiredTiger": {"configString": "no=such"}}})"), 2);
  EXPECT_EQ(code(R"({"create": "d", "indexOptionDefaults": {"other": 1}})"), 40415);
}

TEST_F(CollectionTest, ALongListComesInBatches) {
  for (const char* name : {"a", "b", "c"}) fill(name, 1);
  const bson::Document reply = run(R"({"listCollections": 1, "nameOnly": true, "cursor": {"batchSize": 2}})");
  const auto id = reply.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0);
  EXPECT_TRUE(holds(server.run(bson::doc("getMore", id, "collection", "$cmd.listCollections")),
                    R"({"cursor": {"id": 0, "nextBatch": [{"name": "c"}]}})"_json));
}

TEST_F(CollectionTest, FiguresAndValidation) {
  fill("c", 4);
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"ok": 1, "ns": "test.c", "count": 4, "nindexes": 1})"));
  EXPECT_TRUE(answers(R"({"dbStats": 1})", R"({"ok": 1, "db": "test", "collections": 1, "objects": 4})"));
  EXPECT_TRUE(
      answers(R"({"validate": "c"})", R"({"ok": 1, "valid": true, "nrecords": 4, "keysPerIndex": {"_id_": 4}})"));
}

TEST_F(CollectionTest, AreValidatedAloneOrBesideWrites) {
  fill("c", 4);
  LockHolder writer(server.locks, "test.c", storage::LockMode::kIX);
  EXPECT_TRUE(server.begin(R"({"validate": "c", "background": true})"_json)->done);
  const auto alone = server.begin(R"({"validate": "c"})"_json);
  EXPECT_FALSE(alone->done) << "it waits for the writer";
  writer.release();
  server.node.run();
  EXPECT_TRUE(alone->done);
}

TEST_F(CollectionTest, CannotBeValidatedFullyOrRepairedBesideWrites) {
  fill("c", 4);
  EXPECT_EQ(code(R"({"validate": "c", "background": true, "full": true})"), 72);
  EXPECT_EQ(code(R"({"validate": "c", "background": true, "repair": true})"), 72);
  EXPECT_TRUE(answers(R"({"validate": "c", "full": true})", R"({"valid": true})"));
}

TEST_F(CollectionTest, ClusteredOnesLieInTheOrderOfTheirIds) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true, "name": "by id"}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 3}, {"_id": 1}, {"_id": 2}]})"));
  const std::vector<std::string> up{R"({ "_id" : 1 })", R"({ "_id" : 2 })", R"({ "_id" : 3 })"},
      down{up[2], up[1], up[0]};
  EXPECT_EQ(batch(R"({"find": "c"})"), up);
  EXPECT_EQ(batch(R"({"find": "c", "sort": {"$natural": -1}})"), down);
  EXPECT_EQ(batch(R"({"find": "c", "hint": "by id", "filter": {"_id": {"$gt": 1}}})"),
            (std::vector<std::string>{up[1], up[2]}));
  EXPECT_EQ(batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"x": null}}]})"), up);
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"x": 1}}, "multi": true}]})",
                      R"({"n": 3, "nModified": 3})"));
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {"x": 1}, "limit": 0}]})", R"({"n": 3})"));
}

TEST_F(CollectionTest, ClusteredOnesAreReachedByIdWithoutAnIndex) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})"));
  for (int i = 0; i < 9; ++i)
    ASSERT_TRUE(server
                    .run(bson::Builder()
                             .append("insert", "c")
                             .openArray("documents")
                             .push(bson::doc("_id", i, "x", i))
                             .close()
                             .finish())["ok"]
                    .truthy());
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 4}, "u": {"$set": {"x": 44}}}]})",
                      R"({"n": 1, "nModified": 1})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": "new"}, "u": {"$set": {"x": 1}}, "upsert": true}]})",
                      R"({"n": 1, "nModified": 0})"));
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gte": 7}}, "limit": 0}]})", R"({"n": 2})"));
  EXPECT_TRUE(
      answers(R"({"findAndModify": "c", "query": {"_id": 2}, "remove": true})", R"({"value": {"_id": 2, "x": 2}})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": {"$gt": 3}}})"),
            (std::vector<std::string>{R"({ "_id" : 4, "x" : 44 })", R"({ "_id" : 5, "x" : 5 })",
                                      R"({ "_id" : 6, "x" : 6 })"}));
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": 5}]})",
              R"({"n": 0, "writeErrors": [{"code": 11000, "keyPattern": {"_id": 1}, "keyValue": {"_id": 5}}]})"));
  EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"valid": true, "nrecords": 7, "nIndexes": 0})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"count": 7, "nindexes": 0})"));
  EXPECT_TRUE(answers(
      R"({"explain": {"find": "c", "filter": {"_id": {"$lt": 5}}}, "verbosity": "executionStats"})",
      R"({"queryPlanner": {"winningPlan": {"stage": "CLUSTERED_IXSCAN", "maxRecord": 5}}, "executionStats": {"totalDocsExamined": 4, "totalKeysExamined": 0}})"));
  EXPECT_TRUE(answers(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})",
                      R"({"numIndexesBefore": 0, "numIndexesAfter": 1})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 44}, "hint": "x_1"})"),
            (std::vector<std::string>{R"({ "_id" : 4, "x" : 44 })"}));
}

TEST_F(CollectionTest, AClusteredIndexIsListedAsItWasAskedForAndCannotBeDropped) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true, "name": "by id"}})"));
  EXPECT_EQ(batch(R"({"listIndexes": "c"})"),
            std::vector<std::string>{
                R"({ "v" : 2, "key" : { "_id" : 1 }, "name" : "by id", "unique" : true, "clustered" : true })"});
  const auto listed = run(R"({"listCollections": 1})");
  const auto row = listed.view().at("cursor.firstBatch").asArray().first().asDocument();
  EXPECT_TRUE(holds(
      row, R"({"options": {"clusteredIndex": {"v": 2, "key": {"_id": 1}, "name": "by id", "unique": true}}})"_json));
  EXPECT_FALSE(row.has("idIndex"));
  EXPECT_EQ(code(R"({"dropIndexes": "c", "index": "by id"})"), 5979800);
  EXPECT_EQ(code(R"({"dropIndexes": "c", "index": {"_id": 1}})"), 5979800);
  for (const auto* wrong : {R"({"key": {"_id": -1}, "unique": true})", R"({"key": {"x": 1}, "unique": true})",
                            R"({"key": {"_id": 1}})", R"({"key": {"_id": 1}, "unique": true, "v": 1})", "true"})
    EXPECT_EQ(code(R"({"create": "d", "clusteredIndex": )" + std::string(wrong) + "}"), 72) << wrong;
}

TEST_F(CollectionTest, AreValidatedBesideWritesNoFasterThanTold) {
  const std::string text(1000, 'x');
  for (int i = 0; i < 30; ++i) {
    bson::Builder b;
    b.append("insert", "c").openArray("documents");
    for (int k = 0; k < 100; ++k) b.push(bson::doc("_id", i * 100 + k, "text", text));
    ASSERT_TRUE(server.run(b.close().finish())["ok"].truthy());
  }
  server.parameters.maxValidateMBperSec = 1;
  const auto validation = server.begin(R"({"validate": "c", "background": true})"_json);
  server.node.advance(2s);
  EXPECT_FALSE(validation->done) << "three megabytes take three seconds";
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": "meanwhile"}]})"));
  server.node.advance(2s);
  ASSERT_TRUE(validation->done);
  EXPECT_TRUE(holds(validation->takeReply(), R"({"ok": 1, "valid": true, "nrecords": 3000})"_json));
  EXPECT_TRUE(server.begin(R"({"validate": "c"})"_json)->done) << "alone it is not held up";
}

TEST_F(CollectionTest, CurrentOpShowsWhichLocksAreHeldAndWaitedFor) {
  fill("c", 3);
  const auto shown = [&](std::string_view command) {
    const auto reply =
        run(R"({"currentOp": 1, "command.)" + std::string(command) + R"(": {"$exists": true}})", "admin");
    const auto rows = reply["inprog"].asArray();
    return rows.count() == 1 ? bson::Document(rows.first().asDocument()) : bson::Document();
  };
  const auto third = server.connect();
  const bson::Document own =
      run(R"({"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$match": {"command.aggregate": 1}}], "cursor": {}})",
          "admin");
  const bson::View read = own["cursor"].asDocument()["firstBatch"].asArray().first().asDocument();
  EXPECT_TRUE(holds(read, R"({"waitingForLock": false, "locks": {"Global": "r"}})"_json)) << "a read holds no other";
  EXPECT_FALSE(read["locks"].asDocument().has("Collection"));
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  const auto write = server.begin(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"_json, "test", third);
  EXPECT_TRUE(holds(shown("delete"),
                    R"({"locks": {"ReplicationStateTransition": "w", "Global": "w", "Database": "w", "Collection": "w"},
                                          "waitingForLock": true, "admissionPriority": "normal"})"_json));
  holder.release();
  server.node.advance(2s);
  EXPECT_TRUE(write->done);
}

TEST_F(CollectionTest, WhatIsKeptOfSessionsIsAsTheServerMakesIt) {
  for (const char* name : {"system.sessions", "transactions", "image_collection"}) {
    const std::string start = R"({"create": ")" + std::string(name) + "\"";
    EXPECT_EQ(code(start + R"(, "capped": true, "size": 4096})", "config"), 72) << name;
    EXPECT_EQ(code(start + R"(, "viewOn": "c", "pipeline": []})", "config"), 73) << name;
    EXPECT_EQ(code(start + "}", "config"), 0) << name;
  }
  EXPECT_EQ(code(R"({"create": "transactions", "capped": true, "size": 4096})"), 0) << "of another database";
}

}  // namespace troupe::commands
