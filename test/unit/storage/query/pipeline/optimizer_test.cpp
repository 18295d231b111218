#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

using bson::operator""_json;

/// Pipelines as long as they may be.
class OptimizerTest : public testing::Test {
 protected:
  std::unique_ptr<Pipeline> parsed(const bson::Document& stages) {
    auto pipeline = Pipeline::parse(stages["p"].asArray(), {.parse = &parse_, .on = {"db", "c"}});
    EXPECT_TRUE(pipeline.isOK()) << pipeline.status().toString();
    return std::move(*pipeline);
  }
  static bson::Document repeated(int times, const std::vector<bson::Document>& stages) {
    bson::Builder b;
    b.openArray("p");
    for (int i = 0; i < times; ++i)
      for (const bson::Document& stage : stages) b.push(stage);
    return b.close().finish();
  }

  ParseContext parse_;
};

TEST_F(OptimizerTest, MergesAsManyMatchesAsThereMayBeIntoOneFlatFilter) {
  const auto pipeline = parsed(repeated(1000, {R"({"$match": {"a": 1}})"_json}));
  const Status status = pipeline->optimize();
  ASSERT_TRUE(status.isOK()) << status.toString();
  EXPECT_EQ(pipeline->size(), 1U);
  const PushDown taken = pipeline->takePushDown();
  EXPECT_EQ(taken.filter["$and"].asArray().count(), 1000);
  EXPECT_EQ(taken.filter["$and"].asArray().first().asDocument(), R"({"a": 1})"_json);
}

TEST_F(OptimizerTest, BringsMatchesTogetherFromBehindOtherStages) {
  const auto pipeline = parsed(repeated(
      250, {R"({"$addFields": {"b": 1}})"_json, R"({"$sort": {"b": 1}})"_json, R"({"$match": {"a": 1}})"_json}));
  ASSERT_TRUE(pipeline->optimize().isOK());
  EXPECT_EQ(pipeline->size(), 501U);
  EXPECT_EQ(pipeline->takePushDown().filter["$and"].asArray().count(), 250);
}

TEST_F(OptimizerTest, LeavesOutFiltersThatAreEmpty) {
  const auto pipeline = parsed(R"({"p": [{"$match": {}}, {"$match": {"a": 1}}, {"$match": {}}]})"_json);
  ASSERT_TRUE(pipeline->optimize().isOK());
  EXPECT_EQ(pipeline->takePushDown().filter, R"({"a": 1})"_json);
  const auto empty = parsed(R"({"p": [{"$match": {}}, {"$match": {}}]})"_json);
  ASSERT_TRUE(empty->optimize().isOK());
  EXPECT_TRUE(empty->takePushDown().filter.empty());
}

TEST_F(OptimizerTest, LeavesApartWhatTogetherWouldBeTooDeep) {
  bson::Document filter = R"({"a": 1})"_json, deepest;
  while (parseMatch(filter, parse_).isOK()) {
    deepest = filter;
    filter = bson::doc("$or", bson::Value::array(bson::doc("0", filter, "1", R"({"b": 1})"_json)));
  }
  const auto pipeline = parsed(repeated(3, {bson::doc("$match", deepest)}));
  const Status status = pipeline->optimize();
  ASSERT_TRUE(status.isOK()) << status.toString();
  EXPECT_EQ(pipeline->size(), 3U);
}

TEST_F(OptimizerTest, EndsWithTheOperation) {
  TestWork work;
  parse_.work = &work;
  const auto pipeline = parsed(repeated(400, {R"({"$addFields": {"b": 1}})"_json, R"({"$match": {"a": 1}})"_json}));
  work.killed = true;
  EXPECT_EQ(pipeline->optimize().code(), ErrorCode::kInterrupted);
}

TEST_F(OptimizerTest, GivesASortTheLimitBehindIt) {
  const auto limitOf = [&](const bson::Document& stages, size_t size) {
    const auto pipeline = parsed(stages);
    EXPECT_TRUE(pipeline->optimize().isOK());
    EXPECT_EQ(pipeline->size(), size) << bson::toRelaxedJson(stages);
    return pipeline->takePushDown().limit.value_or(-1);
  };
  EXPECT_EQ(limitOf(R"({"p": [{"$sort": {"a": 1}}, {"$limit": 5}]})"_json, 1), 5);
  EXPECT_EQ(limitOf(R"({"p": [{"$sort": {"a": 1}}, {"$match": {"b": 1}}, {"$limit": 5}]})"_json, 2), 5);
  EXPECT_EQ(limitOf(R"({"p": [{"$sort": {"a": 1}}, {"$limit": 5}, {"$limit": 3}]})"_json, 2), 3);
  EXPECT_EQ(limitOf(R"({"p": [{"$sort": {"a": 1}}, {"$skip": 2}, {"$skip": 1}, {"$limit": 5}]})"_json, 3), 5);
  EXPECT_EQ(limitOf(R"({"p": [{"$sort": {"a": 1}}, {"$addFields": {"c": 1}}, {"$limit": 5}]})"_json, 3), 5);
  EXPECT_EQ(limitOf(R"({"p": [{"$sort": {"a": 1}}, {"$unwind": "$c"}, {"$limit": 5}]})"_json, 3), -1);
}

}  // namespace
}  // namespace troupe::query
