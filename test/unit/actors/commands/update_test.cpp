// update, delete, findAndModify.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using UpdateTest = CommandTest;
using Lines = std::vector<std::string>;

TEST_F(UpdateTest, ChangesOneOrManyAndCounts) {
  fill("c", 20);
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}}]})",
                      R"({"ok": 1, "n": 1, "nModified": 1})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}, "multi": true}]})",
                      R"({"ok": 1, "n": 2, "nModified": 1})"));
}

TEST_F(UpdateTest, AStatementThatMatchesNothingChangesNothing) {
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"y": 1}}}]})",
                      R"({"ok": 1, "n": 0, "nModified": 0})"));
}

TEST_F(UpdateTest, UpsertsWithTheFieldsOfTheFilter) {
  EXPECT_TRUE(
      answers(R"({"update": "c", "updates": [{"q": {"_id": 7, "a": 1}, "u": {"$inc": {"n": 2}}, "upsert": true}]})",
              R"({"n": 1, "nModified": 0, "upserted": [{"index": 0, "_id": 7}]})"));
  EXPECT_EQ(batch(R"({"find": "c"})"), Lines{R"({ "_id" : 7, "a" : 1, "n" : 2 })"});
}

TEST_F(UpdateTest, ReplacesByADocumentAndKeepsTheId) {
  fill("c", 1);
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"z": 9}}]})", R"({"nModified": 1})"));
  EXPECT_EQ(batch(R"({"find": "c"})"), Lines{R"({ "_id" : 1, "z" : 9 })"});
}

TEST_F(UpdateTest, RunsPipelinesAndArrayFilters) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "a": [1, 5, 9]}]})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a.$[big]": 0}},
                          "arrayFilters": [{"big": {"$gt": 4}}]}]})",
                      R"({"nModified": 1})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {}, "u": [{"$set": {"n": {"$size": "$a"}}}]}]})",
                      R"({"nModified": 1})"));
  EXPECT_EQ(batch(R"({"find": "c"})"), Lines{R"({ "_id" : 1, "a" : [ 1, 0, 0 ], "n" : 3 })"});
}

TEST_F(UpdateTest, TheIdCannotChange) {
  fill("c", 1);
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"_id": 2}}}]})",
                      R"({"ok": 1, "n": 0, "writeErrors": [{"index": 0, "code": 66}]})"));
}

TEST_F(UpdateTest, AnOrderedBatchEndsAtTheFirstFailure) {
  fill("c", 3);
  const char* statements = R"("updates": [{"q": {"_id": 1}, "u": {"$set": {"_id": 2}}},
                                          {"q": {"_id": 2}, "u": {"$set": {"y": 1}}}])";
  EXPECT_TRUE(answers(R"({"update": "c", )" + std::string(statements) + "}", R"({"n": 0})"));
  EXPECT_TRUE(answers(R"({"update": "c", "ordered": false, )" + std::string(statements) + "}", R"({"n": 1})"));
}

TEST_F(UpdateTest, StatementsAreCheckedStrictly) {
  EXPECT_EQ(code(R"({"update": "c", "updates": [{"q": {}}]})"), 40414);
  EXPECT_EQ(code(R"({"update": "c", "updates": [{"q": {}, "u": {}, "x": 1}]})"), 40415);
  EXPECT_EQ(code(R"({"update": "c", "updates": []})"), 16);
  EXPECT_EQ(code(R"({"delete": "c", "deletes": [{"q": {}}]})"), 40414);
  EXPECT_EQ(code(R"({"delete": "c", "deletes": [{"q": {}, "limit": 2}]})"), 9);
}

TEST_F(UpdateTest, DeletesOneOrAll) {
  fill("c", 20);
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {"x": 1}, "limit": 1}]})", R"({"ok": 1, "n": 1})"));
  EXPECT_TRUE(
      answers(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gt": 15}}, "limit": 0}, {"q": {"_id": 2}, "limit": 0}]})",
              R"({"ok": 1, "n": 6})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 13})"));
  EXPECT_TRUE(answers(R"({"delete": "missing", "deletes": [{"q": {}, "limit": 0}]})", R"({"ok": 1, "n": 0})"));
}

