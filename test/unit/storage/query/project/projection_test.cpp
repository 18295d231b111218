#include "storage/query/project/projection.hpp"

#include <gtest/gtest.h>

#include "storage/query/match/match_parser.hpp"
#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

TEST(Projection, NeedsAMatchingElementForThePositionalOperator) {
  const auto filter = parseMatch(filterJson(R"({"b": 1})"), {});
  const auto projection = parseProjection(filterJson(R"({"a.$": 1})"), filter->get(), {});
  const auto document = filterJson(R"({"a": [1], "b": 1})");
  EXPECT_EQ(ErrorCode(51246), (*projection)->apply({.document = document}).status().code());
}

TEST(Projection, ShowsMetadata) {
  const auto projection = parseProjection(filterJson(R"({"a": 1, "k": {"$meta": "sortKey"}})"), nullptr, {});
  ASSERT_TRUE((*projection)->needsSortKey());
  const auto document = filterJson(R"({"a": 1, "b": 2})");
  const auto sortKey = bson::array(7, "x");
  const auto shown = (*projection)->apply({.document = document, .sortKey = sortKey.element().asArray()});
  EXPECT_EQ(R"({ "a" : 1, "k" : [ 7, "x" ] })", bson::toRelaxedJson(*shown));
}

TEST(Projection, KnowsWhichPathsSuffice) {
  const auto paths = [](const char* spec) {
    return (*parseProjection(filterJson(spec), nullptr, {}))->requiredPaths();
  };
  EXPECT_EQ((std::vector<std::string>{"_id", "a", "b.c"}), paths(R"({"a": 1, "b.c": 1})"));
  EXPECT_EQ(std::vector<std::string>{"a"}, paths(R"({"a": 1, "_id": 0})"));
  EXPECT_TRUE(paths(R"({"a": 0})").empty());
  EXPECT_TRUE(paths(R"({"a": 1, "b": {"$slice": 1}})").empty());
}

TEST(ProjectionTree, ComputedFieldsFollowIncludedOnesAndReplaceAddedOnes) {
  const auto document = filterJson(R"({"x": 1, "a": 2, "b": {"c": 3}})");
  const auto seven = [](bson::View) -> StatusWith<bson::Value> { return bson::Value(7); };
  ProjectionTree include(ProjectionTree::Mode::kInclude, nullptr);
  ASSERT_TRUE(include.compute("a", seven).isOK() && include.mark("b").isOK() && include.compute("n.m", seven).isOK());
  EXPECT_EQ(R"({ "b" : { "c" : 3 }, "a" : 7, "n" : { "m" : 7 } })", bson::toRelaxedJson(*include.apply(document)));
  ProjectionTree add(ProjectionTree::Mode::kAdd, nullptr);
  ASSERT_TRUE(add.compute("a", seven).isOK() && add.compute("b.d", seven).isOK() && add.compute("z", seven).isOK());
  EXPECT_EQ(R"({ "x" : 1, "a" : 7, "b" : { "c" : 3, "d" : 7 }, "z" : 7 })", bson::toRelaxedJson(*add.apply(document)));
}

}  // namespace
}  // namespace troupe::query
