#include "storage/catalog/collection_options.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {
namespace {

using bson::operator""_json;

ErrorCode refusal(const bson::Document& options) { return parseCollectionOptions(options).status().code(); }

TEST(CollectionOptions, ComesBackAsItWasStored) {
  const auto given =
      R"({"create": "c", "capped": true, "size": 1000, "max": 5, "validator": {"a": 1}, "validationLevel": "moderate",
                         "comment": "ignored", "$db": "test"})"_json;
  auto options = parseCollectionOptions(given);
  ASSERT_TRUE(options.isOK()) << options.status().toString();
  options->uuid = bson::Uuid{{1, 2, 3}};
  auto again = parseCollectionOptions(options->toDocument(true), true);
  EXPECT_TRUE(again->sameAs(*options));
  EXPECT_EQ(again->uuid, options->uuid);
  EXPECT_EQ(again->cappedSize, 1024);
  EXPECT_FALSE(options->toDocument(false).view().has("uuid"));
}

TEST(CollectionOptions, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(refusal(R"({"capped": true})"_json), ErrorCode::kInvalidOptions);
  EXPECT_EQ(refusal(R"({"size": 5})"_json), ErrorCode::kInvalidOptions);
  EXPECT_EQ(refusal(R"({"max": 5})"_json), ErrorCode::kInvalidOptions);
  EXPECT_EQ(refusal(R"({"pipeline": []})"_json), ErrorCode::kInvalidOptions);
  EXPECT_EQ(refusal(R"({"viewOn": "c", "capped": true, "size": 5})"_json), ErrorCode::kInvalidOptions);
  EXPECT_EQ(refusal(R"({"expireAfterSeconds": 5})"_json), ErrorCode::kInvalidOptions);
}

TEST(CollectionOptions, RefusesUnknownAndIllTypedFields) {
  EXPECT_EQ(refusal(R"({"bogus": 1})"_json), ErrorCode::kUnknownField);
  EXPECT_EQ(refusal(R"({"capped": "yes"})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(refusal(R"({"validator": 5})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(refusal(R"({"validationLevel": "lax"})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"collation": {"locale": "nowhere!"}})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(refusal(R"({"capped": true, "size": -1})"_json), ErrorCode::kBadValue);
}

// CLU-001.
TEST(CollectionOptions, TakesTheLegacyFormOfClusteringFromCatalogsAlone) {
  EXPECT_EQ(refusal(R"({"clusteredIndex": true})"_json), ErrorCode::kInvalidOptions);
  EXPECT_FALSE(parseCollectionOptions(R"({"clusteredIndex": false})"_json)->clusteredIndex);
  const auto stored = parseCollectionOptions(R"({"clusteredIndex": true})"_json, true);
  ASSERT_TRUE(stored.isOK()) << stored.status().toString();
  EXPECT_TRUE(
      stored->sameAs(*parseCollectionOptions(R"({"clusteredIndex": {"key": {"_id": 1}, "unique": true}})"_json)));
}

TEST(CollectionOptions, FillsInTheCollation) {
  auto options = parseCollectionOptions(R"({"collation": {"locale": "fr"}})"_json);
  EXPECT_EQ(options->collation["strength"].toInt64(), 3);
  EXPECT_TRUE(parseCollectionOptions(R"({"collation": {"locale": "simple"}})"_json)->collation.empty());
}

}  // namespace
}  // namespace troupe::storage
