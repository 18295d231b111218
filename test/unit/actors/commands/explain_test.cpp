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
