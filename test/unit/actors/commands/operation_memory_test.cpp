// The memory of operations: hostile pipelines and updates end at their budget, and the node's budget ends the others.
#include "storage/operation/memory_budget.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

class OperationMemoryTest : public CommandTest {
 protected:
  OperationMemoryTest() {
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryLimitBytes": 8388608})", "admin"));
    // The stages' own limits of 100 MB lie above it.
  }
  void TearDown() override {
    CommandTest::TearDown();
    server.server->cursors.killIf([](const ClientCursor&) { return true; }, CursorRegistry::Afterwards::kNotFound);
    EXPECT_EQ(governor().reserved(), 0);
  }
  const storage::MemoryGovernor& governor() { return *server.server->operations.memory; }
  /// {_id: 1..count, x, s: text of `bytes`}, in messages that take little of the node's memory.
  void fillTexts(std::string_view collection, int count, size_t bytes) {
    constexpr int kOfAMessage = 10;
    for (int first = 1; first <= count; first += kOfAMessage) {
      bson::Builder b;
      b.append("insert", collection).openArray("documents");
      for (int i = first; i < first + kOfAMessage && i <= count; ++i)
        b.push(bson::doc("_id", i, "next", i + 1, "s", std::string(bytes, 'x')));
      ASSERT_TRUE(server.run(b.close().finish())["ok"].truthy());
    }
  }
  int64_t codeOf(const std::string& stages, const std::string& more = "") {
    return code(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stages + "]" + more + "}");
  }
  static constexpr const char* kDoubling =
      R"({"$reduce": {"input": {"$range": [0, 64]}, "initialValue": "$s", "in": {"$concat": ["$$value", "$$value"]}}})";
};

constexpr int64_t kExceeded = 146;

TEST_F(OperationMemoryTest, HostilePipelinesEndAtTheBudget) {
  fillTexts("c", 100, 100'000);
  const std::string noDisk = R"(, "allowDiskUse": false)";
  const std::string doubling = kDoubling;
  EXPECT_EQ(codeOf(R"({"$project": {"v": )" + doubling + "}}"), kExceeded);
  EXPECT_EQ(codeOf(R"({"$match": {"$expr": {"$eq": [1, )" + doubling + "]}}}"), kExceeded);
  EXPECT_EQ(codeOf(R"({"$replaceWith": {"v": )" + doubling + "}}"), kExceeded);
  EXPECT_EQ(codeOf(R"({"$group": {"_id": null, "all": {"$push": "$s"}}})", noDisk), kExceeded);
  EXPECT_EQ(codeOf(R"({"$group": {"_id": null, "all": {"$push": "$$ROOT"}}})"), kExceeded) << "one group cannot spill";
  EXPECT_EQ(codeOf(R"({"$group": {"_id": "$_id", "all": {"$push": "$s"}}})", noDisk), kExceeded);
  EXPECT_EQ(codeOf(R"({"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"all": {"$push": "$s",
                       "window": {"documents": ["unbounded", "unbounded"]}}}}})"),
            kExceeded);
  EXPECT_EQ(codeOf(R"({"$facet": {"a": [{"$limit": 1}]}})"), kExceeded);
  EXPECT_EQ(codeOf(R"({"$sort": {"s": 1, "x": 1}}, {"$limit": 100000})", noDisk), kExceeded);
  EXPECT_EQ(codeOf(R"({"$sample": {"size": 99}})"), kExceeded);
  EXPECT_EQ(codeOf(R"({"$graphLookup": {"from": "c", "startWith": "$_id", "connectFromField": "next",
                       "connectToField": "_id", "as": "chain"}})"),
            kExceeded);
  EXPECT_EQ(codeOf(R"({"$bucketAuto": {"groupBy": "$_id", "buckets": 2}})"), kExceeded);
  EXPECT_EQ(codeOf(R"({"$addFields": {"a": "$s", "b": {"$map": {"input": {"$range": [0, 200]}, "in": "$s"}}}})"),
            kExceeded);
  std::string copies = R"({"$project": {"v": {"$reduce": {"input": {"$range": [0, 12]}, "initialValue": "abcdefgh",
                                    "in": {"$concat": ["$$value", "$$value"]}}}}})";
  for (int i = 0; i < 300; ++i) copies += R"(, {"$addFields": {"x": 1}})";
  EXPECT_EQ(codeOf(copies), 0);
  EXPECT_EQ(codeOf(std::string(copies).replace(copies.find("12]"), 2, "14")), kExceeded) << "each stage holds a copy";
  EXPECT_GT(governor().peak(), 4 << 20);
  EXPECT_LT(governor().peak(), 9 << 20);
}

