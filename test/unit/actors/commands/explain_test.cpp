#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using ExplainTest = CommandTest;

TEST_F(ExplainTest, ThePlannerAloneRunsNothing) {
  fill("c", 10);
  const bson::Document reply = run(R"({"explain": {"find": "c", "filter": {"x": 1}}, "verbosity": "queryPlanner"})");
  EXPECT_TRUE(holds(reply, R"({"ok": 1, "explainVersion": "1", "queryPlanner": {"namespace": "test.c",
                               "winningPlan": {"stage": "COLLSCAN"}}})"_json));
  EXPECT_FALSE(reply["executionStats"].ok());
}

TEST_F(ExplainTest, ExecutionStatsRunTheQuery) {
  fill("c", 10);
  EXPECT_TRUE(answers(R"({"explain": {"find": "c", "filter": {"x": 1}}, "verbosity": "executionStats"})",
                      R"({"executionStats": {"executionSuccess": true, "nReturned": 1, "totalDocsExamined": 10}})"));
}

TEST_F(ExplainTest, AllPlansIsTheDefault) {
  fill("c", 3);
  EXPECT_TRUE(
      answers(R"({"explain": {"count": "c", "query": {}}})", R"({"executionStats": {"allPlansExecution": []}})"));
}

TEST_F(ExplainTest, AnIdIsLookedUp) {
  fill("c", 10);
  const auto text =
      bson::toRelaxedJson(run(R"({"explain": {"find": "c", "filter": {"_id": 4}}, "verbosity": "queryPlanner"})"));
  EXPECT_NE(text.find("IDHACK"), std::string::npos) << text;
}

TEST_F(ExplainTest, WritesAreExplainedWithoutHappening) {
  fill("c", 10);
  EXPECT_TRUE(succeeds(
      R"({"explain": {"delete": "c", "deletes": [{"q": {"x": 1}, "limit": 0}]}, "verbosity": "executionStats"})"));
  EXPECT_TRUE(succeeds(R"({"explain": {"update": "c", "updates": [{"q": {"x": 1}, "u": {"$set": {"y": 1}}}]}})"));
  EXPECT_TRUE(succeeds(R"({"explain": {"findAndModify": "c", "query": {}, "remove": true}})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 10})"));
}

TEST_F(ExplainTest, WritesTellWhatTheyWouldChange) {
  fill("c", 10);
  EXPECT_TRUE(answers(
      R"({"explain": {"update": "c", "updates": [{"q": {"x": {"$lt": 3}}, "u": {"$max": {"x": 2}}, "multi": true}]}})",
      R"({"queryPlanner": {"winningPlan": {"stage": "UPDATE", "inputStage": {"stage": "COLLSCAN"}}},
          "executionStats": {"nReturned": 0, "executionStages": {"stage": "UPDATE", "nWouldUpsert": 0}}})"));
  EXPECT_TRUE(answers(
      R"({"explain": {"update": "c", "updates": [{"q": {"_id": 99}, "u": {"$set": {"x": 2}}, "upsert": true}]}})",
      R"({"executionStats": {"executionStages": {"nMatched": 0, "nWouldModify": 0, "nWouldUpsert": 1}}})"));
  EXPECT_TRUE(answers(R"({"explain": {"delete": "c", "deletes": [{"q": {}, "limit": 0}]}})",
                      R"({"executionStats": {"executionStages": {"stage": "DELETE", "nWouldDelete": 10}}})"));
  EXPECT_TRUE(answers(R"({"explain": {"delete": "c", "deletes": [{"q": {}, "limit": 1}]}})",
                      R"({"executionStats": {"executionStages": {"stage": "DELETE", "nWouldDelete": 1}}})"));
}

TEST_F(ExplainTest, QueriesOfOneShapeHaveOneHash) {
  fill("c", 10);
  const auto hashes = [&](const std::string& find) {
    const bson::Document reply = run(R"({"explain": )" + find + R"(, "verbosity": "queryPlanner"})");
    const auto planner = reply["queryPlanner"].asDocument();
    EXPECT_EQ(planner["planCacheShapeHash"].toStringOr(), planner["queryHash"].toStringOr());
    EXPECT_EQ(planner["planCacheKey"].toStringOr().size(), 8u);
    return std::pair(std::string(planner["queryHash"].toStringOr()), std::string(reply["queryShapeHash"].toStringOr()));
  };
  const auto one = hashes(R"({"find": "c", "filter": {"x": 1, "y": 2}})");
  EXPECT_EQ(one.first.size(), 8u);
  EXPECT_EQ(one.second.size(), 64u);
  EXPECT_EQ(one, hashes(R"({"find": "c", "filter": {"x": 3, "y": 4}})"));
  EXPECT_EQ(one.first, hashes(R"({"find": "c", "filter": {"y": 4, "x": 3}})").first);
  EXPECT_NE(one.second, hashes(R"({"find": "c", "filter": {"y": 4, "x": 3}})").second);
  EXPECT_NE(one.first, hashes(R"({"find": "c", "filter": {"_id": 1}})").first);
  EXPECT_EQ(hashes(R"({"find": "c", "filter": {"_id": 1}})"),
            hashes(R"({"find": "c", "filter": {"$and": [{"_id": 1}]}})"));
}

TEST_F(ExplainTest, OfAPipelineThatIsAFindIsThatOfAFind) {
  fill("c", 3);
  EXPECT_TRUE(answers(R"({"aggregate": "c", "explain": true, "pipeline": [{"$match": {"x": 1}}]})",
                      R"({"queryPlanner": {"namespace": "test.c", "winningPlan": {"stage": "COLLSCAN"}}})"));
}

TEST_F(ExplainTest, OfAPipelineShowsItsStages) {
  fill("c", 3);
  const auto text = bson::toRelaxedJson(run(
      R"({"explain": {"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$x"}}]}, "verbosity": "queryPlanner"})"));
  EXPECT_NE(text.find("$group"), std::string::npos) << text;
}

TEST_F(ExplainTest, RefusesWhatItCannotExplain) {
  EXPECT_EQ(code(R"({"explain": {"ping": "c"}})"), 59);
  EXPECT_EQ(code(R"({"explain": 1})"), 14);
  EXPECT_EQ(code(R"({"explain": {"find": "c"}, "verbosity": "everything"})"), 9);
}

}  // namespace troupe::commands
