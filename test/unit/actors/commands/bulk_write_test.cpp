#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using BulkWriteTest = CommandTest;
using Lines = std::vector<std::string>;

TEST_F(BulkWriteTest, WritesToSeveralCollectionsInOrder) {
  EXPECT_TRUE(answers(
      R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.a"}, {"ns": "other.b"}], "ops": [
          {"insert": 0, "document": {"_id": 1, "x": 1}}, {"insert": 0, "document": {"_id": 2, "x": 2}},
          {"insert": 1, "document": {"_id": 1}},
          {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"x": 5}}},
          {"update": 1, "filter": {"_id": 7}, "updateMods": {"$set": {"x": 5}}, "upsert": true},
          {"delete": 0, "filter": {"_id": 2}}]})",
      R"({"ok": 1, "nErrors": 0, "nInserted": 3, "nMatched": 1, "nModified": 1, "nUpserted": 1, "nDeleted": 1,
          "cursor": {"id": 0, "ns": "admin.$cmd.bulkWrite", "firstBatch": [
            {"ok": 1, "idx": 0, "n": 1}, {"ok": 1, "idx": 1, "n": 1}, {"ok": 1, "idx": 2, "n": 1},
            {"ok": 1, "idx": 3, "n": 1, "nModified": 1},
            {"ok": 1, "idx": 4, "n": 1, "nModified": 0, "upserted": {"_id": 7}}, {"ok": 1, "idx": 5, "n": 1}]}})",
      "admin"));
  EXPECT_EQ(batch(R"({"find": "a"})"), Lines{R"({ "_id" : 1, "x" : 6 })"});
  EXPECT_EQ(batch(R"({"find": "b"})", "other").size(), 2u);
}

TEST_F(BulkWriteTest, AnOrderedOneEndsAtTheFirstFailure) {
  fill("a", 1);
  const std::string ops = R"("nsInfo": [{"ns": "test.a"}], "ops": [
      {"insert": 0, "document": {"_id": 10}}, {"insert": 0, "document": {"_id": 1}},
      {"insert": 0, "document": {"_id": 11}}, {"update": 0, "filter": {"_id": 1}, "updateMods": {"$set": {"_id": 2}}},
      {"delete": 0, "filter": {"_id": 10}}])";
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, )" + ops + "}",
                      R"({"ok": 1, "nInserted": 1, "nErrors": 1, "nDeleted": 0, "cursor": {"firstBatch": [
                          {"ok": 1, "idx": 0}, {"ok": 0, "idx": 1, "code": 11000, "n": 0}]}})",
                      "admin"));
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, "ordered": false, "errorsOnly": true, )" + ops + "}",
                      R"({"ok": 1, "nInserted": 1, "nErrors": 3, "nDeleted": 1, "cursor": {"firstBatch": [
                          {"ok": 0, "idx": 0, "code": 11000}, {"ok": 0, "idx": 1, "code": 11000},
                          {"ok": 0, "idx": 3, "code": 66, "n": 0, "nModified": 0}]}})",
                      "admin"));
}

TEST_F(BulkWriteTest, WhatOneCollectionRefusesFailsItsOperationsOnly) {
  fill("a", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "a", "pipeline": []})"));
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, "ordered": false, "nsInfo": [{"ns": "test.v"}, {"ns": "test.a"}], "ops": [
                          {"insert": 0, "document": {"_id": 5}}, {"delete": 0, "filter": {}},
                          {"insert": 1, "document": {"_id": 5}}]})",
                      R"({"ok": 1, "nErrors": 2, "nInserted": 1, "cursor": {"firstBatch": [
                          {"ok": 0, "idx": 0, "code": 166}, {"ok": 0, "idx": 1, "code": 166}, {"ok": 1, "idx": 2}]}})",
                      "admin"));
}

TEST_F(BulkWriteTest, ObeysValidatorsUnlessTheyAreBypassed) {
  ASSERT_TRUE(succeeds(R"({"create": "a", "validator": {"x": {"$exists": true}}})"));
  const std::string rest = R"("nsInfo": [{"ns": "test.a"}], "ops": [{"insert": 0, "document": {"_id": 1}}])";
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, )" + rest + "}",
                      R"({"nErrors": 1, "cursor": {"firstBatch": [{"ok": 0, "idx": 0, "code": 121}]}})", "admin"));
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, "bypassDocumentValidation": true, )" + rest + "}",
                      R"({"nErrors": 0, "nInserted": 1})", "admin"));
}

TEST_F(BulkWriteTest, KnowsTheOptionsOfUpdatesAndDeletes) {
  fill("a", 10);
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.a"}], "let": {"least": 8}, "ops": [
      {"update": 0, "filter": {"$expr": {"$gte": ["$x", "$$least"]}}, "updateMods": {"$set": {"big": 1}}, "multi": true},
      {"update": 0, "filter": {}, "sort": {"x": -1}, "updateMods": {"$set": {"most": 1}}},
      {"update": 0, "filter": {"_id": 1}, "updateMods": [{"$set": {"c": "$$k"}}], "constants": {"k": 3}},
      {"delete": 0, "filter": {"x": {"$lt": 4}}, "multi": true, "hint": {"_id": 1}}]})",
                      R"({"ok": 1, "nErrors": 0})", "admin"));
  EXPECT_TRUE(answers(R"({"count": "a", "query": {"most": 1, "big": 1}})", R"({"n": 1})"));
}