TEST_F(OperationMemoryTest, WhatMaySpillGoesOnOnTheDisk) {
  fillTexts("c", 100, 100'000);
  const std::string count = R"(, {"$project": {"s": 0}}, {"$count": "n"})";
  const auto batchOf = [&](const std::string& stage) {
    return batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stage + count + "]}");
  };
  EXPECT_EQ(batchOf(R"({"$sort": {"s": 1, "x": 1}}, {"$limit": 100000})"),
            std::vector<std::string>{R"({ "n" : 100 })"});
  EXPECT_EQ(batchOf(R"({"$group": {"_id": "$_id", "all": {"$push": "$s"}}})"),
            std::vector<std::string>{R"({ "n" : 100 })"});
}

TEST_F(OperationMemoryTest, HostileUpdatesAndProjectionsEndAtTheBudget) {
  fillTexts("c", 1, 1000);
  const std::string doubling = kDoubling;
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {}, "u": [{"$set": {"v": )" + doubling + "}}]}]}",
                      R"({"ok": 1, "n": 0, "writeErrors": [{"index": 0, "code": 146}]})"));
  EXPECT_EQ(code(R"({"findAndModify": "c", "query": {}, "update": [{"$set": {"v": )" + doubling + "}}]}"), kExceeded);
  EXPECT_EQ(code(R"({"find": "c", "projection": {"v": )" + doubling + "}}"), kExceeded);
  EXPECT_EQ(code(R"({"find": "c", "filter": {"$expr": {"$eq": [1, )" + doubling + "]}}}"), kExceeded);
  EXPECT_EQ(code(R"({"count": "c", "query": {"$expr": {"$eq": [1, )" + doubling + "]}}}"), kExceeded);
  EXPECT_EQ(code(R"({"find": "c", "let": {"v": {"$reduce": {"input": {"$range": [0, 64]}, "initialValue": "abc",
                     "in": {"$concat": ["$$value", "$$value"]}}}}})"),
            kExceeded);
  EXPECT_TRUE(answers(R"({"find": "c", "projection": {"_id": 1}})", R"({"cursor": {"firstBatch": [{"_id": 1}]}})"))
      << "the update changed nothing";
}

TEST_F(OperationMemoryTest, RowsThatAGroupSetsAsideEndAtTheBudget) {
  fillTexts("c", 100, 100'000);
  std::string outputs;
  for (int i = 0; i < 60; ++i) outputs += ", \"a" + std::to_string(i) + R"(": {"$push": "$s"})";
  EXPECT_EQ(codeOf(R"({"$group": {"_id": "$_id")" + outputs + "}}"), kExceeded);
}

