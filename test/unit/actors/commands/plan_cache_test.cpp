// planCacheSetFilter, planCacheListFilters, planCacheClearFilters, planCacheClear.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class PlanCacheTest : public CommandTest {
 protected:
  PlanCacheTest() {
    fill("c", 20);
    EXPECT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1, "y": 1}, "name": "xy"},
                                                               {"key": {"x": 1, "z": 1}, "name": "xz"}]})"));
  }

  /// The index that an explained command reads, and whether an index filter said so.
  std::string planned(const std::string& command) {
    const bson::Document reply = run(R"({"explain": )" + command + R"(, "verbosity": "queryPlanner"})");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::string found = reply.view().at("queryPlanner.indexFilterSet").truthy() ? "filtered " : "free ";
    bson::View stage = reply.view().at("queryPlanner.winningPlan").asDocument();
    while (stage["inputStage"].ok() && !stage["indexName"].ok()) stage = stage["inputStage"].asDocument();
    const auto name = stage["indexName"];
    return found + std::string(name.ok() ? name.asString() : stage["stage"].asString());
  }
  bool allow(const char* indexes) {
    return static_cast<bool>(
        succeeds(std::string(R"({"planCacheSetFilter": "c", "query": {"x": 1}, "indexes": )") + indexes + "}"));
  }
};

TEST_F(PlanCacheTest, AFilterDecidesWhichIndexEveryCommandReads) {
  for (const std::string index : {"xy", "xz"}) {
    ASSERT_TRUE(allow(index == "xy" ? R"(["xy"])" : R"([{"x": 1, "z": 1}])"));
    for (const char* command :
         {R"({"find": "c", "filter": {"x": 5}})", R"({"find": "c", "filter": {"x": 5}, "hint": "xy"})",
          R"({"find": "c", "filter": {"x": 5}, "hint": "xz"})", R"({"count": "c", "query": {"x": 5}})",
          R"({"distinct": "c", "key": "x", "query": {"x": 5}})",
          R"({"aggregate": "c", "pipeline": [{"$match": {"x": 5}}], "cursor": {}})",
          R"({"update": "c", "updates": [{"q": {"x": 5}, "u": {"$set": {"a": 1}}}]})",
          R"({"delete": "c", "deletes": [{"q": {"x": 5}, "limit": 0}]})",
          R"({"findAndModify": "c", "query": {"x": 5}, "remove": true})"})
      EXPECT_EQ(planned(command), "filtered " + index) << command;
  }
}

TEST_F(PlanCacheTest, AFilterCountsForItsShapeOnly) {
  ASSERT_TRUE(allow(R"([{"none": 1}])"));
  EXPECT_EQ(planned(R"({"find": "c", "filter": {"x": 7}})"), "filtered COLLSCAN");
  EXPECT_EQ(planned(R"({"find": "c", "filter": {"x": 7}, "sort": {"x": 1}})").substr(0, 4), "free");
  EXPECT_EQ(planned(R"({"find": "c", "filter": {"x": {"$gt": 7}}})").substr(0, 4), "free");
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 7}})").size(), 2u);
  EXPECT_TRUE(answers(R"({"distinct": "c", "key": "x", "query": {"x": 7}})", R"({"values": [7]})"));
}

TEST_F(PlanCacheTest, FiltersAreListedAndCleared) {
  EXPECT_TRUE(answers(R"({"planCacheListFilters": "c"})", R"({"filters": []})"));
  ASSERT_TRUE(allow(R"(["xy"])"));
  ASSERT_TRUE(succeeds(R"({"planCacheSetFilter": "c", "query": {"y": 1}, "sort": {"z": 1}, "projection": {"z": 1},
                           "collation": {"locale": "en"}, "indexes": ["a", {"b": 1}]})"));
  ASSERT_TRUE(allow(R"(["xz"])"));  // in place of the first
  const bson::Document listed = run(R"({"planCacheListFilters": "c"})");
  EXPECT_EQ(listed["filters"].asArray().count(), 2u) << bson::toRelaxedJson(listed);
  EXPECT_TRUE(succeeds(R"({"planCacheClearFilters": "c", "query": {"y": 1}, "sort": {"z": 1}, "projection": {"z": 1},
                           "collation": {"locale": "en"}})"));
  EXPECT_TRUE(answers(R"({"planCacheListFilters": "c"})",
                      R"({"filters": [{"query": {"x": 1}, "sort": {}, "projection": {}, "indexes": ["xz"]}]})"));
  EXPECT_TRUE(succeeds(R"({"planCacheClearFilters": "c"})"));
  EXPECT_EQ(planned(R"({"find": "c", "filter": {"x": 7}})").substr(0, 4), "free");
}

TEST_F(PlanCacheTest, FiltersStayWithTheCollectionAndGoWithIt) {
  ASSERT_TRUE(allow(R"(["xz"])"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"q": 1}, "name": "q"}]})"));
  ASSERT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "test.d"})", "admin"));
  EXPECT_EQ(planned(R"({"find": "d", "filter": {"x": 7}})"), "filtered xz");
  ASSERT_TRUE(succeeds(R"({"drop": "d"})"));
  fill("d", 3);
  EXPECT_TRUE(answers(R"({"planCacheListFilters": "d"})", R"({"filters": []})"));
}

TEST_F(PlanCacheTest, WhatIsNoShapeIsRefused) {
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "indexes": ["xy"]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "query": 1, "indexes": ["xy"]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "query": {}, "sort": null, "indexes": ["xy"]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "query": {}, "collation": {}, "indexes": ["xy"]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "query": {"$no": 1}, "indexes": ["xy"]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "query": {}, "indexes": []})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "c", "query": {}, "indexes": [1]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": "none", "query": {}, "indexes": ["xy"]})"), 2);
  EXPECT_EQ(code(R"({"planCacheSetFilter": 1, "query": {}, "indexes": ["xy"]})"), 73);
  EXPECT_EQ(code(R"({"planCacheClearFilters": "c", "sort": {"x": 1}})"), 2);
  EXPECT_EQ(code(R"({"planCacheClear": "c", "sort": {"x": 1}})"), 2);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  EXPECT_EQ(code(R"({"planCacheSetFilter": "v", "query": {}, "indexes": ["xy"]})"), 166);
  EXPECT_EQ(code(R"({"planCacheListFilters": "v"})"), 166);
  EXPECT_TRUE(succeeds(R"({"planCacheClearFilters": "none", "sort": 1})"));
  EXPECT_TRUE(succeeds(R"({"planCacheClear": "c", "query": {"x": 1}})"));
}

}  // namespace troupe::commands
