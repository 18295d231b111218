#include "storage/index/index_spec.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {
namespace {

using bson::operator""_json;

IndexSpec spec(const bson::Document& document) {
  auto parsed = parseIndexSpec(document);
  EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
  return std::move(parsed).value();
}
ErrorCode refusal(const bson::Document& document) { return parseIndexSpec(document).status().code(); }

TEST(IndexSpec, KeepsWhatWasGivenInTheServersOrder) {
  const auto s = spec(R"({"name": "x", "unique": true, "key": {"a": 1, "b.c": -1}})"_json);
  EXPECT_EQ(bson::toRelaxedJson(s.stored),
            bson::toRelaxedJson(R"({"v": 2, "key": {"a": 1, "b.c": -1}, "name": "x", "unique": true})"_json));
  EXPECT_TRUE(s.unique);
  EXPECT_EQ(s.descendingMask(), 0b10u);
}

TEST(IndexSpec, ListsFlagsAndTimesNormalised) {
  const auto s = spec(R"({"key": {"a": 1}, "name": "x", "sparse": 12345, "expireAfterSeconds": 10.23})"_json);
  EXPECT_EQ(
      bson::toRelaxedJson(listedSpec(s)),
      bson::toRelaxedJson(R"({"v": 2, "key": {"a": 1}, "name": "x", "sparse": true, "expireAfterSeconds": 10})"_json));
  EXPECT_EQ(bson::toRelaxedJson(s.stored),
            bson::toRelaxedJson(
                R"({"v": 2, "key": {"a": 1}, "name": "x", "sparse": 12345, "expireAfterSeconds": 10.23})"_json));
}

TEST(IndexSpec, RefusesBadPatterns) {
  EXPECT_EQ(refusal(R"({"name": "x"})"_json), ErrorCode::kFailedToParse);
  EXPECT_EQ(refusal(R"({"key": {"a": 1}})"_json), ErrorCode::kFailedToParse);
  for (const char* key :
       {"{}", R"({"a": 0})", R"({"a": true})", R"({"a": "nope"})", R"({"": 1})", R"({"a..b": 1})", R"({"$a": 1})",
        R"({"a.": 1})", R"({"a": "2dsphere"})", R"({"a": "text"})", R"({"$**": 1})"}) {
    const auto document = bson::doc("key", *bson::fromJson(key), "name", "x");
    EXPECT_EQ(refusal(document), ErrorCode::kCannotCreateIndex) << key;
  }
}

TEST(IndexSpec, RefusesMoreThan32Fields) {
  bson::Builder fields;
  for (int i = 0; i < 32; ++i) fields.append("f" + std::to_string(i), 1);
  const bson::Document most = fields.finish();
  EXPECT_TRUE(parseIndexSpec(bson::doc("key", most, "name", "x")).isOK());
  fields.appendAll(most);
  fields.append("one more", 1);
  EXPECT_EQ(refusal(bson::doc("key", fields.finish(), "name", "x")), ErrorCode(13103));
}

TEST(IndexSpec, RefusesOptionsThatExcludeEachOtherOrAreUnknown) {
  EXPECT_EQ(refusal(R"({"key": {"a": 1}, "name": "x", "sparse": true, "partialFilterExpression": {"b": 1}})"_json),
            ErrorCode::kCannotCreateIndex);
  EXPECT_EQ(refusal(R"({"key": {"a": 1, "b": 1}, "name": "x", "expireAfterSeconds": 5})"_json),
            ErrorCode::kCannotCreateIndex);
  EXPECT_EQ(refusal(R"({"key": {"a": 1}, "name": "x", "expireAfterSeconds": "soon"})"_json),
            ErrorCode::kCannotCreateIndex);
  EXPECT_EQ(refusal(R"({"key": {"a": "hashed"}, "name": "x", "unique": true})"_json), ErrorCode(16764));
  EXPECT_EQ(refusal(R"({"key": {"a": 1}, "name": "x", "unique": "yes"})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(refusal(R"({"key": {"a": 1}, "name": "x", "invalidOption": 1})"_json),
            ErrorCode::kInvalidIndexSpecificationOption);
  EXPECT_EQ(refusal(R"({"key": {"a": 1}, "name": "*"})"_json), ErrorCode::kBadValue);
}

TEST(IndexSpec, KeepsTheIdIndexAsItIs) {
  EXPECT_EQ(spec(R"({"key": {"_id": 1}, "name": "mine"})"_json).name, "_id_");
  EXPECT_EQ(refusal(R"({"key": {"_id": 1}, "name": "_id_", "sparse": true})"_json),
            ErrorCode::kInvalidIndexSpecificationOption);
  EXPECT_EQ(refusal(R"({"key": {"_id": 1}, "name": "_id_", "hidden": true})"_json),
            ErrorCode::kInvalidIndexSpecificationOption);
  EXPECT_EQ(refusal(R"({"key": {"a": 1}, "name": "_id_"})"_json), ErrorCode::kBadValue);
  EXPECT_TRUE(idIndexSpec().idIndex);
}

TEST(IndexSpec, TellsIdenticalFromConflicting) {
  const auto base = spec(R"({"key": {"a": 1}, "name": "a_1"})"_json);
  EXPECT_EQ(*compareSpecs(spec(R"({"key": {"a": 1.0}, "name": "a_1"})"_json), base), SpecMatch::kIdentical);
  EXPECT_EQ(*compareSpecs(spec(R"({"key": {"a": -1}, "name": "a_-1"})"_json), base), SpecMatch::kDistinct);
  EXPECT_EQ(*compareSpecs(spec(R"({"key": {"a": 1}, "name": "u", "unique": true})"_json), base), SpecMatch::kDistinct);
  EXPECT_EQ(compareSpecs(spec(R"({"key": {"a": 1}, "name": "other"})"_json), base).status().code(),
            ErrorCode::kIndexOptionsConflict);
  EXPECT_EQ(compareSpecs(spec(R"({"key": {"b": 1}, "name": "a_1"})"_json), base).status().code(),
            ErrorCode::kIndexKeySpecsConflict);
  EXPECT_EQ(compareSpecs(spec(R"({"key": {"a": 1}, "name": "a_1", "unique": true})"_json), base).status().code(),
            ErrorCode::kIndexKeySpecsConflict);
  EXPECT_EQ(
      compareSpecs(spec(R"({"key": {"a": 1}, "name": "a_1", "expireAfterSeconds": 5})"_json), base).status().code(),
      ErrorCode::kIndexOptionsConflict);
}

TEST(IndexSpec, NamesIndexesAsDriversDo) {
  EXPECT_EQ(defaultIndexName(R"({"a": 1, "b.c": -1, "d": "hashed"})"_json), "a_1_b.c_-1_d_hashed");
}

}  // namespace
}  // namespace troupe::storage