TEST_F(UpdateTest, FindAndModifyAnswersWithTheDocumentBeforeOrAfter) {
  fill("c", 3);
  EXPECT_TRUE(
      answers(R"({"findAndModify": "c", "query": {"_id": 2}, "update": {"$set": {"x": 9}}})",
              R"({"ok": 1, "lastErrorObject": {"n": 1, "updatedExisting": true}, "value": {"_id": 2, "x": 2}})"));
  EXPECT_TRUE(answers(R"({"findAndModify": "c", "query": {"_id": 2}, "update": {"$inc": {"x": 1}}, "new": true,
                          "fields": {"_id": 0}})",
                      R"({"value": {"x": 10}})"));
}

TEST_F(UpdateTest, FindAndModifyChoosesBySortAndRemoves) {
  fill("c", 3);
  EXPECT_TRUE(answers(R"({"findAndModify": "c", "query": {}, "sort": {"_id": -1}, "remove": true})",
                      R"({"lastErrorObject": {"n": 1}, "value": {"_id": 3}})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 2})"));
}

TEST_F(UpdateTest, FindAndModifyUpserts) {
  EXPECT_TRUE(answers(
      R"({"findAndModify": "c", "query": {"_id": 5}, "update": {"$set": {"a": 1}}, "upsert": true, "new": true})",
      R"({"lastErrorObject": {"n": 1, "updatedExisting": false, "upserted": 5}, "value": {"_id": 5, "a": 1}})"));
  EXPECT_TRUE(answers(R"({"findAndModify": "c", "query": {"_id": 6}, "update": {"$set": {"a": 1}}})",
                      R"({"lastErrorObject": {"n": 0, "updatedExisting": false}, "value": null})"));
}

TEST_F(UpdateTest, FindAndModifyRefusesWhatContradictsItself) {
  EXPECT_EQ(code(R"({"findAndModify": "c", "query": {}})"), 9);
  EXPECT_EQ(code(R"({"findAndModify": "c", "remove": true, "update": {}})"), 9);
  EXPECT_EQ(code(R"({"findAndModify": "c", "remove": true, "new": true})"), 9);
  EXPECT_EQ(code(R"({"findAndModify": "c", "remove": true, "upsert": true})"), 9);
}

TEST_F(UpdateTest, FindAndModifyChangesNothingWhenItsFieldsFail) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": 0, "a": [1, 5]}]})"));
  const auto failsWith = [&](const std::string& rest) {
    return code(R"({"findAndModify": "c", "query": {"_id": 1, "a": 5}, )" + rest + "}");
  };
  EXPECT_EQ(failsWith(R"("update": {"$set": {"x": 7}}, "fields": {"x": 1, "a": 0})"), 31254);
  EXPECT_EQ(failsWith(R"("remove": true, "fields": {"x": 1, "a": 0})"), 31254);
  EXPECT_NE(failsWith(R"("remove": true, "fields": {"v": {"$divide": [1, "$x"]}})"), 0);
  EXPECT_NE(failsWith(R"("update": {"$set": {"y": 7}}, "fields": {"v": {"$divide": [1, "$x"]}}, "new": true)"), 0);
  EXPECT_EQ(failsWith(R"("update": {"$set": {"x": 7}}, "fields": {"a.$": 1}, "new": true)"), 2);
  EXPECT_NE(code(R"({"findAndModify": "c", "query": {"_id": 2, "x": 0}, "update": {"$set": {"y": 7}}, "upsert": true,
                     "new": true, "fields": {"v": {"$divide": [1, "$x"]}}})"),
            0);
  EXPECT_EQ(batch(R"({"find": "c"})"), Lines{R"({ "_id" : 1, "x" : 0, "a" : [ 1, 5 ] })"});
  EXPECT_TRUE(answers(R"({"findAndModify": "c", "query": {"_id": 1, "a": 5}, "update": {"$set": {"x": 7}},
                          "fields": {"a.$": 1}})",
                      R"({"value": {"_id": 1, "a": [5]}})"));
}

