#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

using AggregateTest = CommandTest;
using Lines = std::vector<std::string>;

TEST_F(AggregateTest, RunsStagesOverACollection) {
  fill("c", 20);
  EXPECT_EQ(batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"x": {"$lte": 1}}},
                      {"$group": {"_id": "$x", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]})"),
            (Lines{R"({ "_id" : 0, "n" : 2 })", R"({ "_id" : 1, "n" : 2 })"}));
}

TEST_F(AggregateTest, GivesItsResultsInBatches) {
  fill("c", 5);
  const auto id =
      run(R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 2}})").view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0);
  EXPECT_TRUE(holds(server.run(bson::doc("getMore", id, "collection", "c")),
                    R"({"cursor": {"id": 0, "nextBatch": [{"_id": 3}, {"_id": 4}, {"_id": 5}]}})"_json));
}

TEST_F(AggregateTest, NeedsTheCursorOption) { EXPECT_EQ(code(R"({"aggregate": "c", "pipeline": []})"), 9); }

TEST_F(AggregateTest, RefusesUnknownStages) {
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$noSuchStage": {}}]})"), 40324);
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [1]})"), 14);
}

TEST_F(AggregateTest, JoinsAnotherCollection) {
  fill("c", 2);
  ASSERT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": "a", "of": 2}]})"));
  EXPECT_EQ(batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"_id": 2}}, {"$project": {"x": 0}},
                      {"$lookup": {"from": "d", "localField": "_id", "foreignField": "of", "as": "ds"}}]})"),
            Lines{R"({ "_id" : 2, "ds" : [ { "_id" : "a", "of" : 2 } ] })"});
}

TEST_F(AggregateTest, OutReplacesACollection) {
  fill("c", 3);
  fill("target", 9);
  EXPECT_TRUE(
      succeeds(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"_id": 1}}, {"$out": "target"}]})"));
  EXPECT_EQ(batch(R"({"find": "target"})"), Lines{R"({ "_id" : 1, "x" : 1 })"});
}

TEST_F(AggregateTest, MergeAddsToACollection) {
  fill("c", 2);
  ASSERT_TRUE(succeeds(R"({"insert": "target", "documents": [{"_id": 1, "kept": true}]})"));
  EXPECT_TRUE(succeeds(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": "target"}}]})"));
  EXPECT_EQ(batch(R"({"find": "target", "sort": {"_id": 1}})"),
            (Lines{R"({ "_id" : 1, "kept" : true, "x" : 1 })", R"({ "_id" : 2, "x" : 2 })"}));
}

TEST_F(AggregateTest, WithoutACollectionTakesItsOwnDocuments) {
  EXPECT_EQ(
      batch(
          R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": [{"a": 1}, {"a": 2}]}, {"$match": {"a": 2}}]})"),
      Lines{R"({ "a" : 2 })"});
}

TEST_F(AggregateTest, ListCatalogShowsCollectionsAndViewsAsTheyAreStored) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  const auto rows = batch(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listCatalog": {}}, {"$sort": {"name": 1}},
                              {"$project": {"_id": 0, "ns": 1, "type": 1}}]})",
                          "admin");
  EXPECT_EQ(rows, (Lines{R"({ "type" : "collection", "ns" : "test.c" })", R"({ "type" : "view", "ns" : "test.v" })"}));
}

}  // namespace troupe::commands
