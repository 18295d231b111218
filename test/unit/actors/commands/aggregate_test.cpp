#include <map>
#include <optional>

#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using AggregateTest = CommandTest;
using Lines = std::vector<std::string>;

TEST_F(AggregateTest, RunsStagesOverACollection) {
  fill("c", 20);
  EXPECT_EQ(batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"x": {"$lte": 1}}},
                      {"$group": {"_id": "$x", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]})"),
            (Lines{R"({ "_id" : 0, "n" : 2 })", R"({ "_id" : 1, "n" : 2 })"}));
}

TEST_F(AggregateTest, GivesItsResultsInBatches) {
  fill("c", 5);
  const auto id =
      run(R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 2}})").view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0);
  EXPECT_TRUE(holds(server.run(bson::doc("getMore", id, "collection", "c")),
                    R"({"cursor": {"id": 0, "nextBatch": [{"_id": 3}, {"_id": 4}, {"_id": 5}]}})"_json));
}

TEST_F(AggregateTest, NeedsTheCursorOption) { EXPECT_EQ(code(R"({"aggregate": "c", "pipeline": []})"), 9); }

TEST_F(AggregateTest, RefusesUnknownStages) {
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$noSuchStage": {}}]})"), 40324);
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [1]})"), 14);
}

TEST_F(AggregateTest, JoinsAnotherCollection) {
  fill("c", 2);
  ASSERT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": "a", "of": 2}]})"));
  EXPECT_EQ(batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"_id": 2}}, {"$project": {"x": 0}},
                      {"$lookup": {"from": "d", "localField": "_id", "foreignField": "of", "as": "ds"}}]})"),
            Lines{R"({ "_id" : 2, "ds" : [ { "_id" : "a", "of" : 2 } ] })"});
}

TEST_F(AggregateTest, OutReplacesACollection) {
  fill("c", 3);
  fill("target", 9);
  EXPECT_TRUE(
      succeeds(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"_id": 1}}, {"$out": "target"}]})"));
  EXPECT_EQ(batch(R"({"find": "target"})"), Lines{R"({ "_id" : 1, "x" : 1 })"});
}

TEST_F(AggregateTest, MergeAddsToACollection) {
  fill("c", 2);
  ASSERT_TRUE(succeeds(R"({"insert": "target", "documents": [{"_id": 1, "kept": true}]})"));
  EXPECT_TRUE(succeeds(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": "target"}}]})"));
  EXPECT_EQ(batch(R"({"find": "target", "sort": {"_id": 1}})"),
            (Lines{R"({ "_id" : 1, "kept" : true, "x" : 1 })", R"({ "_id" : 2, "x" : 2 })"}));
}

/// Somebody else's uncommitted change of {_id: 1} in the target.
class AggregateWriteTest : public AggregateTest {
 protected:
  AggregateWriteTest() {
    EXPECT_TRUE(succeeds(R"({"insert": "target", "documents": [{"_id": 1}]})"));
    fill("c", 3);
    const auto target = server.catalog->find(storage::Namespace("test", "target"));
    work.emplace(other);
    const bson::Document before = R"({"_id": 1})"_json, after = R"({"_id": 1, "mine": true})"_json;
    auto cursor = target->records().cursor(other);
    EXPECT_TRUE(cursor.isOK() && *cursor->next());
    EXPECT_TRUE(target->update(other, cursor->id(), before, after).isOK());
  }
  void TearDown() override {
    work.reset();
    other.releaseSession();
    AggregateTest::TearDown();
  }
  storage::RecoveryUnit other{server.storageSessions};
  std::optional<storage::WriteUnitOfWork> work;
};

