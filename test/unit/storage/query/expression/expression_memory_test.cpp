// Expressions, filters and updates that would take all memory, or all time: the budget and the interrupt of their
// operation end them.
#include <gtest/gtest.h>

#include <string>

#include "messaging/bson/json.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/expression/values.hpp"
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

bson::Document withNumbers(int count) {
  bson::Builder b;
  b.openArray("list");
  for (int i = 0; i < count; ++i) b.push(i);
  return b.close().finish();
}

TEST_F(HostileExpressions, TheDepthOfALargeValueIsCheckedInSteps) {
  const bson::Document large = withNumbers(1'000'000);
  ASSERT_TRUE(checkNesting(large["list"], 200, &work).isOK());
  EXPECT_GE(work.looks, 1);
  work.killed = true;
  EXPECT_EQ(checkNesting(large["list"], 200, &work).code(), ErrorCode::kInterrupted);
  EXPECT_TRUE(checkNesting(large["list"], 200, nullptr).isOK());
}

TEST_F(HostileExpressions, ValuesNestAsDeepAsTheLimitSays) {
  bson::Document deep = bson::doc("a", std::string(100, 'x'));
  for (int i = 0; i < 9; ++i) deep = bson::doc("a", deep, "b", std::string(100, 'x'));
  const auto holder = bson::doc("v", deep);  // a value of ten levels
  EXPECT_TRUE(checkNesting(holder["v"], 10, &work).isOK());
  EXPECT_EQ(checkNesting(holder["v"], 9, &work).code(), ErrorCode::kOverflow);
  EXPECT_EQ(checkNesting(holder["v"], 0, nullptr).code(), ErrorCode::kOverflow);
}