TEST_F(BulkWriteTest, LongResultsAreReadByACursor) {
  const bson::Document reply = run(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.a"}], "cursor": {"batchSize": 1},
      "ops": [{"insert": 0, "document": {}}, {"insert": 0, "document": {}}, {"insert": 0, "document": {}}]})",
                                   "admin");
  const int64_t id = reply.view().at("cursor.id").toInt64();
  ASSERT_GT(id, 0) << bson::toRelaxedJson(reply);
  EXPECT_TRUE(
      answers(R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "$cmd.bulkWrite"})",
              R"({"cursor": {"id": 0, "nextBatch": [{"idx": 1}, {"idx": 2}]}})", "admin"));
}

TEST_F(BulkWriteTest, IsReadAsAWholeBeforeAnythingIsWritten) {
  const auto refused = [&](const std::string& ops, const char* namespaces = R"([{"ns": "test.a"}])") {
    return code(R"({"bulkWrite": 1, "nsInfo": )" + std::string(namespaces) +
                    R"(, "ops": [{"insert": 0, "document": {"_id": 1}}, )" + ops + "]}",
                "admin");
  };
  EXPECT_EQ(refused(R"({"insert": 0})"), 40414);
  EXPECT_EQ(refused(R"({"update": 0, "updateMods": {}})"), 40414);
  EXPECT_EQ(refused(R"({"delete": 0, "filter": {}, "limit": 1})"), 40415);
  EXPECT_EQ(refused(R"({"replace": 0, "document": {}})"), 40415);
  EXPECT_EQ(refused(R"({"insert": 1, "document": {}})"), 2);
  EXPECT_EQ(refused(R"({"insert": -1, "document": {}})"), 2);
  EXPECT_EQ(refused(R"({"insert": "a", "document": {}})"), 14);
  EXPECT_EQ(refused(R"({"update": 0, "filter": {}, "updateMods": {}, "multi": true, "sort": {"a": 1}})"), 9);
  EXPECT_EQ(refused(R"({"delete": 0, "filter": {}})", R"([{"ns": "nodot"}])"), 73);
  EXPECT_EQ(refused(R"({"delete": 0, "filter": {}})", R"([{"ns": "test.a", "more": 1}])"), 40415);
  EXPECT_EQ(code(R"({"bulkWrite": 1, "ops": [], "nsInfo": [{"ns": "test.a"}]})", "admin"), 16);
  EXPECT_EQ(code(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.a"}]})", "admin"), 40414);
  EXPECT_EQ(code(R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "test.a"}]})"), 13);
  EXPECT_TRUE(answers(R"({"count": "a"})", R"({"n": 0})"));
}

TEST_F(BulkWriteTest, ABatchSizeBelowZeroIsRefusedBeforeAnythingIsWritten) {
  EXPECT_EQ(code(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.a"}], "cursor": {"batchSize": -1},
                     "ops": [{"insert": 0, "document": {"_id": 1}}]})",
                 "admin"),
            51024);
  EXPECT_TRUE(answers(R"({"count": "a"})", R"({"n": 0})"));
}

TEST_F(BulkWriteTest, WhereRowsHaveNoMemoryTheNextOperationFailsAndNoneThatWasDone) {
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryLimitBytes": 1048576})", "admin"));
  constexpr int kOperations = 30'000;  // whose rows take more
  bson::Builder command;
  command.append("bulkWrite", 1).append("ordered", false);
  command.append("nsInfo", bson::array(bson::doc("ns", "test.a"), bson::doc("ns", "test.b")));
  command.openArray("ops");
  for (int i = 0; i < kOperations; ++i) command.push(bson::doc("insert", i % 2, "document", bson::doc("_id", i)));
  const bson::Document reply = server.run(command.close().finish(), "admin");
  ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply).substr(0, 300);
  EXPECT_EQ(reply["nErrors"].toInt64(), 1);
  const int64_t done = reply["nInserted"].toInt64();
  EXPECT_GT(done, 0);
  EXPECT_LT(done, kOperations);
  EXPECT_EQ(run(R"({"count": "a"})")["n"].toInt64() + run(R"({"count": "b"})")["n"].toInt64(), done);
  bson::Document last;
  for (const bson::Element& row : reply.view().at("cursor.firstBatch").asArray())
    last = bson::Document(row.asDocument());
  EXPECT_EQ(last["idx"].toInt64(), done);
  EXPECT_EQ(last["code"].toInt64(), 146);
}

TEST_F(BulkWriteTest, NamespacesThatNoOperationNamesAreAllowed) {
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.a"}, {"ns": "test.unused"}], "ops": [
                          {"insert": 0, "document": {"_id": 1}}]})",
                      R"({"ok": 1, "nInserted": 1})", "admin"));
}

TEST_F(BulkWriteTest, TheUuidOfAnotherCollectionFailsTheOperations) {
  fill("a", 1);
  EXPECT_TRUE(answers(R"({"bulkWrite": 1, "ordered": false,
                          "nsInfo": [{"ns": "test.a", "collectionUUID": {"$uuid": "3b241101-e2bb-4255-8caf-4136c566a962"}}],
                          "ops": [{"insert": 0, "document": {"_id": 5}}, {"delete": 0, "filter": {}}]})",
                      R"({"ok": 1, "nErrors": 2, "nInserted": 0, "nDeleted": 0, "cursor": {"firstBatch": [
                          {"ok": 0, "idx": 0, "code": 361}, {"ok": 0, "idx": 1, "code": 361}]}})",
                      "admin"));
}

}  // namespace troupe::commands
