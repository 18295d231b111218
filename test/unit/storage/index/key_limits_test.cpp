#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "storage/index/key_generator.hpp"
#include "storage/operation/operation_context.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

using bson::operator""_json;
using ::testing::HasSubstr;

KeyGenerator generatorOf(const bson::Document& pattern) {
  return KeyGenerator(*parseIndexSpec(bson::doc("key", pattern, "name", "the_index")), nullptr);
}

/// {a: [0, 1, ... modulo - 1, 0, 1 ...], b: text}
bson::Document numbers(int count, int modulo, const std::string& text = "") {
  bson::Builder b;
  b.openArray("a");
  for (int i = 0; i < count; ++i) b.push(i % modulo);
  b.close().append("b", text);
  return b.finish();
}

TEST(KeyLimits, RefusesMoreKeysThanOneDocumentMayHave) {
  const KeyGenerator generator = generatorOf(R"({"a": 1})"_json);
  KeySet set;
  ASSERT_TRUE(generator.generate(numbers(100'000, 100'000), set, {}).isOK());
  EXPECT_EQ(set.keys.size(), 100'000);
  for (const int count : {100'001, 1'000'000}) {
    const Status status = generator.generate(numbers(count, count), set, {});
    EXPECT_EQ(status.code(), ErrorCode::kCannotBuildIndexKeys);
    EXPECT_THAT(status.reason(), HasSubstr("more than 100000 keys for the index the_index"));
    EXPECT_LE(set.keys.capacity(), 300'000) << "the memory was not spent";
  }
  ASSERT_TRUE(generator.generate(numbers(300'000, 300'000), set).isOK()) << "such keys can be removed";
  EXPECT_EQ(set.keys.size(), 300'000);
}

TEST(KeyLimits, CountsRepeatedKeysOnceAndHoldsFewOfThem) {
  const KeyGenerator generator = generatorOf(R"({"a": 1})"_json);
  for (const int distinct : {1, 3, 60'000}) {
    KeySet set;
    ASSERT_TRUE(generator.generate(numbers(1'000'000, distinct), set, {}).isOK());
    EXPECT_EQ(set.keys.size(), static_cast<size_t>(distinct));
    EXPECT_LE(set.keys.capacity(), 300'000);
  }
}

TEST(KeyLimits, RefusesKeysOfTooManyBytesBeforeTheyAreMade) {
  // Each element's key has a copy of b: 1 GB in all, from a document of 1.3 MB.
  const KeyGenerator generator = generatorOf(R"({"a": 1, "b": 1})"_json);
  KeySet set;
  const Status status = generator.generate(numbers(100'000, 100'000, std::string(10'000, 'x')), set, {});
  EXPECT_EQ(status.code(), ErrorCode::kCannotBuildIndexKeys);
  EXPECT_THAT(status.reason(), HasSubstr("keys of more than 67108864 bytes for the index the_index"));
  EXPECT_LE(set.keys.size(), 6'800);
  ASSERT_TRUE(generator.generate(numbers(100'000, 100'000, std::string(500, 'x')), set, {}).isOK());
}

TEST(KeyLimits, CountsTheWorkOfRepetitions) {
  // One key, made a million times, of a megabyte.
  const KeyGenerator generator = generatorOf(R"({"a": 1, "b": 1})"_json);
  KeySet set;
  EXPECT_EQ(generator.generate(numbers(1'000'000, 1, std::string(1'000'000, 'x')), set, {}).code(),
            ErrorCode::kCannotBuildIndexKeys);
}

TEST(KeyLimits, CountsFieldsThatHoldEachOther) {
  // {"a": 1, "a.b": 1, "a.b.c": 1 ...}: each holds all that those behind it hold.
  bson::Document inner = bson::doc("b", std::string(4'000'000, 'x'));
  std::string path = "a";
  bson::Builder pattern;
  for (int i = 0; i < 30; ++i) {
    pattern.append(path, 1);
    path += ".b";
    inner = bson::doc("b", inner);
  }
  KeySet set;
  EXPECT_EQ(generatorOf(pattern.finish()).generate(bson::doc("a", inner), set, {}).code(),
            ErrorCode::kCannotBuildIndexKeys);
}

TEST(KeyLimits, ChargesTheOperationForTheKeys) {
  std::atomic<int64_t> total{int64_t{1} << 30}, each{int64_t{4} << 20};
  MemoryGovernor governor(total, each);
  DeterministicHarness harness;
  SessionPool pool(harness.engine());
  OperationContext operation({.sessions = pool, .memory = &governor});
  const KeyGenerator generator = generatorOf(R"({"a": 1, "b": 1})"_json);
  KeySet set;
  ASSERT_TRUE(generator.generate(numbers(100, 100), set, {.operation = &operation}).isOK());
  EXPECT_EQ(operation.memory().used(), 0) << "few keys are not worth it";
  const auto wide = numbers(1'000, 1'000, std::string(1'000, 'x'));
  ASSERT_TRUE(generator.generate(wide, set, {.operation = &operation}).isOK());
  EXPECT_GE(operation.memory().used(), 1'000'000);
  set.clear();
  EXPECT_EQ(operation.memory().used(), 0);
  const auto wider = numbers(10'000, 10'000, std::string(1'000, 'x'));
  EXPECT_EQ(generator.generate(wider, set, {.operation = &operation}).code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_LE(operation.memory().peak(), int64_t{4} << 20);
}

}  // namespace
}  // namespace troupe::storage
