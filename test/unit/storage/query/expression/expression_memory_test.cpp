// Expressions, filters and updates that would take all memory, or all time: the budget and the interrupt of their
// operation end them.
#include <gtest/gtest.h>

#include <string>

#include "messaging/bson/json.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/update/update.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

class HostileExpressions : public ::testing::Test {
 protected:
  HostileExpressions() { context.work = &work; }

  Status evaluate(std::string_view json, bson::View root = {}) {
    const auto spec = bson::fromJson("{\"v\": " + std::string(json) + "}");
    EXPECT_TRUE(spec.isOK()) << json;
    TROUPE_ASSIGN(const auto expression, parseExpression(spec->view()["v"], context));
    Variables variables(&work);
    return expression->evaluate(root, variables).status();
  }

  TestWork work;
  ParseContext context;
};

/// `in` applied 64 times over, from `initial`.
std::string repeated(const std::string& initial, const std::string& in) {
  return R"({"$reduce": {"input": {"$range": [0, 64]}, "initialValue": )" + initial + R"(, "in": )" + in + "}}";
}

TEST_F(HostileExpressions, EndAtTheBudget) {
  const std::string big = "\"" + std::string(100'000, 'a') + "\"";
  const std::string manyValues = [] {
    std::string list = "[";
    for (int i = 0; i < 200; ++i) list += R"("$$value",)";
    list.back() = ']';
    return list;
  }();
  const std::string attacks[] = {
      repeated("[1, 2, 3]", R"({"$concatArrays": ["$$value", "$$value"]})"),
      repeated("\"abc\"", R"({"$concat": ["$$value", "$$value"]})"),
      repeated("\"abc\"", R"({"$concat": )" + manyValues + "}"),
      repeated("[1]", R"(["$$value", "$$value"])"),
      repeated("[1]", R"({"a": "$$value", "b": "$$value"})"),
      repeated("[1]", R"({"$concatArrays": [["$$value"], ["$$value"]]})"),
      repeated("[1]", R"({"$let": {"vars": {"x": ["$$value", "$$value"]}, "in": {"y": "$$x", "z": "$$x"}}})"),
      repeated("\"a\"", R"({"$replaceAll": {"input": "$$value", "find": "a", "replacement": "aaaaaaaa"}})"),
      repeated("\"a\"", R"({"$replaceAll": {"input": "$$value", "find": "", "replacement": "aaaa"}})"),
      repeated("[1]", R"({"$map": {"input": {"$range": [0, 16]}, "in": "$$value"}})"),
      repeated("{\"a\": 1}", R"({"$setField": {"field": "a", "input": "$$value", "value": ["$$value", "$$value"]}})"),
      repeated("{\"a\": 1}", R"({"$mergeObjects": ["$$value", {"a": "$$value", "b": "$$value"}]})"),
      R"({"$map": {"input": {"$range": [0, 100000]}, "in": )" + big + "}}",
      R"({"$range": [0, 5000000]})",
      R"([{"$range": [0, 400000]}, {"$range": [0, 400000]}, {"$range": [0, 400000]}, {"$range": [0, 400000]}])",
      R"({"$zip": {"inputs": [{"$range": [0, 100000]}, []], "useLongestLength": true, "defaults": [1, )" + big + "]}}",
      R"({"$split": [")" + std::string(2'000'000, 'a') + R"(", "a"]})",
      R"({"$regexFindAll": {"input": ")" + std::string(300'000, 'a') + R"x(", "regex": "((((.))))"}})x",
      R"({"$objectToArray": {"a": )" + repeated("[1]", R"(["$$value", "$$value"])") + "}}",
      R"({"$setUnion": [{"$range": [0, 300000]}, {"$range": [300000, 600000]}]})",
      R"({"$sortArray": {"input": {"$range": [0, 300000]}, "sortBy": -1}})",
  };
  PeakMemory peak;
  for (const std::string& attack : attacks) {
    peak.restart();
    EXPECT_EQ(evaluate(attack).code(), ErrorCode::kExceededMemoryLimit) << attack.substr(0, 200);
    EXPECT_LT(peak.grown(), 2 * kBudget) << attack.substr(0, 200);
    EXPECT_EQ(work.budget.used(), 0) << attack.substr(0, 200);
  }
}

TEST_F(HostileExpressions, ValuesLargerThanADocumentPassWithinTheBudget) {
  const std::string atMost = R"({"$size": {"$range": [0, 400000]}})";
  EXPECT_TRUE(evaluate(atMost).isOK());
  EXPECT_GT(work.budget.peak(), 2'000'000);
}

TEST_F(HostileExpressions, EndWithTheirOperation) {
  bson::Builder b;
  b.openArray("list");
  for (int i = 0; i < 50'000; ++i) b.push(i % 1000);
  b.close().openArray("empty").close().append("text", std::string(200'000, 'a'));
  const bson::Document document = b.finish();
  const std::string loops[] = {
      R"({"$map": {"input": "$list", "in": 1}})",
      R"({"$filter": {"input": "$list", "cond": false}})",
      R"({"$reduce": {"input": "$list", "initialValue": 0, "in": "$$this"}})",
      R"({"$range": [{"$size": "$empty"}, 50000]})",
      R"({"$in": [-1, "$list"]})",
      R"({"$indexOfArray": ["$list", -1]})",
      R"({"$sortArray": {"input": "$list", "sortBy": 1}})",
      R"({"$setUnion": ["$list", [1]]})",
      R"({"$setDifference": ["$list", [1]]})",
      R"({"$setIntersection": ["$list", [1]]})",
      R"({"$maxN": {"input": "$list", "n": 3}})",
      R"({"$sum": "$list"})",
      R"({"$concatArrays": ["$list", "$list"]})",
      R"({"$zip": {"inputs": ["$list", "$list"]}})",
      R"({"$regexFindAll": {"input": "$text", "regex": "a"}})",
      R"({"$split": ["$text", "a"]})",
      R"({"$replaceAll": {"input": "$text", "find": "a", "replacement": "b"}})",
  };
  for (const std::string& loop : loops) {
    work.killed = true;
    EXPECT_EQ(evaluate(loop, document).code(), ErrorCode::kInterrupted) << loop;
  }
}

TEST_F(HostileExpressions, AFilterOverAGiantArrayEndsWithItsOperation) {
  bson::Builder array;
  array.openArray("list");
  for (int i = 0; i < 10'000; ++i) array.push(bson::doc("x", i));
  const bson::Document document = array.close().finish();
  for (const char* json :
       {R"({"list.x": -1})", R"({"list": {"$elemMatch": {"x": -1}}})", R"({"list.x": {"$not": {"$in": [-1, -2]}}})",
        R"({"$or": [{"list.x": -1}, {"list.x": -2}]})", R"({"$nor": [{"list": {"$elemMatch": {"x": -1}}}]})"}) {
    const auto spec = bson::fromJson(json);
    const auto match = parseMatch(*spec, context);
    ASSERT_TRUE(match.isOK()) << json;
    work.killed = true;
    MatchDetails details;
    details.work = &work;
    (*match)->matches(document, &details);
    EXPECT_EQ(details.error.code(), ErrorCode::kInterrupted) << json;
    work.killed = false;
    MatchDetails again;
    again.work = &work;
    (*match)->matches(document, &again);
    EXPECT_TRUE(again.error.isOK()) << json;
  }
}

TEST_F(HostileExpressions, UpdateOperatorsOnGiantArraysEndWithTheirOperation) {
  bson::Builder array;
  array.openArray("list");
  for (int i = 0; i < 10'000; ++i) array.push(i);
  const bson::Document document = array.close().finish();
  bson::Builder operators;
  operators.openDocument("$addToSet").openDocument("list").openArray("$each");
  for (int i = 0; i < 5'000; ++i) operators.push(-1 - i);
  const bson::Document addToSet = operators.close().close().close().finish();
  for (const bson::Document& update :
       {addToSet, *bson::fromJson(R"({"$pullAll": {"list": [-1, -2]}})"), *bson::fromJson(R"({"$pull": {"list": -1}})"),
        *bson::fromJson(R"({"$pull": {"list": {"$in": [-1]}}})"),
        *bson::fromJson(R"({"$push": {"list": {"$each": [0], "$sort": -1}}})")}) {
    const bson::Document holder = bson::doc("u", update);
    const auto parsed = parseUpdate(holder["u"], {}, context);
    ASSERT_TRUE(parsed.isOK());
    work.killed = true;
    EXPECT_EQ((*parsed)->apply({.document = document}).status().code(), ErrorCode::kInterrupted)
        << update.view().first().name();
    work.killed = false;
    EXPECT_TRUE((*parsed)->apply({.document = document}).isOK());
  }
}

}  // namespace
}  // namespace troupe::query