TEST_F(OperationMemoryTest, DistinctValuesEndAtTheBudget) {
  for (int i = 0; i < 100; ++i) {
    const auto row = bson::doc("_id", i, "s", std::to_string(i) + std::string(100'000, 'x'));
    ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", std::vector{row}))["ok"].truthy());
  }
  EXPECT_EQ(code(R"({"distinct": "c", "key": "s"})"), kExceeded);
  EXPECT_EQ(code(R"({"distinct": "c", "key": "s", "query": {"_id": {"$lt": 40}}})"), 0);
}

TEST_F(OperationMemoryTest, ListsEndAtTheBudget) {
  for (int i = 0; i < 24; ++i) {
    const auto validator = bson::doc("a", bson::doc("$ne", std::string(400'000, 'x')));
    ASSERT_TRUE(server.run(bson::doc("create", "v" + std::to_string(i), "validator", validator))["ok"].truthy());
  }
  EXPECT_EQ(code(R"({"listCollections": 1})"), kExceeded);
  EXPECT_EQ(code(R"({"listCollections": 1, "nameOnly": true})"), 0);
  EXPECT_EQ(code(R"({"listCollections": 1, "filter": {"name": "v1"}})"), 0);
  const std::string catalog = R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listCatalog": {}}, {"$count": "n"}]})";
  EXPECT_EQ(code(catalog, "admin"), kExceeded);
  EXPECT_EQ(run(R"({"serverStatus": 1})").view().at("metrics.operationMemory.reservedBytes").toInt64(), 0);
}

TEST_F(OperationMemoryTest, TheRowsOfACursorAreChargedUntilTheyWereReturned) {
  constexpr size_t kRow = 500'000;
  const auto upserts = [](int count) {
    bson::Builder b;
    b.append("bulkWrite", 1).append("nsInfo", std::vector{bson::doc("ns", "test.c")});
    b.append("cursor", bson::doc("batchSize", 1)).openArray("ops");
    for (int i = 0; i < count; ++i)
      b.push(bson::doc("update", 0, "filter", bson::doc("_id", std::to_string(i) + std::string(kRow, 'x')),
                       "updateMods", bson::doc("$set", bson::doc("a", 1)), "upsert", true));
    return b.close().finish();
  };
  const bson::Document full = server.run(upserts(20), "admin");
  EXPECT_EQ(full["nErrors"].toInt64(), 1) << "the first operation that has no room for its row";
  EXPECT_LT(full["nUpserted"].toInt64(), 20);
  const auto cursors = std::vector{full.view().at("cursor.id").toInt64()};
  ASSERT_TRUE(server.run(bson::doc("killCursors", "$cmd.bulkWrite", "cursors", cursors), "admin")["ok"].truthy());
  EXPECT_EQ(governor().reserved(), 0);
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  const bson::Document reply = server.run(upserts(10), "admin");
  const int64_t id = reply.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0) << reply["errmsg"].toStringOr();
  EXPECT_GT(governor().reserved(), static_cast<int64_t>(9 * kRow)) << "between two commands, too";
  const auto more = [&](int rows) {
    return server.run(bson::doc("getMore", id, "collection", "$cmd.bulkWrite", "batchSize", rows), "admin");
  };
  ASSERT_EQ(more(7).view().at("cursor.nextBatch").asArray().count(), 7);
  EXPECT_LT(governor().reserved(), static_cast<int64_t>(6 * kRow))
      << "three rows, and what the budget keeps in reserve";
  ASSERT_EQ(more(7).view().at("cursor.nextBatch").asArray().count(), 2);
  EXPECT_EQ(governor().reserved(), 0);
}

TEST_F(OperationMemoryTest, TheNodeRefusesWhatAllTogetherMayNotHold) {
  fillTexts("c", 60, 100'000);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryTotalBytes": 10000000})", "admin"));
  const std::string hungry =
      R"({"aggregate": "c", "cursor": {"batchSize": 1}, "allowDiskUse": false, "pipeline": [{"$sort": {"next": -1}}, {"$skip": 0}]})";
  const bson::Document first = run(hungry);
  const int64_t id = first.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0) << bson::toRelaxedJson(first.view());
  const bson::Document second = run(hungry);
  EXPECT_EQ(second["code"].toInt64(), kExceeded);
  EXPECT_NE(second["errmsg"].toStringOr().find("close idle cursors"), std::string_view::npos);
  EXPECT_TRUE(answers(R"({"serverStatus": 1})", R"({"metrics": {"operationMemory": {"limitBytes": 10000000,
                          "operationLimitBytes": 8388608, "refusals": 1}}})"));
  EXPECT_GT(run(R"({"serverStatus": 1})").view().at("metrics.operationMemory.reservedBytes").toInt64(), 5'000'000);
  EXPECT_TRUE(succeeds(R"({"find": "c", "filter": {"_id": 1}})")) << "small work goes on";
  server.run(bson::Builder().append("killCursors", "c").append("cursors", std::vector<int64_t>{id}).finish());
  EXPECT_EQ(code(hungry), 0);
}

TEST_F(OperationMemoryTest, RequestsAndRepliesCountForTheNode) {
  fillTexts("c", 60, 100'000);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryTotalBytes": 4000000})", "admin"));
  EXPECT_EQ(code(R"({"find": "c", "filter": {"_id": {"$lte": 20}}})"), 0);
  EXPECT_EQ(code(R"({"find": "c", "singleBatch": true})"), kExceeded) << "a reply of 6 MB";
  EXPECT_EQ(governor().reserved(), 0);
  // A cursor goes on in smaller batches.
  const bson::Document first = run(R"({"find": "c"})");
  const int64_t id = first.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0);
  const auto found = first.view().at("cursor.firstBatch").asArray().count();
  EXPECT_LT(found, 60);
  const bson::Document next = server.run(bson::doc("getMore", id, "collection", "c"));
  EXPECT_EQ(found + next.view().at("cursor.nextBatch").asArray().count(), 60);
  const auto insert = [&](size_t bytes) {
    const auto document = bson::doc("s", std::string(bytes, 'x'));
    return server.run(bson::doc("insert", "d", "documents", std::vector{document}))["code"].toInt64();
  };
  EXPECT_EQ(insert(3'000'000), 0);
  EXPECT_EQ(insert(5'000'000), kExceeded);
  const auto find = bson::doc("find", "c", "filter", bson::doc("s", std::string(800'000, 'y')));
  EXPECT_EQ(server.run(find)["code"].toInt64(), 0);
  EXPECT_EQ(server.run(bson::doc("explain", find))["code"].toInt64(), kExceeded)
      << "which shows the filter three times";
  EXPECT_EQ(governor().reserved(), 0);
}

/// A client opens cursors, asks for nothing and never closes them.
TEST_F(OperationMemoryTest, AbandonedCursorsEndAtTheNodesLimit) {
  fillTexts("c", 4, 10);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryTotalBytes": 1048576})", "admin"));
  const auto open = [&] { return run(R"({"find": "c", "batchSize": 0})"); };
  std::vector<int64_t> cursors;
  bson::Document reply = open();
  for (; reply["ok"].truthy() && cursors.size() < 1000; reply = open())
    cursors.push_back(reply.view().at("cursor.id").toInt64());
  EXPECT_EQ(reply["code"].toInt64(), kExceeded);
  EXPECT_GT(cursors.size(), 100u);
  EXPECT_EQ(server.cursors.statistics().open, static_cast<int64_t>(cursors.size()));
  const auto kill = [&](const std::vector<int64_t>& which) {
    return server.run(bson::doc("killCursors", "c", "cursors", which))["ok"].truthy();
  };
  ASSERT_TRUE(kill({cursors.back()}));
  EXPECT_TRUE(open()["ok"].truthy()) << "in the place of the one that has gone";
  EXPECT_EQ(code(R"({"find": "c"})"), 0) << "what needs no cursor goes on";
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  EXPECT_LT(governor().reserved(), 300'000) << "their clients have yet to hear of it";
  EXPECT_GT(governor().reserved(), 0);
  EXPECT_EQ(server.run(bson::doc("getMore", cursors.front(), "collection", "c"))["code"].toInt64(), 175);
  server.node.advance(1h);
  server.cursors.killIdle(server.time->now());
  EXPECT_EQ(governor().reserved(), 0);
}

TEST_F(OperationMemoryTest, AResultThatWaitsForTheNextBatchIsCharged) {
  constexpr int64_t kBytes = 9'000'000;
  for (int i = 0; i < 2; ++i) {
    const auto document = bson::doc("_id", i, "s", std::string(kBytes, 'x'));
    ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", std::vector{document}))["ok"].truthy());
  }
  const auto open = [&] { return run(R"({"find": "c"})").view().at("cursor.id").toInt64(); };
  const int64_t first = open();
  ASSERT_NE(first, 0);
  EXPECT_GT(governor().reserved(), kBytes);
  EXPECT_LT(governor().reserved(), kBytes + 100'000);
  const bson::Document rest = server.run(bson::doc("getMore", first, "collection", "c"));
  EXPECT_EQ(rest.view().at("cursor.nextBatch").asArray().count(), 1u);
  EXPECT_EQ(rest.view().at("cursor.id").toInt64(-1), 0);
  EXPECT_EQ(governor().reserved(), 0);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryTotalBytes": 32000000})", "admin"));
  for (int i = 0; i < 2; ++i) EXPECT_NE(open(), 0);
  EXPECT_EQ(code(R"({"find": "c"})"), kExceeded) << "two idle cursors hold 18 MB, a batch has 9";
  EXPECT_EQ(code(R"({"find": "c", "singleBatch": true})"), 0) << "there is no next batch to keep it for";
}

TEST_F(OperationMemoryTest, AProjectedDocumentIsCharged) {
  fillTexts("c", 1, 3'000'000);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryLimitBytes": 2097152})", "admin"));
  EXPECT_EQ(code(R"({"find": "c"})"), 0);
  EXPECT_EQ(code(R"({"find": "c", "projection": {"s": 1}})"), kExceeded);
  EXPECT_EQ(code(R"({"find": "c", "projection": {"next": 1}})"), 0);
}

/// The records that scans, updates and deletes have seen: ids of a clustered collection are texts of 100 bytes, so that
/// those of 10,000 records pass a budget of a megabyte.
class SeenRecordsTest : public OperationMemoryTest {
 protected:
  static constexpr int kRecords = 10'000;

  SeenRecordsTest() {
    EXPECT_TRUE(succeeds(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})"));
    EXPECT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"array": 1}, "name": "array"},
                             {"key": {"x": 1}, "name": "x"}, {"key": {"y": 1}, "name": "y"}]})"));
    bson::Builder b;
    b.append("insert", "c").openArray("documents");
    for (int i = 0; i < kRecords; ++i)
      b.push(bson::doc("_id", std::to_string(100'000 + i) + std::string(94, 'x'), "array", std::vector{i, i + 1}, "x",
                       i, "y", i));
    EXPECT_TRUE(server.run(b.close().finish())["ok"].truthy());
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryLimitBytes": 1048576})", "admin"));
  }
};