TEST_F(HostileExpressions, LargeItemsOfAMapCountAsManySteps) {
  TestWork rich(int64_t{1} << 30);
  const auto spec = bson::fromJson(R"({"v": {"$map": {"input": {"$range": [0, {"$size": "$few"}]}, "in": "$list"}}})");
  context.work = &rich;
  const auto expression = parseExpression(spec->view()["v"], context);
  bson::Builder b;
  b.appendAll(withNumbers(100'000)).openArray("few");
  for (int i = 0; i < 64; ++i) b.push(0);
  const bson::Document document = b.close().finish();
  Variables variables(&rich);
  EXPECT_TRUE((*expression)->evaluate(document, variables).isOK());
  const int64_t written = 64 * int64_t{document["list"].valueSize()};
  EXPECT_GE(rich.looks, 2 * written / (2048 * 4096)) << "each item is copied, and the result walked";
}

TEST_F(HostileExpressions, DateToStringIsChargedAsItGrows) {
  bson::Builder b;
  b.append("date", bson::Date{0});
  std::string format;
  for (int i = 0; i < 2'000'000; ++i) format += "%B";
  b.append("format", format);
  const bson::Document document = b.finish();
  const std::string toString = R"({"$dateToString": {"date": "$date", "format": "$format"}})";
  PeakMemory peak;
  peak.restart();
  EXPECT_EQ(evaluate(toString, document).code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_LT(peak.grown(), 2 * kBudget);
  work.killed = true;
  EXPECT_EQ(evaluate(toString, document).code(), ErrorCode::kInterrupted);
}

TEST_F(HostileExpressions, MessagesShowTheBeginningOfALargeValue) {
  const std::string text(1'000'000, 'x');
  EXPECT_EQ(show(bson::doc("v", 5)["v"]), "5");
  EXPECT_EQ(show(bson::doc("v", text)["v"]).size(), 1024 + 5);
  EXPECT_TRUE(show(withNumbers(100'000)["list"]).starts_with("[ 0, 1, 2")) << show(withNumbers(100'000)["list"]);
  EXPECT_TRUE(show(withNumbers(100'000)["list"]).ends_with("...]"));
  EXPECT_LT(show(withNumbers(100'000)["list"]).size(), 2048u);
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\u20ac";
  EXPECT_EQ(shortened(euros).size(), 1023u + 3) << "cut between characters";
  const bson::Document document = bson::doc("text", text, "date", bson::Date{0});
  for (const char* failing : {
           R"({"$add": [{"$reduce": {"input": "$text", "initialValue": 0, "in": 1}}]})",
           R"({"$dateFromString": {"dateString": "$text"}})",
           R"({"$dateFromString": {"dateString": "$text", "format": "%Y"}})",
           R"({"$year": {"date": "$date", "timezone": "$text"}})",
           R"({"$dateAdd": {"startDate": "$date", "unit": "$text", "amount": 1}})",
           R"({"$toInt": "$text"})",
           R"({"$toDecimal": "$text"})",
           R"({"$convert": {"input": 1, "to": "$text"}})",
       }) {
    const Status status = evaluate(failing, document);
    EXPECT_FALSE(status.isOK()) << failing;
    EXPECT_LT(status.reason().size(), 4096u) << failing;
  }
}

TEST_F(HostileExpressions, DatesAtTheEndsOfTimeStayThere) {
  const auto dates = bson::doc("first", bson::Date{INT64_MIN}, "last", bson::Date{INT64_MAX});
  const auto valueOf = [&](std::string_view json) {
    const auto spec = bson::fromJson("{\"v\": " + std::string(json) + "}");
    const auto expression = parseExpression(spec->view()["v"], context);
    Variables variables(&work);
    return (*expression)->evaluate(dates, variables);
  };
  const auto millis = [&](std::string_view json) { return valueOf(json)->element().asDate().millis; };
  EXPECT_EQ(millis(R"({"$dateAdd": {"startDate": "$last", "unit": "day", "amount": 0, "timezone": "-12:00"}})"),
            INT64_MAX);
  for (const char* unit : {"year", "month", "week", "day", "hour", "second"}) {
    for (const char* zone : {"UTC", "+14:00", "-12:00", "Europe/Paris"}) {
      for (const char* date : {"$first", "$last"}) {
        const auto spec = [&](const char* op, const std::string& rest) {
          return std::string("{\"") + op + "\": {" + rest + ", \"unit\": \"" + unit + "\", \"timezone\": \"" + zone +
                 "\"}}";
        };
        const std::string quoted = std::string("\"") + date + "\"";
        const auto truncated = valueOf(spec("$dateTrunc", "\"date\": " + quoted));
        if (truncated.isOK()) {
          const int64_t at = truncated->element().asDate().millis;
          EXPECT_EQ(at < 0, date == std::string("$first")) << unit << zone << date;
        } else {
          EXPECT_EQ(truncated.status().code(), ErrorCode::kOverflow);
        }
        const auto none = valueOf(spec("$dateDiff", "\"startDate\": " + quoted + ", \"endDate\": " + quoted));
        ASSERT_TRUE(none.isOK());
        EXPECT_EQ(none->element().toInt64(), 0);
      }
    }
  }
}

TEST_F(HostileExpressions, WhatIsParsedIsCharged) {
  bson::Builder b;
  b.openArray("$or");
  for (int i = 0; i < 10'000; ++i) b.push(bson::doc("a", i));
  const bson::Document filter = b.close().finish();
  {
    const auto parsed = parseMatch(filter, context);
    ASSERT_TRUE(parsed.isOK());
    EXPECT_GE(work.budget.used(), 10'000 * 200);
  }
  EXPECT_EQ(work.budget.used(), 0);
  TestWork poor(1'000'000);
  context.work = &poor;
  EXPECT_EQ(parseMatch(filter, context).status().code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(poor.budget.used(), 0);

  bson::Builder sum;
  sum.openDocument("v").openArray("$add");
  for (int i = 0; i < 10'000; ++i) sum.push("$a");
  const bson::Document spec = sum.close().close().finish();
  EXPECT_EQ(parseExpression(spec["v"], context).status().code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(poor.budget.used(), 0);
  context.work = &work;
  const auto expression = parseExpression(spec["v"], context);
  ASSERT_TRUE(expression.isOK());
  EXPECT_GE(work.budget.used(), 10'000 * 100);
  Variables variables(&work);
  EXPECT_EQ((*expression)->evaluate(bson::doc("a", 2), variables)->element().toInt64(), 20'000);
}

TEST_F(HostileExpressions, ALongListOfValuesIsSortedInSteps) {
  const bson::Document filter = bson::doc("a", bson::doc("$in", withNumbers(100'000)["list"]));
  work.killAtLook = 10;
  EXPECT_EQ(parseMatch(filter, context).status().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(work.looks, 10);
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
