#include "storage/query/match/json_schema.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "messaging/bson/json.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::query {
namespace {

using namespace bson;  // NOLINT: for _json

bool valid(const Document& schema, const Document& document) {
  const auto parsed = schemaPredicate(schema, {});
  EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
  return parsed.isOK() && *(*parsed)->testDocument(document);
}

TEST(JsonSchema, RequiresFields) {
  const auto schema = R"({"required": ["a", "b"]})"_json;
  EXPECT_TRUE(valid(schema, R"({"a": 1, "b": null})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": 1})"_json));
}

TEST(JsonSchema, ChecksTypesOfPropertiesThatArePresent) {
  const auto schema =
      R"({"bsonType": "object", "properties": {"a": {"bsonType": ["int", "string"]}, "b": {"type": "number"}}})"_json;
  EXPECT_TRUE(valid(schema, R"({"a": 1, "b": 1.5})"_json));
  EXPECT_TRUE(valid(schema, R"({})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": 1.5})"_json));
  EXPECT_FALSE(valid(schema, R"({"b": "1"})"_json));
}

TEST(JsonSchema, BoundsNumbersOnly) {
  const auto schema =
      R"({"properties": {"n": {"minimum": 1, "maximum": 5, "exclusiveMaximum": true, "multipleOf": 2}}})"_json;
  EXPECT_TRUE(valid(schema, R"({"n": 4})"_json));
  EXPECT_TRUE(valid(schema, R"({"n": "text"})"_json));
  EXPECT_FALSE(valid(schema, R"({"n": 0})"_json));
  EXPECT_FALSE(valid(schema, R"({"n": 3})"_json));
  EXPECT_FALSE(valid(R"({"properties": {"n": {"maximum": 5, "exclusiveMaximum": true}}})"_json, R"({"n": 5})"_json));
}

TEST(JsonSchema, CountsCodePointsAndMatchesPatterns) {
  const auto schema = R"({"properties": {"s": {"minLength": 2, "maxLength": 3, "pattern": "^ü"}}})"_json;
  EXPECT_TRUE(valid(schema, R"({"s": "üö"})"_json));
  EXPECT_FALSE(valid(schema, R"({"s": "ü"})"_json));
  EXPECT_FALSE(valid(schema, R"({"s": "ao"})"_json));
}

TEST(JsonSchema, ForbidsAdditionalProperties) {
  const auto schema =
      R"({"properties": {"a": {}}, "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false})"_json;
  EXPECT_TRUE(valid(schema, R"({"a": 1, "x1": "s"})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": 1, "b": 1})"_json));
  EXPECT_FALSE(valid(schema, R"({"x1": 1})"_json));
}

TEST(JsonSchema, ChecksItems) {
  EXPECT_TRUE(valid(R"({"properties": {"a": {"items": {"type": "number"}}}})"_json, R"({"a": [1, 2]})"_json));
  EXPECT_FALSE(valid(R"({"properties": {"a": {"items": {"type": "number"}}}})"_json, R"({"a": [1, "x"]})"_json));
  EXPECT_FALSE(
      valid(R"({"properties": {"a": {"items": [{}], "additionalItems": false}}})"_json, R"({"a": [1, 2]})"_json));
  EXPECT_FALSE(valid(R"({"properties": {"a": {"uniqueItems": true}}})"_json, R"({"a": [1, 2, 1.0]})"_json));
  EXPECT_FALSE(valid(R"({"properties": {"a": {"minItems": 1}}})"_json, R"({"a": []})"_json));
}

TEST(JsonSchema, Combines) {
  const auto schema = R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["c"]}})"_json;
  EXPECT_TRUE(valid(schema, R"({"a": 1})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": 1, "b": 1})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": 1, "c": 1})"_json));
  EXPECT_FALSE(valid(R"({"dependencies": {"a": ["b"]}})"_json, R"({"a": 1})"_json));
  EXPECT_FALSE(
      valid(R"({"dependencies": {"a": {"properties": {"b": {"enum": [1, 2]}}}}})"_json, R"({"a": 1, "b": 3})"_json));
  EXPECT_FALSE(valid(R"({"maxProperties": 1})"_json, R"({"a": 1, "b": 3})"_json));
}

TEST(JsonSchema, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ErrorCode::kFailedToParse, schemaPredicate(R"({"required": []})"_json, {}).status().code());
  EXPECT_EQ("$jsonSchema type 'integer' is not currently supported.",
            schemaPredicate(R"({"type": "integer"})"_json, {}).status().reason());
  EXPECT_EQ(ErrorCode::kTypeMismatch, schemaPredicate(R"({"minimum": "x"})"_json, {}).status().code());
}

class SchemaWork final : public QueryWork {
 public:
  std::chrono::steady_clock::time_point coarseNow() const override { return {}; }
  Status checkForInterrupt() override {
    return killed ? Status(ErrorCode::kInterrupted, "operation was interrupted") : Status::OK();
  }
  storage::MemoryBudget* memory() override { return &budget; }