TEST_F(SeenRecordsTest, ScansOfIndexesThatMayMeetARecordAgainEndAtTheBudget) {
  const auto countOf = [&](const std::string& query) {
    return R"({"count": "c", "query": )" + query + R"(, "hint": "array"})";
  };
  EXPECT_EQ(code(countOf(R"({"array": {"$gte": 0}})")), kExceeded);
  EXPECT_TRUE(answers(countOf(R"({"array": {"$lt": 1000}})"), R"({"n": 1000})"));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"x": {"$gte": 0}}, "hint": "x"})", R"({"n": 10000})"))
      << "no arrays: each record has one key";
}

TEST_F(SeenRecordsTest, ReservesFromTheNode) {
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryTotalBytes": 1048576})", "admin"));
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryLimitBytes": 268435456})", "admin"));
  const bson::Document reply = run(R"({"count": "c", "query": {"array": {"$gte": 0}}, "hint": "array"})");
  EXPECT_EQ(reply["code"].toInt64(), kExceeded);
  EXPECT_NE(reply["errmsg"].toStringOr().find("the node is out of memory"), std::string_view::npos);
  EXPECT_EQ(governor().reserved(), 0);
}

TEST_F(SeenRecordsTest, AnOrOfManyRecordsEndsAtTheBudget) {
  EXPECT_EQ(code(R"({"count": "c", "query": {"$or": [{"x": {"$gte": 0}}, {"y": {"$lt": 0}}]}})"), kExceeded);
  EXPECT_TRUE(
      answers(R"({"count": "c", "query": {"$or": [{"x": {"$lt": 900}}, {"y": {"$lt": 1000}}]}})", R"({"n": 1000})"));
}

