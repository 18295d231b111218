#include "storage/index/key_generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/json.hpp"
#include "storage/index/document_text.hpp"

namespace troupe::storage {
namespace {

using bson::operator""_json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Keys {
  Keys(const bson::Document& pattern, const bson::Document& document, bool sparse = false) {
    auto spec = parseIndexSpec(bson::doc("key", pattern, "name", "x", "sparse", sparse));
    const KeyGenerator generator(*spec, nullptr);
    KeySet set;
    status = generator.generate(document, set);
    for (const auto& key : set.keys) texts.push_back(documentText(generator.describe(key)));
    multikey = set.multikey;
    paths = set.paths;
  }
  Status status;
  std::vector<std::string> texts;
  bool multikey = false;
  MultikeyPaths paths;
};

TEST(KeyGenerator, TakesFieldsInThePatternsOrderAndMissingAsNull) {
  EXPECT_THAT(Keys(R"({"a": 1, "b": -1})"_json, R"({"b": "x", "a": 5})"_json).texts,
              ElementsAre(R"({ a: 5, b: "x" })"));
  EXPECT_THAT(Keys(R"({"a": 1, "b": 1})"_json, R"({"a": 5})"_json).texts, ElementsAre("{ a: 5, b: null }"));
  EXPECT_THAT(Keys(R"({"a.b": 1})"_json, R"({"a": {"b": 1}})"_json).texts, ElementsAre("{ a.b: 1 }"));
  EXPECT_THAT(Keys(R"({"a.b": 1})"_json, R"({"a": 7})"_json).texts, ElementsAre("{ a.b: null }"));
  EXPECT_FALSE(Keys(R"({"a.b": 1})"_json, R"({"a": {"b": 1}})"_json).multikey);
}

TEST(KeyGenerator, GivesOneKeyForEachDistinctElement) {
  const Keys keys(R"({"a": 1})"_json, R"({"a": [3, 1, 3, "x"]})"_json);
  EXPECT_THAT(keys.texts, ElementsAre("{ a: 1 }", "{ a: 3 }", R"({ a: "x" })"));
  EXPECT_TRUE(keys.multikey);
  EXPECT_THAT(keys.paths, ElementsAre(0b1));
}

TEST(KeyGenerator, FollowsPathsThroughArraysOfDocuments) {
  const Keys keys(R"({"a.b": 1, "c": 1})"_json, R"({"a": [{"b": 2}, {"b": 1}, {"x": 1}, 9], "c": 7})"_json);
  EXPECT_THAT(keys.texts, ElementsAre("{ a.b: null, c: 7 }", "{ a.b: 1, c: 7 }", "{ a.b: 2, c: 7 }"));
  EXPECT_THAT(keys.paths, ElementsAre(0b1, 0));
  EXPECT_THAT(Keys(R"({"a.b": 1})"_json, R"({"a": [{"b": [1, 2]}, {"b": [3]}]})"_json).texts,
              ElementsAre("{ a.b: 1 }", "{ a.b: 2 }", "{ a.b: 3 }"));
  EXPECT_THAT(Keys(R"({"a.b": 1})"_json, R"({"a": [{"b": [1, 2]}]})"_json).paths, ElementsAre(0b11));
}

TEST(KeyGenerator, TakesTwoFieldsOfOneArrayTogether) {
  EXPECT_THAT(Keys(R"({"a.b": 1, "a.c": 1})"_json, R"({"a": [{"b": 1, "c": 2}, {"b": 3}]})"_json).texts,
              ElementsAre("{ a.b: 1, a.c: 2 }", "{ a.b: 3, a.c: null }"));
}

TEST(KeyGenerator, RefusesParallelArrays) {
  const Keys keys(R"({"a": 1, "b": 1})"_json, R"({"a": [1], "b": [2]})"_json);
  EXPECT_EQ(keys.status.code(), ErrorCode::kCannotIndexParallelArrays);
  EXPECT_EQ(keys.status.reason(), "cannot index parallel arrays [b] [a]");
}

TEST(KeyGenerator, TellsAnEmptyArrayFromAMissingField) {
  EXPECT_THAT(Keys(R"({"a": 1})"_json, R"({"a": []})"_json).texts, ElementsAre("{ a: undefined }"));
  EXPECT_TRUE(Keys(R"({"a": 1})"_json, R"({"a": []})"_json).multikey);
  EXPECT_THAT(Keys(R"({"a.b": 1})"_json, R"({"a": []})"_json).texts, ElementsAre("{ a.b: null }"));
}

TEST(KeyGenerator, DoesNotEnterArraysWithinArrays) {
  EXPECT_THAT(Keys(R"({"a": 1})"_json, R"({"a": [[1, 2], 3]})"_json).texts, ElementsAre("{ a: 3 }", "{ a: [ 1, 2 ] }"));
  EXPECT_THAT(Keys(R"({"a.b": 1})"_json, R"({"a": [[{"b": 1}]]})"_json).texts, ElementsAre("{ a.b: null }"));
}

TEST(KeyGenerator, FollowsNumericPathsIntoOneElement) {
  const Keys keys(R"({"a.1.b": 1})"_json, R"({"a": [{"b": 1}, {"b": 2}]})"_json);
  EXPECT_THAT(keys.texts, ElementsAre("{ a.1.b: 2 }"));
  EXPECT_FALSE(keys.multikey);
  EXPECT_EQ(Keys(R"({"a.0": 1})"_json, R"({"a": [{"0": 1}]})"_json).status.code(), ErrorCode(16746));
}

TEST(KeyGenerator, LeavesDocumentsWithoutAnyFieldOutOfSparseIndexes) {
  EXPECT_THAT(Keys(R"({"a": 1, "b": 1})"_json, R"({"c": 1})"_json, true).texts, IsEmpty());
  EXPECT_THAT(Keys(R"({"a": 1, "b": 1})"_json, R"({"b": 1})"_json, true).texts, ElementsAre("{ a: null, b: 1 }"));
  EXPECT_THAT(Keys(R"({"a": 1})"_json, R"({"a": null})"_json, true).texts, ElementsAre("{ a: null }"));
}

TEST(KeyGenerator, HashesEqualNumbersAlikeAndRefusesArrays) {
  EXPECT_EQ(Keys(R"({"a": "hashed"})"_json, R"({"a": 5})"_json).texts,
            Keys(R"({"a": "hashed"})"_json, R"({"a": 5.0})"_json).texts);
  EXPECT_EQ(Keys(R"({"a": "hashed"})"_json, R"({"a": [5]})"_json).status.code(), ErrorCode(16766));
}

TEST(KeyGenerator, ComparesStringsByTheCollation) {
  auto collator = bson::Collator::parse(R"({"locale": "en", "strength": 2})"_json);
  auto spec = parseIndexSpec(R"({"key": {"a": 1}, "name": "x", "collation": {"locale": "en", "strength": 2}})"_json);
  const KeyGenerator generator(*spec, collator->get());
  KeySet upper, lower;
  ASSERT_TRUE(generator.generate(R"({"a": "HELLO"})"_json, upper).isOK());
  ASSERT_TRUE(generator.generate(R"({"a": "hello"})"_json, lower).isOK());
  EXPECT_EQ(upper.keys[0].key, lower.keys[0].key);
}

}  // namespace
}  // namespace troupe::storage
