#include "storage/query/expression/expression.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "messaging/bson/json.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {
namespace {

using bson::operator""_json;

constexpr const char* kSample =
    R"({"a": 1, "b": 2.5, "s": "héllo", "n": null, "list": [3, 1, 2], "docs": [{"x": 1}, {"x": 2}, 5],
  "sub": {"deep": {"er": 7}}, "when": {"$date": "2024-02-29T12:34:56.789Z"}, "long": {"$numberLong": "5000000000"},
  "dec": {"$numberDecimal": "1.5"}, "oid": {"$oid": "65e000000000000000000000"}, "t": true})";

/// The value of `{v: expression}`'s field over the sample document, as relaxed JSON of `{v: value}`; or the error.
std::string evaluate(const std::string& expression, const std::string& over = kSample) {
  ParseContext context;
  context.now = bson::Date{1000};
  const auto spec = bson::fromJson("{\"v\": " + expression + "}");
  if (!spec.isOK()) return "bad test: " + spec.status().toString();
  const auto document = bson::fromJson(over);
  if (!document.isOK()) return "bad document: " + document.status().toString();
  const auto parsed = parseExpression((*spec)["v"], context);
  if (!parsed.isOK()) return std::to_string(static_cast<int>(parsed.status().code())) + " " + parsed.status().reason();
  Variables variables;
  const auto value = (*parsed)->evaluate(document->view(), variables);
  if (!value.isOK()) return std::to_string(static_cast<int>(value.status().code())) + " " + value.status().reason();
  return value->ok() ? bson::toRelaxedJson(value->element()) : "missing";
}

struct ExpressionCase {
  const char* expression;
  const char* expected;
};
void check(const std::vector<ExpressionCase>& cases) {
  for (const auto& [expression, expected] : cases) {
    std::string text, want = bson::fromJson(std::string("{\"v\": ") + expected + "}").isOK()
                                 ? bson::toRelaxedJson((*bson::fromJson(std::string("{\"v\": ") + expected + "}"))["v"])
                                 : expected;
    EXPECT_EQ(evaluate(expression), want) << expression;
  }
}

TEST(Expression, FollowsFieldPathsThroughDocumentsAndArrays) {
  check({{R"("$a")", "1"},
         {R"("$sub.deep.er")", "7"},
         {R"("$docs.x")", "[1, 2]"},
         {R"("$nothing")", "missing"},
         {R"("$a.b")", "missing"},
         {R"("$list.0")", "[]"},
         {R"("plain")", R"("plain")"},
         {R"({"$literal": "$a"})", R"("$a")"}});
}

TEST(Expression, KnowsTheBuiltInVariables) {
  check({{R"("$$ROOT.a")", "1"},
         {R"("$$CURRENT.sub.deep.er")", "7"},
         {R"("$$REMOVE")", "missing"},
         {R"({"$toLong": "$$NOW"})", "1000"},
         {R"("$$nope")", "17276 Use of undefined variable: nope"},
         {R"("$$CLUSTER_TIME")", "51144 Builtin variable '$$CLUSTER_TIME' is not available"}});
}

TEST(Expression, BuildsObjectsAndArrays) {
  check({{R"({"x": "$a", "y": {"z": "$none"}, "w": ["$a", "$none"]})", R"({"x": 1, "y": {}, "w": [1, null]})"},
         {R"({"x": 1, "$add": []})",
          "16410 FieldPath field names may not start with '$'. Consider using $getField or $setField."},
         {R"({"$foo": 1})", "168 Unrecognized expression '$foo'"}});
}