TEST_F(AggregateWriteTest, MergeWaitsForAnotherWriterWithoutAThreadAndThenGoesOn) {
  const auto merge =
      server.begin(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": "target"}}]})"_json);
  server.node.advance(300ms);
  ASSERT_FALSE(merge->done) << "the other transaction is still open";
  ASSERT_TRUE(work->commit().isOK());
  work.reset();
  server.node.advance(1s);
  ASSERT_TRUE(merge->done);
  EXPECT_TRUE(holds(merge->takeReply(), R"({"ok": 1})"_json));
  EXPECT_EQ(
      batch(R"({"find": "target", "sort": {"_id": 1}})"),
      (Lines{R"({ "_id" : 1, "mine" : true, "x" : 1 })", R"({ "_id" : 2, "x" : 2 })", R"({ "_id" : 3, "x" : 3 })"}));
}

TEST_F(AggregateWriteTest, AMergeThatWaitsCanBeKilled) {
  const auto merge = server.begin(
      R"({"aggregate": "c", "cursor": {}, "maxTimeMS": 500, "pipeline": [{"$merge": {"into": "target"}}]})"_json);
  server.node.advance(2s);
  ASSERT_TRUE(merge->done);
  EXPECT_EQ(merge->takeReply()["code"].toInt64(), 50);
  work.reset();
}

TEST_F(AggregateTest, ReadsViewsOnViewsAloneAndInJoins) {
  fill("c", 20);
  ASSERT_TRUE(succeeds(R"({"create": "low", "viewOn": "c", "pipeline": [{"$match": {"_id": {"$lte": 4}}}]})"));
  ASSERT_TRUE(succeeds(R"({"create": "lowEven", "viewOn": "low", "pipeline": [{"$match": {"x": {"$in": [2, 4]}}}]})"));
  const Lines rows{R"({ "_id" : 2, "x" : 2 })", R"({ "_id" : 4, "x" : 4 })"};
  EXPECT_EQ(batch(R"({"aggregate": "lowEven", "cursor": {}, "pipeline": []})"), rows);
  EXPECT_EQ(batch(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": []}, {"$unionWith": "lowEven"}]})"),
            rows);
  EXPECT_EQ(batch(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": [{"k": 4}]},
                      {"$lookup": {"from": "lowEven", "localField": "k", "foreignField": "_id", "as": "found"}}]})"),
            Lines{R"({ "k" : 4, "found" : [ { "_id" : 4, "x" : 4 } ] })"});
}

TEST_F(AggregateTest, AViewHasACollationOfItsOwn) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "collation": {"locale": "en", "strength": 2}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "s": "a"}, {"_id": 2, "s": "A"}]})"));
  ASSERT_TRUE(succeeds(R"({"create": "plain", "viewOn": "c", "pipeline": []})"));
  ASSERT_TRUE(succeeds(
      R"({"create": "insensitive", "viewOn": "c", "pipeline": [], "collation": {"locale": "en", "strength": 1}})"));
  EXPECT_EQ(batch(R"({"find": "plain", "filter": {"s": "A"}})"), Lines{R"({ "_id" : 2, "s" : "A" })"});
  EXPECT_TRUE(answers(R"({"count": "plain", "query": {"s": "A"}})", R"({"n": 1})"));
  EXPECT_EQ(batch(R"({"aggregate": "insensitive", "cursor": {}, "pipeline": [{"$match": {"s": "A"}}]})").size(), 2u);
  EXPECT_TRUE(answers(R"({"distinct": "insensitive", "key": "s"})", R"({"values": ["a"]})"));
  const std::string own = R"("collation": {"locale": "en", "strength": 1}})";
  EXPECT_EQ(batch(R"({"find": "insensitive", "filter": {"s": "A"}, )" + own).size(), 2u);
  EXPECT_EQ(code(R"({"find": "plain", )" + own), 167);
  EXPECT_EQ(code(R"({"aggregate": "insensitive", "cursor": {}, "pipeline": [], "collation": {"locale": "fr"}})"), 167);
}

