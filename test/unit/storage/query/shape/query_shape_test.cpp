#include "storage/query/shape/query_shape.hpp"

#include <gtest/gtest.h>

#include <map>

#include "messaging/bson/collation.hpp"
#include "storage/query/match/match_parser.hpp"
#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

bson::Document shapeJson(const char* text) { return filterJson(text); }

std::string plan(const char* filter, const char* sort = "{}", const char* projection = "{}",
                 const ParseContext& context = {}) {
  const bson::Document document = shapeJson(filter), by = shapeJson(sort), shown = shapeJson(projection);
  const auto parsed = parseMatch(document, context);
  EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
  const auto shape = planShape({.filter = parsed->get(), .sort = by, .projection = shown}, context);
  return *shape;
}

std::string command(const char* find) {
  using enum ShapedField::Kind;
  const bson::Document fields = shapeJson(find);
  const auto hash = queryShapeHash("find", "test.c", fields,
                                   {{"filter", kFilter},
                                    {"sort", kVerbatim},
                                    {"projection", kProjection},
                                    {"limit", kExpression},
                                    {"pipeline", kPipeline}},
                                   {});
  EXPECT_TRUE(hash.isOK()) << hash.status().toString();
  return hash.isOK() ? *hash : std::string();
}

TEST(PlanShape, DoesNotDependOnConstantsOrOrder) {
  EXPECT_EQ(plan(R"({"a": 1})"), plan(R"({"a": {"$eq": "x"}})"));
  EXPECT_EQ(plan(R"({"a": 1, "b": 2})"), plan(R"({"$and": [{"b": 3}, {"a": 4}]})"));
  EXPECT_EQ(plan(R"({"a": {"$in": [1, 2]}})"), plan(R"({"a": {"$in": [3, 4, 5]}})"));
  EXPECT_EQ(plan(R"({"a": {"%type": "int"}})"), plan(R"({"a": {"%type": "string"}})"));
  EXPECT_EQ(plan(R"({"$expr": {"$gt": ["$a", 1]}})"), plan(R"({"$expr": {"$lt": ["$b", 1]}})"));
  EXPECT_EQ(plan(R"({"$and": [{"a": 1}, {"$and": [{"b": 1}, {"c": 1}]}]})"), plan(R"({"c": 1, "b": 1, "a": 1})"));
  EXPECT_EQ(plan("{}", "{}", R"({"a": 1, "b": 1})"), plan("{}", "{}", R"({"b": true, "a": 1})"));
}

TEST(PlanShape, DependsOnOperatorsPathsAndOrder) {
  const char* filters[] = {R"({"a": 1})",
                           R"({"b": 1})",
                           R"({"a": {"$gt": 1}})",
                           R"({"a": {"$ne": 1}})",
                           R"({"a": {"$in": [1, 2]}})",
                           R"({"a": {"$nin": [1, 2]}})",
                           R"({"a": {"$all": [1, 2]}})",
                           R"({"a": {"$exists": true}})",
                           R"({"a": {"$exists": false}})",
                           R"({"a.b": 1})",
                           R"({"$or": [{"a": 1}, {"b": 1}]})",
                           R"({"$nor": [{"a": 1}, {"b": 1}]})",
                           R"({"$and": [{"a": 1}, {"b": 1}]})",
                           R"({"$jsonSchema": {"required": ["a"]}})",
                           R"({"$jsonSchema": {"required": ["b"]}})",
                           R"({"a": {"$elemMatch": {"$gt": 1}}})",
                           R"({"a": {"$elemMatch": {"$lt": 1}}})"};
  std::map<std::string, const char*> seen;
  for (const char* filter : filters) {
    const auto [place, isNew] = seen.emplace(plan(filter), filter);
    EXPECT_TRUE(isNew) << filter << " and " << place->second;
  }
  EXPECT_NE(plan("{}", R"({"a": 1})"), plan("{}", R"({"a": -1})"));
  EXPECT_NE(plan("{}", R"({"a": 1, "b": 1})"), plan("{}", R"({"b": 1, "a": 1})"));
  EXPECT_NE(plan("{}", "{}", R"({"a": 1})"), plan("{}", "{}", R"({"a": 0})"));
}

TEST(PlanShape, HasTheCollationInIt) {
  const auto english = bson::Collator::parse(bson::doc("locale", "en"));
  const auto french = bson::Collator::parse(bson::doc("locale", "fr"));
  ASSERT_TRUE(english.isOK() && french.isOK());
  ParseContext one, other;
  one.collator = english->get();
  other.collator = french->get();
  EXPECT_NE(plan(R"({"a": 1})", "{}", "{}", one), plan(R"({"a": 1})", "{}", "{}", other));
  EXPECT_NE(plan(R"({"a": 1})", "{}", "{}", one), plan(R"({"a": 1})"));
}

TEST(PlanShape, OfOneValueInAListIsThatOfTheValue) { EXPECT_EQ(plan(R"({"a": {"$in": [1]}})"), plan(R"({"a": 1})")); }

TEST(QueryShape, DoesNotDependOnConstants) {
  EXPECT_EQ(command(R"({"filter": {"a": 1}, "limit": 5})"), command(R"({"filter": {"a": {"$eq": 7}}, "limit": 6})"));
  EXPECT_EQ(command(R"({"filter": {"a": {"$in": [1]}}})"), command(R"({"filter": {"a": {"$in": [1, 2]}}})"));
  EXPECT_EQ(command(R"({"filter": {"a": {"%type": ["int"]}}})"), command(R"({"filter": {"a": {"%type": 16}}})"));
  EXPECT_EQ(command(R"({"filter": {}})"), command("{}"));
  EXPECT_EQ(command(R"({"pipeline": [{"$match": {"a": 1}}, {"$limit": 1}]})"),
            command(R"({"pipeline": [{"$match": {"a": {"$eq": 2}}}, {"$limit": 9}]})"));
}

TEST(QueryShape, DependsOnOrderOperatorsAndTypes) {
  EXPECT_NE(command(R"({"filter": {"a": 1, "b": 1}})"), command(R"({"filter": {"b": 1, "a": 1}})"));
  EXPECT_NE(command(R"({"filter": {"a": 1}})"), command(R"({"filter": {"a": "x"}})"));
  EXPECT_NE(command(R"({"filter": {"a": {"%type": "int"}}})"), command(R"({"filter": {"a": {"%type": "string"}}})"));
  EXPECT_NE(command(R"({"filter": {"$expr": {"$gt": ["$a", 1]}}})"),
            command(R"({"filter": {"$expr": {"$lt": ["$a", 1]}}})"));
  EXPECT_NE(command(R"({"projection": {"a": 1, "b": 1}})"), command(R"({"projection": {"b": 1, "a": 1}})"));
  EXPECT_NE(command(R"({"pipeline": [{"$limit": 1}]})"), command(R"({"pipeline": [{"$skip": 1}]})"));
  EXPECT_EQ(command("{}").size(), 64u);
}

TEST(ShortHash, IsEightDigits) {
  EXPECT_EQ(shortHash("a"), "E40C292C");
  EXPECT_NE(shortHash("a"), shortHash("b"));
}

}  // namespace
}  // namespace troupe::query