TEST_F(SeenRecordsTest, AnUpdateOfManyRecordsThatAnIndexFindsEndsAtTheBudget) {
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"x": {"$gte": 0}}, "u": {"$inc": {"n": 1}}, "multi": true,
                          "hint": "x"}]})",
                      R"({"ok": 1, "writeErrors": [{"index": 0, "code": 146}]})"));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"n": {"$gt": 1}}})", R"({"n": 0})"));
}

TEST_F(SeenRecordsTest, AnUpdateInTheOrderOfRecordsNeedsNoMemoryOfThem) {
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": true}]})",
                      R"({"ok": 1, "n": 10000, "nModified": 10000})"));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"n": 1}})", R"({"n": 10000})"));
}

TEST_F(SeenRecordsTest, ADeleteNeedsNoMemoryOfWhatItHasRemoved) {
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {"x": {"$gte": 0}}, "limit": 0, "hint": "x"}]})",
                      R"({"ok": 1, "n": 10000})"));
}

/// Makes one write of a document fail as another transaction's would.
class OneConflict final : public storage::WriteObserver {
 public:
  bool observes(const storage::CatalogEntry& entry) const override { return entry.ns.db() == "test"; }
  Status onUpdate(storage::RecoveryUnit&, const storage::Collection&, const storage::UpdateOperation&) override {
    return fail();
  }
  Status onRemove(storage::RecoveryUnit&, const storage::Collection&, const storage::RemoveOperation&) override {
    return fail();
  }
  int left = 0;  ///< writes until it fails; 0: none does

