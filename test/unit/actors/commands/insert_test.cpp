#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using InsertTest = CommandTest;

TEST_F(InsertTest, MakesTheCollectionAndKeepsTheDocuments) {
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 2, "a": "x"}, {"_id": 1}]})", R"({"ok": 1, "n": 2})"));
  EXPECT_EQ(batch(R"({"find": "c"})"), (std::vector<std::string>{R"({ "_id" : 2, "a" : "x" })", R"({ "_id" : 1 })"}));
}

TEST_F(InsertTest, GivesADocumentAnIdInFirstPlace) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"a": 1}]})"));
  const bson::Document reply = run(R"({"find": "c"})");
  const auto first = reply.view().at("cursor.firstBatch.0").asDocument().first();
  EXPECT_EQ(first.name(), "_id");
  EXPECT_EQ(first.type(), bson::Type::kObjectId);
}

TEST_F(InsertTest, MovesTheIdToTheFront) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"a": 1, "_id": 5}]})"));
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>{R"({ "_id" : 5, "a" : 1 })"});
}

TEST_F(InsertTest, EmptyTimestampsAtTheTopBecomeThePresent) {
  const auto seconds = static_cast<uint32_t>(server.wallMillis() / 1000);
  const bson::Timestamp empty;
  const auto id = bson::doc("_id", empty, "t", empty, "u", empty, "in", bson::doc("t", empty));
  ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", std::vector<bson::Document>{id}))["ok"].truthy());
  const bson::Document reply = run(R"({"find": "c"})");
  const bson::View found = reply.view().at("cursor.firstBatch.0").asDocument();
  EXPECT_EQ(found["_id"].asTimestamp(), empty);
  EXPECT_EQ(found.at("in.t").asTimestamp(), empty);
  EXPECT_EQ(found["t"].asTimestamp().seconds, seconds);
  EXPECT_GT(found["u"].asTimestamp(), found["t"].asTimestamp());
}

TEST_F(InsertTest, AnOrderedBatchEndsAtTheFirstFailure) {
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 1}, {"_id": 2}]})",
                      R"({"ok": 1, "n": 1, "writeErrors": [{"index": 1, "code": 11000, "keyPattern": {"_id": 1},
                          "keyValue": {"_id": 1}}]})"));
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 1u);
}

TEST_F(InsertTest, AnUnorderedBatchGoesOnAndNamesEachFailure) {
  EXPECT_TRUE(answers(R"({"insert": "c", "ordered": false, "documents":
                          [{"_id": 1}, {"_id": [1]}, {"_id": 1}, {"_id": 2}]})",
                      R"({"ok": 1, "n": 2})"));
  const auto reply = run(R"({"insert": "c", "ordered": false, "documents": [{"_id": 1}, {"_id": [1]}, {"_id": 3}]})");
  EXPECT_EQ(reply["n"].toInt64(), 1);
  EXPECT_EQ(reply["writeErrors"].asArray().count(), 2);
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 3u);
}

TEST_F(InsertTest, RefusesIdsThatCannotBe) {
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": [1]}]})", R"({"n": 0, "writeErrors": [{"code": 53}]})"));
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}]})",
              R"({"n": 0, "writeErrors": [{"code": 53}]})"));
}

TEST_F(InsertTest, WantsAtLeastOneDocument) {
  EXPECT_EQ(code(R"({"insert": "c", "documents": []})"), 16);
  EXPECT_EQ(code(R"({"insert": "c"})"), 40414);
}

TEST_F(InsertTest, RefusesAViewAndSystemCollections) {
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  EXPECT_EQ(code(R"({"insert": "v", "documents": [{"_id": 1}]})"), 166);
  EXPECT_EQ(code(R"({"insert": "system.views", "documents": [{"_id": 1}]})"), 73);
}

TEST_F(InsertTest, WithJournalingWaitsForTheFlush) {
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true}})"));
  EXPECT_GE(server.durability.statistics().waitersCompleted, 1);
  EXPECT_EQ(server.durability.durable(), server.durability.taken());
}

TEST_F(InsertTest, WhatWasAcknowledgedAsJournaledOutlivesACrash) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true}})"));
  CommandNode after({.disk = server.engine->disk()});
  EXPECT_TRUE(holds(after.run(R"({"find": "c"})"_json), R"({"cursor": {"firstBatch": [{"_id": 1}]}})"_json));
}

TEST_F(InsertTest, AValidatorRefusesWhatDoesNotMatch) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "validator": {"a": {"$gt": 0}}})"));
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 0}]})",
                      R"({"n": 1, "writeErrors": [{"index": 1, "code": 121, "errInfo": {"failingDocumentId": 2}}]})"));
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": 2}], "bypassDocumentValidation": true})", R"({"n": 1})"));
}

TEST_F(InsertTest, ManyDocumentsGoInGroups) {
  fill("c", 1000);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 1000})"));
}

}  // namespace troupe::commands