TEST_F(AggregateTest, AViewThatJoinsItselfIsAnErrorAndNoEndlessRecursion) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  const int64_t changed =
      code(R"({"collMod": "v", "viewOn": "c", "pipeline": [{"$lookup": {"from": "v", "pipeline": [], "as": "x"}}]})");
  const int64_t read = code(R"({"aggregate": "v", "cursor": {}, "pipeline": []})");
  EXPECT_TRUE(changed != 0 || read != 0) << changed << " " << read;
}

TEST_F(AggregateTest, UnderTheStrictStableApiRefusesStagesThatAreNotPartOfIt) {
  fill("c", 1);
  const auto strict = [&](const std::string& pipeline) {
    return code(R"({"aggregate": "c", "cursor": {}, "apiVersion": "1", "apiStrict": true, "pipeline": )" + pipeline +
                "}");
  };
  EXPECT_EQ(strict(R"([{"$match": {"x": 1}}, {"$collStats": {}}])"), 40602) << "a stage in the wrong place";
  EXPECT_EQ(strict(R"([{"$collStats": {"count": {}}}])"), 0);
  EXPECT_EQ(strict(R"([{"$collStats": {"storageStats": {}}}])"), 323);
  EXPECT_EQ(strict(R"([{"$indexStats": {}}])"), 323);
  EXPECT_EQ(strict(R"([{"$lookup": {"from": "c", "pipeline": [{"$indexStats": {}}], "as": "x"}}])"), 323);
  EXPECT_EQ(strict(R"([{"$unionWith": {"coll": "c", "pipeline": [{"$planCacheStats": {}}]}}])"), 323);
  EXPECT_EQ(strict(R"([{"$group": {"_id": "$x"}}])"), 0);
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "apiVersion": "1", "pipeline": [{"$indexStats": {}}]})"), 0)
      << "not strict";
}

TEST_F(AggregateTest, WithoutACollectionTakesItsOwnDocuments) {
  EXPECT_EQ(
      batch(
          R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": [{"a": 1}, {"a": 2}]}, {"$match": {"a": 2}}]})"),
      Lines{R"({ "a" : 2 })"});
}

TEST_F(AggregateTest, ListCatalogShowsCollectionsAndViewsAsTheyAreStored) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  const auto rows = batch(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listCatalog": {}}, {"$sort": {"name": 1}},
                              {"$project": {"_id": 0, "ns": 1, "type": 1}}]})",
                          "admin");
  EXPECT_EQ(rows, (Lines{R"({ "type" : "collection", "ns" : "test.c" })", R"({ "type" : "view", "ns" : "test.v" })"}));
}

TEST_F(AggregateTest, ListClusterCatalogShowsOneDatabaseOrAllToAdmin) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c", "pipeline": []})"));
  const auto* const listed = R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listClusterCatalog": {}},
                                 {"$sort": {"ns": 1}}, {"$project": {"ns": 1, "db": 1, "sharded": 1, "type": 1}}]})";
  const Lines both{R"({ "db" : "test", "ns" : "test.c", "type" : "collection", "sharded" : false })",
                   R"({ "db" : "test", "ns" : "test.v", "type" : "view", "sharded" : false })"};
  EXPECT_EQ(batch(listed), both);
  EXPECT_EQ(batch(listed, "admin"), both);
  EXPECT_EQ(batch(listed, "other"), Lines());
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$listClusterCatalog": {}}]})"), 9621301);
}

TEST_F(AggregateTest, RefusesOptionsOfTheCursorThatAreNone) {
  fill("c", 1);
  const auto refused = [&](const char* cursor) {
    return code(R"({"aggregate": "c", "pipeline": [], "explain": true, "cursor": )" + std::string(cursor) + "}");
  };
  EXPECT_EQ(refused("null"), 14);
  EXPECT_EQ(refused(R"({"size": 1})"), 40415);
  EXPECT_EQ(refused(R"({"batchSize": "1"})"), 14);
  EXPECT_EQ(refused(R"({"batchSize": -1})"), 2);
  EXPECT_EQ(code(R"({"aggregate": "c", "pipeline": [], "cursor": {}, "explain": 1})"), 14);
  EXPECT_EQ(code(R"({"aggregate": "c", "pipeline": [], "cursor": {}, "hint": 1})"), 9);
  EXPECT_EQ(code(R"({"aggregate": 2, "pipeline": [], "cursor": {}})"), 2);
}