TEST(Expression, AddsWithWideningAndDates) {
  check({{R"({"$add": ["$a", 2]})", "3"},
         {R"({"$add": ["$a", "$b"]})", "3.5"},
         {R"({"$add": [2147483647, 1]})", "2147483648"},
         {R"({"$add": ["$when", 1000]})", R"({"$date": "2024-02-29T12:34:57.789Z"})"},
         {R"({"$add": ["$n", 1]})", "null"},
         {R"({"$add": ["$s", 1]})", "14 $add only supports numeric or date types, not string"},
         {R"({"$add": ["$dec", 1]})", R"({"$numberDecimal": "2.5"})"},
         {R"({"$add": []})", "0"},
         {R"({"$subtract": ["$when", "$when"]})", "0"},
         {R"({"$subtract": ["$s", 1]})", "14 can't $subtract int from string"},
         {R"({"$multiply": [3, "$b"]})", "7.5"},
         {R"({"$divide": [7, 2]})", "3.5"},
         {R"({"$divide": [1, 0]})", "2 can't $divide by zero"},
         {R"({"$mod": [-7, 3]})", "-1"},
         {R"({"$mod": [5.5, 2]})", "1.5"},
         {R"({"$abs": -3})", "3"},
         {R"({"$ceil": 1.2})", "2.0"},
         {R"({"$floor": -1.2})", "-2.0"},
         {R"({"$round": [2.5]})", "2.0"},
         {R"({"$round": [19.25, 1]})", "19.2"},
         {R"({"$round": [1250, -2]})", "1200"},
         {R"({"$trunc": [7.89, 1]})", "7.8"},
         {R"({"$pow": [2, 10]})", "1024"},
         {R"({"$pow": [2, -1]})", "0.5"},
         {R"({"$sqrt": 9})", "3.0"},
         {R"({"$log": [8, 2]})", "3.0"},
         {R"({"$sqrt": -1})", "28714 $sqrt's argument must be greater than or equal to 0"},
         {R"({"$subtract": [1]})", "16020 Expression $subtract takes exactly 2 arguments. 1 were passed in."}});
}

TEST(Expression, ComparesAndDecides) {
  check({{R"({"$cmp": ["$a", 2]})", "-1"},
         {R"({"$eq": ["$a", 1.0]})", "true"},
         {R"({"$gt": ["$none", null]})", "false"},
         {R"({"$lt": ["$none", null]})", "true"},
         {R"({"$and": ["$a", "$t"]})", "true"},
         {R"({"$or": [0, null]})", "false"},
         {R"({"$not": ["$a"]})", "false"},
         {R"({"$cond": [{"$gt": ["$a", 0]}, "yes", "no"]})", R"("yes")"},
         {R"({"$cond": {"if": false, "then": 1, "else": 2}})", "2"},
         {R"({"$cond": {"if": 1, "then": 1}})", "17082 Missing 'else' parameter to $cond"},
         {R"({"$ifNull": ["$n", "$none", "x"]})", R"("x")"},
         {R"({"$switch": {"branches": [{"case": {"$eq": ["$a", 1]}, "then": "one"}], "default": "?"}})", R"("one")"},
         {R"({"$switch": {"branches": [{"case": {"$eq": ["$a", 2]}, "then": 1}]}})",
          "40066 $switch could not find a matching branch for an input, and no default was specified."}});
}

TEST(Expression, WorksOnStrings) {
  check({{R"({"$concat": ["$s", "!", "x"]})", R"("héllo!x")"},
         {R"({"$concat": ["a", 1]})", "16702 $concat only supports strings, not int"},
         {R"({"$strLenCP": "$s"})", "5"},
         {R"({"$strLenBytes": "$s"})", "6"},
         {R"({"$substrCP": ["$s", 1, 2]})", R"("él")"},
         {R"({"$substrBytes": ["$s", 0, 1]})", R"("h")"},
         {R"({"$toUpper": "abc"})", R"("ABC")"},
         {R"({"$split": ["a,b", ","]})", R"(["a", "b"])"},
         {R"({"$trim": {"input": "  x "}})", R"("x")"},
         {R"({"$ltrim": {"input": "aab", "chars": "a"}})", R"("b")"},
         {R"({"$indexOfCP": ["$s", "l"]})", "2"},
         {R"({"$indexOfBytes": ["$s", "l"]})", "3"},
         {R"({"$strcasecmp": ["A", "a"]})", "0"},
         {R"({"$replaceAll": {"input": "aXbX", "find": "X", "replacement": "-"}})", R"("a-b-")"},
         {R"({"$replaceOne": {"input": "aXbX", "find": "X", "replacement": "-"}})", R"("a-bX")"},
         {R"({"$regexMatch": {"input": "$s", "regex": "^H", "options": "i"}})", "true"},
         {R"({"$regexFind": {"input": "abc", "regex": "(b)(z)?"}})",
          R"({"match": "b", "idx": 1, "captures": ["b", null]})"},
         {R"({"$size": {"$regexFindAll": {"input": "abab", "regex": "a"}}})", "2"}});
}