  storage::MemoryBudget budget{int64_t{1} << 20};
  bool killed = false;
};

class HostileSchemas : public ::testing::Test {
 protected:
  HostileSchemas() { context.work = &work; }

  /// The outcome of an operation that is `killed` once it has its schema.
  StatusWith<bool> check(const Document& schema, const Document& document, bool killed) {
    work.killed = false;
    TROUPE_ASSIGN(const auto parsed, schemaPredicate(schema, context));
    work.killed = killed;
    return parsed->testDocument(document);
  }

  SchemaWork work;
  ParseContext context;
};

Document numbers(int count) {
  Builder b;
  b.openArray("a");
  for (int i = 0; i < count; ++i) b.push(i);
  return b.close().finish();
}

Document fields(int count) {
  Builder b;
  for (int i = 0; i < count; ++i) b.append("f" + std::to_string(i), i);
  return b.finish();
}

/// A schema of the items of `a`: one of `count` values, none of which there is.
Document itemsOutOf(int count, const char* keyword) {
  Builder b;
  b.openDocument("properties").openDocument("a").openDocument("items").openDocument(keyword).openArray("enum");
  for (int i = 0; i < count; ++i) b.push(-1 - i);
  return b.close().close().close().close().close().finish();
}

TEST_F(HostileSchemas, EndWithTheirOperation) {
  Builder required;
  required.openArray("required");
  for (int i = 0; i < 5'000; ++i) required.push("f" + std::to_string(i));
  const std::pair<Document, Document> checks[] = {
      {R"({"properties": {"a": {"items": {"type": "number"}}}})"_json, numbers(10'000)},
      {R"({"properties": {"a": {"items": {"anyOf": [{"type": "string"}, {"minimum": 0}]}}}})"_json, numbers(10'000)},
      {R"({"properties": {"a": {"uniqueItems": true}}})"_json, numbers(10'000)},
      {R"({"not": {"properties": {"a": {"uniqueItems": true}}}})"_json, numbers(10'000)},
      {R"({"additionalProperties": {"type": "number"}})"_json, fields(10'000)},
      {R"({"patternProperties": {"x": {}}})"_json, fields(10'000)},
      {itemsOutOf(5'000, "not"), numbers(10)},
      {required.close().finish(), fields(5'000)},
  };
  for (const auto& [schema, document] : checks) {
    EXPECT_EQ(check(schema, document, true).status().code(), ErrorCode::kInterrupted) << schema.view().first().name();
    EXPECT_TRUE(check(schema, document, false).isOK()) << schema.view().first().name();
  }
}

TEST_F(HostileSchemas, EndAtTheBudget) {
  const Document giant = numbers(200'000);
  for (const auto& schema : {R"({"properties": {"a": {"uniqueItems": true}}})"_json,
                             R"({"not": {"properties": {"a": {"uniqueItems": true}}}})"_json,
                             R"({"properties": {"a": {"enum": [1]}}})"_json, R"({"enum": [1]})"_json}) {
    EXPECT_EQ(check(schema, giant, false).status().code(), ErrorCode::kExceededMemoryLimit);
    EXPECT_EQ(work.budget.used(), 0);
  }
}

TEST_F(HostileSchemas, AnswerWithoutAnOperation) {
  EXPECT_TRUE(valid(R"({"properties": {"a": {"uniqueItems": true}}})"_json, numbers(200'000)));
  EXPECT_TRUE(valid(itemsOutOf(100, "not"), numbers(10'000)));
  EXPECT_FALSE(valid(R"({"enum": [1]})"_json, numbers(10'000)));
}

TEST(JsonSchema, PaysNoHeedToTheOrderOfFields) {
  const auto schema = R"({"properties": {"a": {"enum": [{"x": 1, "y": [{"p": 1, "q": 2}]}, 3, "s"]}}})"_json;
  EXPECT_TRUE(valid(schema, R"({"a": {"y": [{"q": 2, "p": 1}], "x": 1}})"_json));
  EXPECT_TRUE(valid(schema, R"({"a": 3.0})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": {"y": 2, "x": 1}})"_json));
  EXPECT_TRUE(valid(R"({"enum": [{"x": 1, "y": 2}]})"_json, R"({"y": 2, "x": 1})"_json));
  const auto unique = R"({"properties": {"a": {"uniqueItems": true}}})"_json;
  EXPECT_FALSE(valid(unique, R"({"a": [{"x": 1, "y": 2}, 5, {"y": 2, "x": 1}]})"_json));
  EXPECT_TRUE(valid(unique, R"({"a": [{"x": 1, "y": 2}, 5, {"y": 1, "x": 2}, "5"]})"_json));
}

TEST(JsonSchema, OneOfMeansExactlyOne) {
  const auto schema = R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]})"_json;
  EXPECT_TRUE(valid(schema, R"({"c": 1})"_json));
  EXPECT_FALSE(valid(schema, R"({"a": 1, "c": 1})"_json));
  EXPECT_FALSE(valid(schema, R"({"d": 1})"_json));
}

}  // namespace
}  // namespace troupe::query