TEST_F(AggregateTest, LetTakesNamesAndValuesThatNeedNoDocument) {
  fill("c", 1);
  const auto with = [&](const char* let) {
    return code(R"({"aggregate": "c", "pipeline": [], "cursor": {}, "let": )" + std::string(let) + "}");
  };
  EXPECT_EQ(with(R"({"A": 1})"), 9);
  EXPECT_EQ(with(R"({"a.b": 1})"), 9);
  EXPECT_EQ(with(R"({"NOW": 1})"), 4738901);
  EXPECT_EQ(with(R"({"a": "$x"})"), 4890500);
  EXPECT_EQ(with(R"({"a": {"$add": ["$$NOW", 1]}})"), 51144);
  EXPECT_EQ(with(R"({"a": {"$literal": "$$NOW"}})"), 0);
  EXPECT_EQ(with(R"({"a": 1, "b": "$$a"})"), 0);
}

TEST_F(AggregateTest, SourcesCheckTheirOptionsBeforeTheirCollection) {
  const auto stage = [&](const char* given) {
    return code(R"({"aggregate": "missing", "cursor": {}, "pipeline": [)" + std::string(given) + "]}");
  };
  EXPECT_EQ(stage(R"({"$collStats": {"Count": {}}})"), 40415);
  EXPECT_EQ(stage(R"({"$collStats": {"count": 1}})"), 14);
  EXPECT_EQ(stage(R"({"$collStats": {"count": {"a": 1}}})"), 31170);
  EXPECT_EQ(stage(R"({"$collStats": {"latencyStats": {"histograms": 1}}})"), 14);
  EXPECT_EQ(stage(R"({"$collStats": {"storageStats": {"scale": 0}}})"), 2);
  EXPECT_EQ(stage(R"({"$indexStats": {"a": 1}})"), 28803);
  EXPECT_EQ(stage(R"({"$planCacheStats": {"allHosts": 1}})"), 13111);
  EXPECT_EQ(stage(R"({"$currentOp": {}})"), 73);
  const auto operations = [&](const char* given) {
    return code(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": )" + std::string(given) + "}]}", "admin");
  };
  EXPECT_EQ(operations("1"), 14);
  EXPECT_EQ(operations(R"({"allUsers": 1})"), 14);
  EXPECT_EQ(operations(R"({"allUsers": null})"), 14);
  EXPECT_EQ(operations(R"({"AllUsers": true})"), 40415);
  EXPECT_EQ(operations(R"({"targetAllNodes": true})"), 9);
}

TEST_F(AggregateTest, RankFusionOrdersByReciprocalRanks) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "a": 30, "b": 10}, {"_id": 2, "a": 20, "b": 30},
                                                        {"_id": 3, "a": 10, "b": 20}]})"));
  const auto fused = [&](const char* weights) {
    return batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$rankFusion": {
                       "input": {"pipelines": {"p": [{"$sort": {"a": -1}}], "q": [{"$sort": {"b": -1}}]}},
                       "combination": {"weights": )" +
                 std::string(weights) + R"(}}}, {"$project": {"_id": 1}}]})");
  };
  EXPECT_EQ(fused("{}"), (Lines{R"({ "_id" : 2 })", R"({ "_id" : 1 })", R"({ "_id" : 3 })"}));
  EXPECT_EQ(fused(R"({"p": 2})"), (Lines{R"({ "_id" : 1 })", R"({ "_id" : 2 })", R"({ "_id" : 3 })"}));
}