TEST(Expression, WorksOnArrays) {
  check(
      {{R"({"$arrayElemAt": ["$list", -1]})", "2"},
       {R"({"$first": "$list"})", "3"},
       {R"({"$arrayElemAt": ["$list", 9]})", "missing"},
       {R"({"$concatArrays": ["$list", [9]]})", "[3, 1, 2, 9]"},
       {R"({"$in": [1, "$list"]})", "true"},
       {R"({"$indexOfArray": ["$list", 2]})", "2"},
       {R"({"$range": [0, 6, 2]})", "[0, 2, 4]"},
       {R"({"$reverseArray": "$list"})", "[2, 1, 3]"},
       {R"({"$slice": ["$list", 1, 5]})", "[1, 2]"},
       {R"({"$slice": ["$list", -2]})", "[1, 2]"},
       {R"({"$sortArray": {"input": "$list", "sortBy": -1}})", "[3, 2, 1]"},
       {R"({"$maxN": {"n": 2, "input": "$list"}})", "[3, 2]"},
       {R"({"$size": "$a"})", "17124 The argument to $size must be an array, but was of type: int"},
       {R"({"$map": {"input": "$list", "as": "i", "in": {"$add": ["$$i", "$a"]}}})", "[4, 2, 3]"},
       {R"({"$filter": {"input": "$list", "cond": {"$gt": ["$$this", 1]}, "limit": 1}})", "[3]"},
       {R"({"$reduce": {"input": "$list", "initialValue": "", "in": {"$concat": ["$$value", {"$toString": "$$this"}]}}})",
        R"("312")"},
       {R"({"$let": {"vars": {"x": "$a", "y": 10}, "in": {"$multiply": ["$$x", "$$y"]}}})", "10"},
       {R"({"$zip": {"inputs": [[1, 2], ["a"]], "useLongestLength": true}})", R"([[1, "a"], [2, null]])"},
       {R"({"$arrayToObject": [[["k", 1]]]})", R"({"k": 1})"},
       {R"({"$objectToArray": "$sub.deep"})", R"([{"k": "er", "v": 7}])"},
       {R"({"$setUnion": [[2, 1], [1, 3]]})", "[1, 2, 3]"},
       {R"({"$setIntersection": [[2, 1], [1, 3]]})", "[1]"},
       {R"({"$setDifference": [[3, 2, 1], [1]]})", "[3, 2]"},
       {R"({"$setIsSubset": [[1], [1, 2]]})", "true"},
       {R"({"$allElementsTrue": [[1, 0]]})", "false"}});
}

TEST(Expression, WorksOnObjects) {
  check({{R"({"$mergeObjects": [{"a": 1, "b": 1}, null, {"b": 2}]})", R"({"a": 1, "b": 2})"},
         {R"({"$getField": {"field": "a", "input": "$$ROOT"}})", "1"},
         {R"({"$getField": "a"})", "1"},
         {R"({"$setField": {"field": "x.y", "input": {}, "value": 3}})", R"({"x.y": 3})"},
         {R"({"$unsetField": {"field": "a", "input": {"a": 1, "b": 2}}})", R"({"b": 2})"}});
}

TEST(Expression, ConvertsTypes) {
  check({{R"({"$type": "$none"})", R"("missing")"},
         {R"({"$type": "$long"})", R"("long")"},
         {R"({"$toInt": "12"})", "12"},
         {R"({"$toInt": 3.9})", "3"},
         {R"({"$toInt": "$long"})",
          "241 Conversion would overflow target type in $convert with no onError value: 5000000000"},
         {R"({"$toString": 1.5})", R"("1.5")"},
         {R"({"$toDouble": "x"})",
          "241 Failed to parse number 'x' in $convert with no onError value: Did not consume whole string."},
         {R"({"$convert": {"input": "x", "to": "int", "onError": -1}})", "-1"},
         {R"({"$toDate": "2024-01-02"})", R"({"$date": "2024-01-02T00:00:00Z"})"},
         {R"({"$toBool": "$s"})", "true"},
         {R"({"$toObjectId": "65e000000000000000000000"})", R"({"$oid": "65e000000000000000000000"})"}});
}

