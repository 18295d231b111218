// Updates that would take the stack, all memory or all time: refused, or ended by the budget and the interrupt of their
// operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "messaging/bson/json.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/update/update.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

using bson::Document;
using bson::operator""_json;

constexpr int kMany = 300'000;

std::string pathOf(int components) {
  std::string path = "a";
  for (int i = 1; i < components; ++i) path += ".a";
  return path;
}

/// {name0: 1, name1: 1 ...}, in a random order that is always the same.
Document manyFields(const std::string& prefix, int count = kMany) {
  std::vector<int> order(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  bson::Builder out;
  for (const int i : order) out.append(prefix + std::to_string(i), 1);
  return out.finish();
}

Document onesArray(int count) {
  bson::Builder out;
  out.openArray("a");
  for (int i = 0; i < count; ++i) out.push(1);
  return out.close().finish();
}

class HostileUpdates : public ::testing::Test {
 protected:
  HostileUpdates() { context.work = &work; }

  StatusWith<std::unique_ptr<Update>> parse(const Document& operators, const Document& arrayFilters = {}) {
    command_ = bson::doc("u", operators);
    return parseUpdate(command_["u"], arrayFilters, context);
  }
  Status parsed(std::string_view modifier, const std::string& path, const bson::Value& operand) {
    return parse(bson::doc(modifier, bson::doc(path, operand))).status();
  }
  static StatusWith<UpdateResult> apply(const Update& update, const Document& before) {
    UpdateInput input;
    input.document = before;
    return update.apply(input);
  }

  TestWork work{int64_t{1} << 30};
  ParseContext context;
  Document command_;
};

TEST_F(HostileUpdates, PathsHaveNoMoreComponentsThanDocumentsNest) {
  EXPECT_TRUE(parsed("$set", pathOf(bson::kMaxNestingDepth), bson::Value(1)).isOK());
  for (const int components : {bson::kMaxNestingDepth + 1, 200'000}) {
    EXPECT_EQ(parsed("$set", pathOf(components), bson::Value(1)), ErrorCode::kOverflow);
    EXPECT_EQ(parsed("$rename", pathOf(components), bson::Value("b")), ErrorCode::kOverflow);
    EXPECT_EQ(parsed("$rename", "b", bson::Value(pathOf(components))), ErrorCode::kOverflow);
    EXPECT_EQ(parsed("$pull", pathOf(components), bson::Value(1)), ErrorCode::kOverflow);
  }
}

TEST_F(HostileUpdates, AnUpsertsEqualitiesHaveNoMoreEither) {
  const auto filter = parseMatch(bson::doc(pathOf(200'000), 1), context);
  ASSERT_TRUE(filter.isOK());
  EXPECT_EQ(documentFromFilter(**filter, Update::Form::kOperators).status(), ErrorCode::kOverflow);
}

TEST_F(HostileUpdates, ManyPathsTakeLittleMoreThanTheirBytes) {
  const auto update = parse(bson::doc("$inc", manyFields("f")));
  ASSERT_TRUE(update.isOK()) << update.status().toString();
  const auto incremented = apply(**update, manyFields("f"));
  ASSERT_TRUE(incremented.isOK());
  EXPECT_EQ(incremented->document["f77777"].toInt64(), 2);
  const auto added = apply(**update, manyFields("g"));
  ASSERT_TRUE(added.isOK());
  EXPECT_EQ(added->document.view().count(), 2 * kMany);
  EXPECT_GT(work.looks, 50);
}

TEST_F(HostileUpdates, ManyElementsAreFoundByTheirPositions) {
  const auto update = parse(bson::doc("$inc", manyFields("a.", 200'000)));
  const auto result = apply(**update, onesArray(200'000));
  ASSERT_TRUE(result.isOK()) << result.status().toString();
  EXPECT_EQ(result->document.view().at("a.199999").toInt64(), 2);
}

TEST_F(HostileUpdates, EndWithTheirOperation) {
  const auto update = parse(bson::doc("$unset", manyFields("a.$[].f", 10'000)));
  ASSERT_TRUE(update.isOK());
  bson::Builder before;
  before.openArray("a");
  for (int i = 0; i < 10'000; ++i) before.pushDocument().close();
  const Document documents = before.close().finish();
  work.killed = true;
  EXPECT_EQ(apply(**update, documents).status(), ErrorCode::kInterrupted);
  EXPECT_EQ(apply(**update, onesArray(10'000)).status(), ErrorCode::kInterrupted);
  EXPECT_EQ(parse(bson::doc("$unset", manyFields("f"))).status(), ErrorCode::kInterrupted);
}

TEST_F(HostileUpdates, TheirFiltersEndWithTheOperation) {
  const auto update = parse(R"({"$set": {"a.$[x]": 2}})"_json, R"({"0": {"x": {"$gt": 1}}})"_json);
  ASSERT_TRUE(update.isOK()) << update.status().toString();
  work.killed = true;
  EXPECT_EQ(apply(**update, onesArray(10'000)).status(), ErrorCode::kInterrupted);
}

TEST_F(HostileUpdates, AreHeldByTheBudget) {
  TestWork small(int64_t{16} << 20);
  context.work = &small;
  EXPECT_EQ(parse(bson::doc("$inc", manyFields("f"))).status(), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(small.budget.used(), 0);
}

TEST_F(HostileUpdates, AnUpsertMayHaveManyEqualities) {
  const auto filter = parseMatch(manyFields("f"), context);
  ASSERT_TRUE(filter.isOK());
  const auto made = documentFromFilter(**filter, Update::Form::kOperators);
  ASSERT_TRUE(made.isOK());
  EXPECT_EQ(made->view().count(), kMany);
}

TEST_F(HostileUpdates, AnUpsertsEqualitiesMayNotContradict) {
  const auto reasonOf = [&](const Document& filter) {
    return documentFromFilter(**parseMatch(filter, context), Update::Form::kOperators).status().reason();
  };
  EXPECT_EQ(reasonOf(R"({"a.b": 1, "c": 1, "a": 1})"_json),
            "cannot infer query fields to set, both paths 'a' and 'a.b' are matched");
  EXPECT_EQ(reasonOf(R"({"a": 1, "c": 1, "a.b": 1})"_json),
            "cannot infer query fields to set, both paths 'a.b' and 'a' are matched");
  EXPECT_EQ(reasonOf(R"({"$and": [{"a.b": 1}, {"c": 1}, {"a.b": 1}]})"_json),
            "cannot infer query fields to set, path 'a.b' is matched twice");
}

}  // namespace
}  // namespace troupe::query
