// convertToCapped, cloneCollectionAsCapped; what inserts remove.
#include <algorithm>
#include <functional>

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using CappingTest = CommandTest;

TEST_F(CappingTest, ConvertedCollectionsKeepDocumentsAndOrder) {
  fill("c", 1200);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 1000000})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": true, "count": 1200, "max": 0, "nindexes": 1})"));
  EXPECT_TRUE(answers(R"({"find": "c", "sort": {"$natural": -1}, "limit": 1, "projection": {"_id": 1}})",
                      R"({"cursor": {"firstBatch": [{"_id": 1200}]}})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1, "nameOnly": true})", R"({"cursor": {"firstBatch": [{"name": "c"}]}})"));
}

TEST_F(CappingTest, OnlyTheNewestDocumentsStayWhenNotAllFit) {
  fill("c", 1000);
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 4096})"));
  const auto stats = run(R"({"collStats": "c"})");
  EXPECT_LE(stats["size"].toInt64(), 4096);
  EXPECT_GT(stats["count"].toInt64(), 0);
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"_id": 1}})", R"({"n": 0})"));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"_id": 1000}})", R"({"n": 1})"));
}

TEST_F(CappingTest, ClonesLeaveTheirSourceAsItIs) {
  fill("c", 10);
  EXPECT_TRUE(succeeds(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 100000})"));
  EXPECT_TRUE(answers(R"({"collStats": "d"})", R"({"capped": true, "count": 10})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": false, "count": 10})"));
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 100000})"), 48);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "c", "size": 100000})"), 48);
}

TEST_F(CappingTest, OptionsOfTheSourceStay) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "validator": {"x": {"$gt": 0}}, "validationLevel": "moderate",
      "validationAction": "warn", "collation": {"locale": "en", "strength": 2},
      "changeStreamPreAndPostImages": {"enabled": true}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": -1}]})"));
  constexpr const char* kKept = R"({"cursor": {"firstBatch": [{"options": {"capped": true, "size": 8192,
      "validator": {"x": {"$gt": 0}}, "validationLevel": "moderate", "validationAction": "warn",
      "collation": {"locale": "en", "strength": 2}, "changeStreamPreAndPostImages": {"enabled": true}}}]}})";
  EXPECT_TRUE(succeeds(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1, "filter": {"name": "d"}})", kKept));
  EXPECT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1, "filter": {"name": "c"}})", kKept));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 1})")) << "what was stored is copied as it is";
}

TEST_F(CappingTest, AValidatorGoesOnRefusingDocuments) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "validator": {"x": {"$gt": 0}}})"));
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"x": -1}]})", R"({"writeErrors": [{"code": 121}]})"));
}

TEST_F(CappingTest, WhatCappedCollectionsCannotHaveGoes) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
      "expireAfterSeconds": 1000})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})"));
  EXPECT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": true, "count": 2, "nindexes": 1})"));
  const auto shown = run(R"({"listCollections": 1})");
  const auto options = shown.view().at("cursor.firstBatch.0.options").asDocument();
  EXPECT_FALSE(options["clusteredIndex"].ok());
  EXPECT_FALSE(options["expireAfterSeconds"].ok());

  ASSERT_TRUE(succeeds(R"({"create": "d", "capped": true, "size": 4096, "max": 1})"));
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "d", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"collStats": "d"})", R"({"capped": true, "max": 0})"));
}

TEST_F(CappingTest, SystemCollectionsAreNotReplaced) {
  ASSERT_TRUE(succeeds(R"({"createUser": "u", "pwd": "p", "roles": []})", "admin"));
  EXPECT_EQ(code(R"({"convertToCapped": "system.users", "size": 4096})", "admin"), 20);
  fill("c", 1);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "system.users", "size": 4096})"), 73);
  EXPECT_TRUE(answers(R"({"usersInfo": "u"})", R"({"users": [{"user": "u"}]})", "admin"));
}

TEST_F(CappingTest, BadSourcesAndSizesAreRefused) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c"})"));
  EXPECT_EQ(code(R"({"convertToCapped": "c", "size": 0})"), 72);
  EXPECT_EQ(code(R"({"convertToCapped": "c"})"), 72);
  EXPECT_EQ(code(R"({"convertToCapped": "no", "size": 4096})"), 26);
  EXPECT_EQ(code(R"({"convertToCapped": "v", "size": 4096})"), 166);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "no", "toCollection": "d", "size": 4096})"), 26);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "v", "toCollection": "d", "size": 4096})"), 166);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "v", "size": 4096})"), 166);
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": false, "count": 1})"));
}

TEST_F(CappingTest, DeletesRemoveAllThatMatch) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 100000})"));
  fill("c", 20);
  EXPECT_TRUE(
      answers(R"({"delete": "c", "deletes": [{"q": {"x": {"$gte": 5}}, "limit": 0}]})", R"({"ok": 1, "n": 10})"));
  EXPECT_TRUE(answers(R"({"findAndModify": "c", "query": {"x": {"$gte": 0}}, "remove": true})",
                      R"({"ok": 1, "value": {"_id": 1}})"));
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", R"({"ok": 1, "n": 9})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 0})"));
}

