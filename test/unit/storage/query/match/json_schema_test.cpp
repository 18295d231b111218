#include "storage/query/match/json_schema.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace troupe::query
