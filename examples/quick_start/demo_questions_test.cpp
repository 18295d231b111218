#include "demo_questions.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::demo {
namespace {

using bson::operator""_json;

TEST(DemoQuestions, AreCommandsOnTheirCollections) {
  for (const auto& question : demoQuestions()) {
    const auto command = bson::fromJson(question.command);
    ASSERT_TRUE(command.isOK()) << question.title << ": " << command.status().toString();
    EXPECT_EQ(command->view().first().toStringOr(), question.collection) << question.title;
    EXPECT_TRUE(question.shell.starts_with("db." + std::string(question.collection) + "." +
                                           std::string(command->view().first().name())))
        << question.title;
    EXPECT_FALSE(question.columns.empty());
  }
}

TEST(DemoQuestions, KnowWhichIndexAPlanUses) {
  EXPECT_EQ(
      indexOfPlan(
          R"({"queryPlanner": {"rejectedPlans": [{"stage": "COLLSCAN"}], "winningPlan": {"stage": "FETCH", "inputStage": {"stage": "IXSCAN", "indexName": "a_1"}}}})"_json),
      "a_1");
  EXPECT_EQ(indexOfPlan(R"({"stages": [{"$cursor": {"queryPlanner": {"winningPlan": {"stage": "COLLSCAN"}}}}]})"_json),
            "");
  EXPECT_EQ(indexOfPlan(R"({"queryPlanner": {"winningPlan": {"stage": "IDHACK"}}})"_json), "_id_");
  EXPECT_EQ(indexOfPlan(R"({"ok": 1})"_json), std::nullopt);
}

}  // namespace
}  // namespace troupe::demo