TEST_F(AggregateTest, DocumentsThatAnIndexFindsHaveItsKeyAsMetadata) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": -1}, "name": "ab"}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "a": [4, 10], "b": 5}, {"_id": 2, "a": 1}]})"));
  const auto keys = [&](const char* before) {
    return batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + std::string(before) +
                 R"(, {"$project": {"k": {"$meta": "indexKey"}}}]})");
  };
  EXPECT_EQ(keys(R"({"$match": {"a": {"$gt": 5}}})"), (Lines{R"({ "_id" : 1, "k" : { "a" : 10, "b" : 5 } })"}));
  EXPECT_EQ(keys(R"({"$match": {"a": {"$gt": 5}}}, {"$sort": {"z": 1}})"),
            (Lines{R"({ "_id" : 1, "k" : { "a" : 10, "b" : 5 } })"}))
      << "behind a blocking sort";
  EXPECT_EQ(keys(R"({"$match": {"b": 5}})"), (Lines{R"({ "_id" : 1 })"})) << "a scan has no keys";
}

TEST_F(AggregateTest, StagesRefuseReadConcernsBeforeTheNodeDoes) {
  const auto refused = [&](const char* level, const char* stage) {
    return code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {}}, )" + std::string(stage) +
                R"(], "readConcern": {"level": ")" + level + R"("}})");
  };
  EXPECT_EQ(refused("linearizable", R"({"$out": "o"})"), 72);
  EXPECT_EQ(refused("linearizable", R"({"$merge": "o"})"), 72);
  EXPECT_EQ(refused("linearizable", R"({"$limit": 1})"), 123) << "a node alone serves none";
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$planCacheStats": {}}],
                     "readConcern": {"level": "snapshot"}})"),
            72);
}

TEST_F(AggregateTest, CollStatsShowsSmallFiguresAsInts) {
  fill("c", 3);
  const auto shown = run(R"({"aggregate": "c", "cursor": {}, "pipeline": [
      {"$collStats": {"storageStats": {"scale": 2.9}, "latencyStats": {"histograms": true}}}]})");
  const auto row = shown.view().at("cursor.firstBatch.0").asDocument();
  for (const auto* figure :
       {"size", "count", "avgObjSize", "storageSize", "totalIndexSize", "totalSize", "scaleFactor"})
    EXPECT_TRUE(row.at("storageStats." + std::string(figure)).is(bson::Type::kInt32)) << figure;
  EXPECT_EQ(row.at("storageStats.scaleFactor").asInt32(), 2);
  EXPECT_EQ(row.at("latencyStats.transactions.ops").asInt64(), 0);
  EXPECT_TRUE(row.at("latencyStats.transactions.histogram").asArray().empty());
}

TEST_F(AggregateTest, DistinctOverAViewAnswersWithAnInt) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c"})"));
  EXPECT_TRUE(run(R"({"distinct": "c", "key": "x"})")["ok"].is(bson::Type::kDouble));
  EXPECT_TRUE(run(R"({"distinct": "v", "key": "x"})")["ok"].is(bson::Type::kInt32));
}