TEST_F(UpdateTest, AValidatorHoldsForUpdatesToo) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "validator": {"x": {"$lt": 5}}})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 7}}}]})",
                      R"({"n": 0, "writeErrors": [{"code": 121}]})"));
}

TEST_F(UpdateTest, AReplacementByTheSameIsValidatedToo) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "validator": {"a": {"$gt": 5}}})"));
  const char* same = R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "a": 1}}]})";
  EXPECT_TRUE(answers(same, R"({"n": 0, "writeErrors": [{"code": 121}]})"));
  EXPECT_EQ(code(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"_id": 1, "a": 1}})"), 121);
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]})",
                      R"({"n": 1, "nModified": 0})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "validationLevel": "moderate"})"));
  EXPECT_TRUE(answers(same, R"({"n": 1, "nModified": 0})"));
}

TEST_F(UpdateTest, EmptyTimestampsOfAReplacementBecomeThePresent) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  bson::Timestamp last;
  for (const char* command :
       {R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"t": {"$timestamp": {"t": 0, "i": 0}}}}]})",
        R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"t": {"$timestamp": {"t": 0, "i": 0}}}})"}) {
    ASSERT_TRUE(succeeds(command)) << command;
    const bson::Document reply = run(R"({"find": "c", "filter": {"_id": 1}})");
    const auto now = reply.view().at("cursor.firstBatch.0.t").asTimestamp();
    EXPECT_EQ(now.seconds, server.wallMillis() / 1000) << command;
    EXPECT_GT(now, last) << command;
    last = now;
  }
}

TEST_F(UpdateTest, KeepsIndexesInStep) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "unique": true}]})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 2}}}]})",
                      R"({"n": 0, "writeErrors": [{"code": 11000}]})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 8}}}]})", R"({"n": 1})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 8}, "hint": "x_1"})").size(), 1u);
  EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"valid": true})"));
}

TEST_F(UpdateTest, AnUnacknowledgedUpdateTellsNoErrors) {
  fill("c", 1);
  const bson::Document reply =
      run(R"({"update": "c", "updates": [{"q": {}, "u": {"a": 2}, "multi": true}], "writeConcern": {"w": 0}})");
  EXPECT_TRUE(reply["ok"].truthy());
  EXPECT_FALSE(reply["writeErrors"].ok()) << bson::toRelaxedJson(reply);
}

TEST_F(UpdateTest, TheOnlyDocumentOfAnIdNeedsNoOrder) {
  fill("c", 1);
  const char* const kUnsorted = R"({"findAndModify": "c", "query": {"_id": 1}, "sort": {"x": "up"}, "remove": true})";
  EXPECT_EQ(code(kUnsorted), 0);
  EXPECT_EQ(code(R"({"findAndModify": "c", "query": {"x": 1}, "sort": {"x": "up"}, "remove": true})"), 15974);
}

TEST_F(UpdateTest, TheVariablesOfACommandAreEvaluatedOnceForAllOfItsStatements) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})"));
  ASSERT_TRUE(succeeds(R"({"update": "c", "let": {"r": {"$rand": {}}}, "updates": [
      {"q": {"_id": 1}, "u": [{"$set": {"r": "$$r"}}]}, {"q": {"_id": 2}, "u": [{"$set": {"r": "$$r"}}]}]})"));
  const bson::Document values = run(R"({"distinct": "c", "key": "r"})");
  EXPECT_EQ(values["values"].asArray().count(), 1) << bson::toRelaxedJson(values);
}

TEST_F(UpdateTest, AVariableComparesAsTheCollationOfItsStatementSays) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})"));
  ASSERT_TRUE(succeeds(R"({"update": "c", "let": {"same": {"$eq": ["a", "A"]}}, "updates": [
      {"q": {"_id": 1}, "u": [{"$set": {"v": "$$same"}}]},
      {"q": {"_id": 2}, "u": [{"$set": {"v": "$$same"}}], "collation": {"locale": "en", "strength": 1}},
      {"q": {"_id": 3}, "u": [{"$set": {"v": "$$same"}}]}]})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"v": true}})").size(), 1u);
}

}  // namespace troupe::commands
