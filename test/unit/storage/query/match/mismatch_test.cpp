#include "storage/query/match/mismatch.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::query {

using bson::operator""_json;

namespace {

std::string why(bson::View filter, bson::View document) {
  const ParseContext context;
  const auto parsed = parseMatch(filter, context);
  EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
  EXPECT_FALSE((*parsed)->matches(document));
  return bson::toRelaxedJson(*explainMismatch(**parsed, document, nullptr));
}
std::string json(bson::View document) { return bson::toRelaxedJson(document); }

}  // namespace

TEST(Mismatch, NamesTheComparisonThatFailedAndTheValueItMet) {
  EXPECT_EQ(why(R"({"a": {"$gt": 5}})"_json, R"({"a": 3})"_json),
            json(R"({"operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}}, "reason": "comparison failed",
                     "consideredValue": 3})"_json));
  EXPECT_EQ(why(R"({"a": {"$gt": 5}})"_json, R"({"b": 3})"_json),
            json(R"({"operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}}, "reason": "field was missing"})"_json));
}

TEST(Mismatch, NamesAllValuesOfAPathThroughArrays) {
  EXPECT_EQ(why(R"({"a.b": 5})"_json, R"({"a": [{"b": 1}, {"b": 2}]})"_json),
            json(R"({"operatorName": "$eq", "specifiedAs": {"a.b": {"$eq": 5}}, "reason": "comparison failed",
                     "consideredValues": [1, 2]})"_json));
}

TEST(Mismatch, NamesTheClausesThatFailed) {
  EXPECT_EQ(why(R"({"a": 1, "b": {"$type": "string"}})"_json, R"({"a": 1, "b": 2})"_json),
            json(R"({"operatorName": "$and", "clausesNotSatisfied": [{"index": 1, "details": {
                     "operatorName": "$type", "specifiedAs": {"b": {"$type": "string"}}, "reason": "type did not match",
                     "consideredValue": 2, "consideredType": "int"}}]})"_json));
  EXPECT_EQ(why(R"({"$nor": [{"a": 2}, {"a": 1}]})"_json, R"({"a": 1})"_json),
            json(R"({"operatorName": "$nor", "clausesNotSatisfied": [{"index": 1, "details": {
                     "operatorName": "$ne", "specifiedAs": {"$not": {"a": {"$eq": 1}}},
                     "reason": "comparison succeeded", "consideredValue": 1}}]})"_json));
}

TEST(Mismatch, OfExpressionsShowsTheirResult) {
  EXPECT_EQ(
      why(R"({"$expr": {"$gt": ["$a", 2]}})"_json, R"({"a": 1})"_json).find("expressionResult") == std::string::npos,
      false);
}

TEST(SchemaMismatch, NamesPropertiesWithTheirDescriptionsAndMissingOnes) {
  EXPECT_EQ(why(R"({"$jsonSchema": {"title": "students", "required": ["name", "year"], "properties": {
                    "year": {"bsonType": "int", "minimum": 2017, "description": "must be an integer"},
                    "name": {"bsonType": "string"}}}})"_json,
                R"({"year": "x"})"_json),
            json(R"({"operatorName": "$jsonSchema", "title": "students", "schemaRulesNotSatisfied": [
                     {"operatorName": "required", "specifiedAs": {"required": ["name", "year"]}, "missingProperties": ["name"]},
                     {"operatorName": "properties", "propertiesNotSatisfied": [
                        {"propertyName": "year", "description": "must be an integer", "details": [
                           {"operatorName": "bsonType", "specifiedAs": {"bsonType": "int"}, "reason": "type did not match",
                            "consideredValue": "x", "consideredType": "string"}]}]}]})"_json));
}

/// The rules broken by a document whose field `x` must satisfy the schema.
std::string brokenBy(bson::View schema, bson::View document) {
  const auto filter = bson::doc("$jsonSchema", bson::doc("properties", bson::doc("x", schema)));
  const ParseContext context;
  const auto parsed = parseMatch(filter, context);
  EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
  EXPECT_FALSE((*parsed)->matches(document));
  const auto details = *explainMismatch(**parsed, document, nullptr);
  return json(details.view().at("schemaRulesNotSatisfied.0.propertiesNotSatisfied.0.details.0").asDocument());
}

TEST(SchemaMismatch, NamesWhatEachKeywordAskedFor) {
  EXPECT_EQ(brokenBy(R"({"minimum": 5, "exclusiveMinimum": true})"_json, R"({"x": 5})"_json),
            json(R"({"operatorName": "minimum", "specifiedAs": {"minimum": 5, "exclusiveMinimum": true},
                     "reason": "comparison failed", "consideredValue": 5})"_json));
  EXPECT_EQ(brokenBy(R"({"enum": [1, 2]})"_json, R"({"x": 3})"_json),
            json(R"({"operatorName": "enum", "specifiedAs": {"enum": [1, 2]}, "reason": "value was not found in enum",
                     "consideredValue": 3})"_json));
  EXPECT_EQ(
      brokenBy(R"({"properties": {"a": {}}, "additionalProperties": false})"_json, R"({"x": {"a": 1, "b": 2}})"_json),
      json(R"({"operatorName": "additionalProperties", "specifiedAs": {"additionalProperties": false},
                     "additionalProperties": ["b"]})"_json));
  EXPECT_EQ(
      brokenBy(R"({"items": {"bsonType": "int"}})"_json, R"({"x": [1, "a"]})"_json),
      json(R"({"operatorName": "items", "reason": "At least one item did not match the sub-schema", "itemIndex": 1,
                     "details": [{"operatorName": "bsonType", "specifiedAs": {"bsonType": "int"},
                                  "reason": "type did not match", "consideredValue": "a", "consideredType": "string"}]})"_json));
  EXPECT_EQ(brokenBy(R"({"items": [{}], "additionalItems": false})"_json, R"({"x": [1, 2]})"_json),
            json(R"({"operatorName": "additionalItems", "reason": "At least one item did not match the sub-schema",
                     "itemIndex": 1})"_json));
  EXPECT_EQ(brokenBy(R"({"anyOf": [{"bsonType": "int"}]})"_json, R"({"x": "a"})"_json),
            json(R"({"operatorName": "anyOf", "schemasNotSatisfied": [{"index": 0, "details": [
                     {"operatorName": "bsonType", "specifiedAs": {"bsonType": "int"}, "reason": "type did not match",
                      "consideredValue": "a", "consideredType": "string"}]}]})"_json));
  EXPECT_EQ(
      brokenBy(R"({"oneOf": [{}, {}]})"_json, R"({"x": 1})"_json),
      json(
          R"({"operatorName": "oneOf", "reason": "more than one subschema matched", "matchingSchemaIndexes": [0, 1]})"_json));
  EXPECT_EQ(brokenBy(R"({"not": {}})"_json, R"({"x": 1})"_json),
            json(R"({"operatorName": "not", "reason": "child expression matched"})"_json));
  EXPECT_EQ(brokenBy(R"({"dependencies": {"a": ["b"]}})"_json, R"({"x": {"a": 1}})"_json),
            json(R"({"operatorName": "dependencies", "failingDependencies": [
                     {"conditionalProperty": "a", "missingProperties": ["b"]}]})"_json));
}

}  // namespace troupe::query