TEST_F(AggregateTest, ListCatalogIsOneSnapshotHoweverLongItsCursorIsRead) {
  for (const auto* name : {"a", "b", "c"}) fill(name, 1);
  const auto first =
      run(R"({"aggregate": 1, "cursor": {"batchSize": 1}, "pipeline": [{"$listCatalog": {}}]})", "admin");
  ASSERT_EQ(first.view().at("cursor.firstBatch").asArray().count(), 1);
  ASSERT_TRUE(succeeds(R"({"drop": "b"})"));
  ASSERT_TRUE(succeeds(R"({"create": "bb"})"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"));
  const auto rest =
      server.run(bson::doc("getMore", first.view().at("cursor.id"), "collection", "$cmd.aggregate"), "admin");
  std::map<std::string, size_t> indexes;  // of each collection
  for (const auto& rows : {first.view().at("cursor.firstBatch"), rest.view().at("cursor.nextBatch")}) {
    ASSERT_TRUE(rows.is(bson::Type::kArray)) << bson::toRelaxedJson(rest);
    for (const auto& row : rows.asArray())
      indexes[std::string(row.asDocument()["name"].asString())] = row.asDocument().at("md.indexes").asArray().count();
  }
  EXPECT_EQ(indexes, (std::map<std::string, size_t>{{"a", 1}, {"b", 1}, {"c", 1}}));
}

TEST_F(AggregateTest, ListCatalogShowsAnIndexWhileItIsBuilt) {
  fill("c", 3);
  LockHolder before(server.locks, "test.c", storage::LockMode::kIX);
  const auto build = server.begin(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"_json);
  LockHolder ours(server.locks, "test.c", storage::LockMode::kX);  // in turn after the build's first phase
  before.release();
  server.node.run();
  ASSERT_TRUE(ours.held());
  ASSERT_FALSE(build->done);
  const auto shown = run(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$listCatalog": {}}]})");
  const auto index =
      shown.view().at("cursor.firstBatch").asArray().first().asDocument().at("md.indexes").asArray()["1"].asDocument();
  EXPECT_TRUE(holds(index, R"({"spec": {"name": "x"}, "ready": false})"_json));
  EXPECT_TRUE(index["buildUUID"].is(bson::Type::kBinary)) << bson::toRelaxedJson(index);
  EXPECT_EQ(batch(R"({"listIndexes": "c"})").size(), 1) << "it cannot be used yet";
  ours.release();
  server.node.advance(1s);
  ASSERT_TRUE(build->done);
  EXPECT_EQ(batch(R"({"listIndexes": "c"})").size(), 2);
}

TEST_F(AggregateTest, StatisticsOfViews) {
  fill("c", 2);
  ASSERT_TRUE(succeeds(R"({"create": "whole", "viewOn": "c", "pipeline": []})"));
  ASSERT_TRUE(succeeds(R"({"create": "part", "viewOn": "c", "pipeline": [{"$match": {"x": 1}}]})"));
  const auto stage = [&](const std::string& view, const std::string& specification) {
    return code(R"({"aggregate": ")" + view + R"(", "cursor": {}, "pipeline": [)" + specification + "]}");
  };
  EXPECT_EQ(
      batch(
          R"({"aggregate": "whole", "cursor": {}, "pipeline": [{"$indexStats": {}}, {"$project": {"name": 1, "_id": 0}}]})"),
      std::vector<std::string>{R"({ "name" : "_id_" })"});
  EXPECT_EQ(stage("part", R"({"$indexStats": {}})"), 40602) << "the view's stages stand before it";
  EXPECT_EQ(stage("whole", R"({"$planCacheStats": {}})"), 0);
  for (const std::string view : {"whole", "part"}) {
    EXPECT_EQ(stage(view, R"({"$collStats": {"latencyStats": {"histograms": true}}})"), 0);
    EXPECT_EQ(stage(view, R"({"$collStats": {"storageStats": {}}})"), 166);
    EXPECT_EQ(stage(view, R"({"$collStats": {"count": {}}})"), 166);
  }
}

TEST_F(AggregateTest, TheNumberOfADatabaseIsOneAsADouble) {
  const auto on = [&](const std::string& number) {
    return code(R"({"aggregate": )" + number + R"(, "cursor": {}, "pipeline": [{"$documents": []}]})");
  };
  EXPECT_EQ(on("1"), 0);
  EXPECT_EQ(on(R"({"$numberDecimal": "0.99999999999999999"})"), 0);
  EXPECT_EQ(on(R"({"$numberDecimal": "0.9999999999999999"})"), 2);
  EXPECT_EQ(on("1.5"), 2);
}

TEST_F(AggregateTest, ThePipelineIsNeededAndAnArray) {
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}})"), 40414);
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": null})"), 14);
}

}  // namespace troupe::commands