TEST(Expression, TakesDatesApartAndBuildsThem) {
  check(
      {{R"({"$year": "$when"})", "2024"},
       {R"({"$month": ["$when"]})", "2"},
       {R"({"$hour": {"date": "$when", "timezone": "+02:00"}})", "14"},
       {R"({"$hour": {"date": "$when", "timezone": "America/New_York"}})", "7"},
       {R"({"$dayOfWeek": "$when"})", "5"},
       {R"({"$dayOfYear": "$when"})", "60"},
       {R"({"$isoWeek": "$when"})", "9"},
       {R"({"$week": "$when"})", "8"},
       {R"({"$millisecond": "$when"})", "789"},
       {R"({"$year": {"date": "$when", "timezone": "Nowhere/X"}})",
        R"(40485 unrecognized time zone identifier: "Nowhere/X")"},
       {R"({"$dateToString": {"date": "$when", "format": "%d/%m/%Y %H:%M:%S.%L %z", "timezone": "Europe/Paris"}})",
        R"("29/02/2024 13:34:56.789 +0100")"},
       {R"({"$dateToString": {"date": "$when"}})", R"("2024-02-29T12:34:56.789Z")"},
       {R"({"$dateFromString": {"dateString": "2024-02-29T12:00:00+01:00"}})", R"({"$date": "2024-02-29T11:00:00Z"})"},
       {R"({"$dateFromString": {"dateString": "29-Feb-2024", "format": "%d-%b-%Y"}})",
        R"({"$date": "2024-02-29T00:00:00Z"})"},
       {R"({"$dateFromParts": {"year": 2024, "month": 14, "day": 1}})", R"({"$date": "2025-02-01T00:00:00Z"})"},
       {R"({"$dateToParts": {"date": "$when", "iso8601": true}})",
        R"({"isoWeekYear": 2024, "isoWeek": 9, "isoDayOfWeek": 4, "hour": 12, "minute": 34, "second": 56, "millisecond": 789})"},
       {R"({"$dateAdd": {"startDate": {"$toDate": "2024-01-31"}, "unit": "month", "amount": 1}})",
        R"({"$date": "2024-02-29T00:00:00Z"})"},
       {R"({"$dateDiff": {"startDate": {"$toDate": "2023-12-31"}, "endDate": "$when", "unit": "month"}})", "2"},
       {R"({"$dateTrunc": {"date": "$when", "unit": "hour", "binSize": 5}})", R"({"$date": "2024-02-29T10:00:00Z"})"},
       {R"({"$dateTrunc": {"date": "$when", "unit": "week", "startOfWeek": "monday"}})",
        R"({"$date": "2024-02-26T00:00:00Z"})"}});
}

TEST(Expression, FoldsConstantsAndKeepsWhatDependsOnTheDocument) {
  ParseContext context;
  const auto constant = R"({"v": {"$add": [1, {"$multiply": [2, 3]}]}})"_json;
  EXPECT_NE(parseExpression(constant["v"], context).value()->constant(), nullptr);
  const auto open = R"({"v": {"$add": [1, "$a.b"]}})"_json;
  const auto parsed = parseExpression(open["v"], context);
  EXPECT_EQ((*parsed)->constant(), nullptr);
  Dependencies dependencies;
  (*parsed)->addDependencies(dependencies);
  EXPECT_EQ(dependencies.paths, std::set<std::string>{"a.b"});
  const auto random = R"({"v": {"$rand": {}}})"_json;
  EXPECT_EQ(parseExpression(random["v"], context).value()->constant(), nullptr);
}

TEST(Expression, SerializesToWhatCanBeParsedAgain) {
  ParseContext context;
  const auto spec =
      R"({"v": {"$cond": [{"$gt": ["$a", 1]}, {"$map": {"input": "$list", "as": "i", "in": "$$i.x"}}, {"$dateToString": {"date": "$d"}}]}})"_json;
  const auto once = parseExpression(spec["v"], context);
  ASSERT_TRUE(once.isOK());
  bson::Builder first;
  (*once)->serialize("v", first);
  const auto text = first.finish();
  const auto again = parseExpression(text["v"], context);
  ASSERT_TRUE(again.isOK()) << bson::toRelaxedJson(text.view());
  bson::Builder second;
  (*again)->serialize("v", second);
  EXPECT_EQ(bson::toRelaxedJson(text.view()), bson::toRelaxedJson(second.finish().view()));
}

}  // namespace
}  // namespace troupe::query