TEST_F(CappingTest, UpdatesChangeAllThatMatch) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 100000})"));
  fill("c", 20);
  EXPECT_TRUE(
      answers(R"({"update": "c", "updates": [{"q": {"x": {"$gte": 5}}, "u": {"$set": {"y": 1}}, "multi": true}]})",
              R"({"ok": 1, "n": 10, "nModified": 10})"));
}

TEST_F(CappingTest, AReaderWhosePositionIsRemovedLearnsIt) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 100000})"));
  fill("c", 5);
  const bson::Document opened = run(R"({"find": "c", "batchSize": 2})");
  const int64_t cursor = opened.view().at("cursor.id").toInt64();
  ASSERT_NE(cursor, 0);
  ASSERT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", R"({"n": 5})"));
  EXPECT_EQ(server.run(bson::doc("getMore", cursor, "collection", "c"))["code"].toInt64(),
            static_cast<int64_t>(ErrorCode::kCappedPositionLost));
}

/// Counts the documents that each unit of work removes.
class Removals final : public storage::WriteObserver {
 public:
  bool observes(const storage::CatalogEntry& entry) const override { return entry.ns.db() == "test"; }
  Status onRemove(storage::RecoveryUnit& unit, const storage::Collection&, const storage::RemoveOperation&) override {
    if (onRemoval) onRemoval(*unit.operation());
    if (++open > 1) return Status::OK();
    unit.onChange(
        [this](auto) {
          most = std::max(most, open);
          open = 0;
        },
        [this] { open = 0; });
    return Status::OK();
  }
  int most = 0;  ///< that a unit of work has removed
  int open = 0;  ///< by the present one
  std::function<void(storage::OperationContext&)> onRemoval;
};

struct HasRemovals {
  Removals removals;
};

/// A capped collection of 204,800 bytes is full of documents of 21 bytes.
class CappedInsertTest : private HasRemovals, public CommandTest {
 protected:
  static constexpr int kSmall = 9000;
  static constexpr int kMostOfAUnit = 1200;  ///< what an insert may remove, with the documents of its group

  CappedInsertTest() : CommandTest({.observers = {&removals}}) {}

  using HasRemovals::removals;
  void fillCapped() {
    EXPECT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 204800})"));
    fill("c", kSmall);
    ASSERT_EQ(run(R"({"collStats": "c"})")["count"].toInt64(), kSmall);
    removals.most = 0;
  }
  static bson::Document large(int id) { return bson::doc("_id", id, "s", std::string(190'000, 'x')); }
  bson::Document insertLarge(int id) {
    return server.run(bson::doc("insert", "c", "documents", std::vector{large(id)}));
  }
  int64_t size() { return run(R"({"collStats": "c"})")["size"].toInt64(); }
  int64_t count() { return run(R"({"collStats": "c"})")["count"].toInt64(); }
};

TEST_F(CappedInsertTest, ALargeDocumentTakesThePlaceOfManySmallOnesInSeveralUnits) {
  fillCapped();
  EXPECT_TRUE(holds(insertLarge(-1), R"({"ok": 1, "n": 1})"_json));
  EXPECT_LE(size(), 204'800);
  EXPECT_GT(count(), 1);
  EXPECT_GT(removals.most, 0);
  EXPECT_LE(removals.most, kMostOfAUnit);
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"_id": -1}})", R"({"n": 1})"));
}

TEST_F(CappedInsertTest, AnUpsertOfALargeDocumentDoesSoToo) {
  fillCapped();
  const auto update = bson::doc("q", bson::doc("_id", -1), "u", large(-1), "upsert", true);
  EXPECT_TRUE(holds(server.run(bson::doc("update", "c", "updates", std::vector{update})), R"({"ok": 1, "n": 1})"_json));
  EXPECT_LE(size(), 204'800);
  EXPECT_LE(removals.most, kMostOfAUnit);
}

TEST_F(CappedInsertTest, ALargeDocumentThatIsCopiedDoesSoToo) {
  fill("c", kSmall);
  ASSERT_TRUE(insertLarge(-1)["ok"].truthy());
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 204800})"));
  EXPECT_LE(size(), 204'800);
  EXPECT_GT(removals.most, 0);
  EXPECT_LE(removals.most, kMostOfAUnit);
}

TEST_F(CappedInsertTest, LowerLimitsAreReachedByTheInsertsThatFollow) {
  fillCapped();
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "cappedMax": 10})"));
  EXPECT_EQ(count(), kSmall);
  int inserts = 0;
  for (; count() > 10 && inserts < 20; ++inserts)
    ASSERT_TRUE(
        server.run(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", -inserts)}))["ok"].truthy());
  EXPECT_EQ(count(), 10);
  EXPECT_GT(inserts, 2);
  EXPECT_LE(removals.most, kMostOfAUnit);
}

TEST_F(CappedInsertTest, AnInsertThatIsKilledLeavesTheRestToTheNextOnes) {
  fillCapped();
  removals.onRemoval = [](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterrupted); };
  EXPECT_EQ(insertLarge(-1)["code"].toInt64(), static_cast<int64_t>(ErrorCode::kInterrupted));
  removals.onRemoval = nullptr;
  EXPECT_GT(size(), 300'000) << "it is in, and has removed what its own unit of work may";
  for (int i = 2; i < 12; ++i)
    ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", -i)}))["ok"].truthy());
  EXPECT_LE(size(), 204'800);
  EXPECT_LE(removals.most, kMostOfAUnit);
}

}  // namespace troupe::commands
