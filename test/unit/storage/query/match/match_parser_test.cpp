#include "storage/query/match/match_parser.hpp"

#include <gtest/gtest.h>

#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

bson::Document json(std::string_view text) { return filterJson(text); }

TEST(ParseMatch, RefusesFiltersNestedTooDeeply) {
  bson::Document filter = bson::doc("a", 1);
  for (int i = 0; i < 190; ++i) {
    bson::Builder outer;
    outer.openArray("$and").push(filter).close();
    filter = outer.finish();
  }
  EXPECT_EQ(ErrorCode::kOverflow, parseMatch(filter, {}).status().code());
}

TEST(ParseMatch, TellsWhichElementMatched) {
  const auto index = [](const char* filter, const char* document) {
    MatchDetails details;
    EXPECT_TRUE((*parseMatch(json(filter), {}))->matches(json(document), &details));
    return details.arrayIndex;
  };
  EXPECT_EQ(1, index(R"({"a": 2})", R"({"a": [1, 2]})"));
  EXPECT_EQ(2, index(R"({"a.b": {"$gt": 5}})", R"({"a": [{"b": 1}, {}, {"b": 6}]})"));
  EXPECT_EQ(1, index(R"({"a": {"$elemMatch": {"b": 1}}})", R"({"a": [{"b": 2}, {"b": 1}]})"));
  EXPECT_EQ(-1, index(R"({"a": 2})", R"({"a": 2})"));
}

TEST(ParseMatch, TellsWhenAnExpressionFails) {
  const auto filter = parseMatch(json(R"({"$nor": [{"$expr": {"$divide": ["$a", 0]}}]})"), {});
  ASSERT_TRUE((*filter)->canFail());
  MatchDetails details;
  (*filter)->matches(json(R"({"a": 1})"), &details);
  EXPECT_FALSE(details.error.isOK());
}

TEST(ParseMatch, IsShownInNormalForm) {
  const auto shown = [](const char* filter) { return bson::toRelaxedJson((*parseMatch(json(filter), {}))->toBson()); };
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"a": {"$eq": 1}})")), shown(R"({"a": 1})"));
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"$and": [{"a": {"$gt": 1}}, {"b": {"$not": {"$eq": 2}}}]})")),
            shown(R"({"a": {"$gt": 1}, "b": {"$ne": 2}})"));
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"a": {"$elemMatch": {"b": {"$eq": 1}}}})")),
            shown(R"({"a": {"$elemMatch": {"b": 1}}})"));
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"a": {"$not": {"$exists": true}}})")), shown(R"({"a": {"$exists": false}})"));
  EXPECT_EQ("{ }", shown("{}"));
}

TEST(ParseMatch, WhatIsShownMeansTheSame) {
  const auto document = json(R"({"a": [1, 5], "b": "x"})");
  for (const char* filter : {R"({"a": {"$elemMatch": {"$gt": 4, "$lt": 6}}})", R"({"b": {"$not": {"%regex": "y"}}})",
                             R"({"$nor": [{"a": 7}, {"b": "z"}]})", R"({"a": {"$not": {"$elemMatch": {"$gt": 9}}}})"}) {
    const auto first = std::move(parseMatch(json(filter), {})).value();
    const auto again = parseMatch(first->toBson(), {});
    ASSERT_TRUE(again.isOK()) << bson::toRelaxedJson(first->toBson());
    EXPECT_TRUE(first->matches(document)) << filter;
    EXPECT_TRUE((*again)->matches(document)) << bson::toRelaxedJson(first->toBson());
  }
}

}  // namespace
}  // namespace troupe::query