 private:
  Status fail() {
    if (left == 0 || --left > 0) return Status::OK();
    return {ErrorCode::kWriteConflict, "a conflict of the test"};
  }
};

struct HasConflict {
  OneConflict conflict;
};

class RepeatedUpdateTest : private HasConflict, public CommandTest {
 protected:
  RepeatedUpdateTest() : CommandTest({.observers = {&conflict}}) {
    fill("c", 50);
    EXPECT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"},
                             {"key": {"x": 1}, "name": "x"}]})"));
  }
  using HasConflict::conflict;
};

/// After a conflict an update goes over its matches from the beginning.
TEST_F(RepeatedUpdateTest, ChangesEachDocumentOnce) {
  const auto increment = [&](const std::string& more) {
    conflict.left = 20;
    return R"({"update": "c", "updates": [{"q": {"_id": {"$gt": 0}}, "u": {"$inc": {"n": 1}}, "multi": true)" + more +
           "}]}";
  };
  constexpr const char* kAll = R"({"ok": 1, "n": 50, "nModified": 50})";
  EXPECT_TRUE(answers(increment(""), kAll)) << "by the index of _id";
  EXPECT_EQ(conflict.left, 0);
  EXPECT_TRUE(answers(increment(R"(, "hint": {"$natural": 1})"), kAll)) << "in the order of records";
  EXPECT_EQ(conflict.left, 0);
  EXPECT_TRUE(answers(increment(R"(, "hint": {"$natural": -1})"), kAll));
  EXPECT_TRUE(answers(increment(R"(, "hint": "n")"), kAll)) << "by an index whose keys move ahead of the scan";
  EXPECT_TRUE(answers(increment(R"(, "hint": "x")"), kAll));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"n": 5}})", R"({"n": 50})"));
}

TEST_F(RepeatedUpdateTest, ADeleteCountsEachDocumentOnce) {
  conflict.left = 20;
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", R"({"ok": 1, "n": 50})"));
  EXPECT_EQ(conflict.left, 0);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 0})"));
}

}  // namespace troupe::commands
