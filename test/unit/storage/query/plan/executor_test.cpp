#include "storage/query/plan/executor.hpp"

#include "storage/catalog/node_state.hpp"
#include "storage/operation/operation_context.hpp"
#include "test/unit/storage/query/plan/query_fixture.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

class Queries : public QueryFixture {
 protected:
  Queries() { create(); }
  void insertNumbers(int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(insert(bson::doc("_id", i, "a", i % 10, "b", i)).isOK());
  }
  std::string stageOf(bson::View plan) {
    std::string text(plan["winningPlan"].asDocument()["stage"].asString());
    for (bson::Element e = plan["winningPlan"].asDocument()["inputStage"]; e.ok(); e = e.asDocument()["inputStage"]) {
      text += " < " + std::string(e.asDocument()["stage"].asString());
    }
    return text;
  }
  FindRequest sortedBy(const bson::Document& sort) {
    FindRequest request;
    request.sort = sort;
    return request;
  }
};

TEST_F(Queries, ScanACollectionInTheOrderOfInsertion) {
  insertAll({R"({"_id": 2})"_json, R"({"_id": 1})"_json});
  EXPECT_EQ(find({}), R"({ "_id" : 2 } { "_id" : 1 })");
  FindRequest backward;
  const bson::Document hint = bson::doc("h", bson::doc("$natural", -1));
  backward.hint = hint["h"];
  EXPECT_EQ(find({}, backward), R"({ "_id" : 1 } { "_id" : 2 })");
  EXPECT_EQ(find({}, sortedBy(R"({"$natural": -1})"_json)), R"({ "_id" : 1 } { "_id" : 2 })");
}

TEST_F(Queries, FindOneDocumentByItsId) {
  insertNumbers(0, 5);
  EXPECT_EQ(find(R"({"_id": 3})"_json), R"({ "_id" : 3, "a" : 3, "b" : 3 })");
  EXPECT_EQ(find(R"({"_id": 9})"_json), "");
  EXPECT_EQ(summaryOf(R"({"_id": 3})"_json), "IDHACK");
  EXPECT_EQ(summaryOf(R"({"_id": {"$eq": 3}})"_json), "IDHACK");
  EXPECT_EQ(summaryOf(R"({"_id": {"$gt": 3}})"_json), "IXSCAN { _id: 1 }");
  EXPECT_EQ(summaryOf(R"({"_id": 3, "a": 3})"_json), "IXSCAN { _id: 1 }");
  EXPECT_EQ(find(R"({"_id": 3, "a": 4})"_json), "");
}

TEST_F(Queries, ShowsTheEnginesOwnBytes) {
  insertNumbers(0, 2);
  FindRequest request;
  const bson::Document filter = R"({"_id": 1})"_json;
  request.filter = filter;
  const auto executor = open(request);
  const auto next = (*executor)->next();
  ASSERT_TRUE(next->isDocument());
  EXPECT_EQ((*executor)->recordId().number(), 2);
  EXPECT_EQ((*executor)->stats().docsExamined, 1);
  EXPECT_TRUE((*executor)->next()->isEnd());
}

TEST_F(Queries, SkipLimitSortAndProject) {
  insertNumbers(0, 20);
  const bson::Document sort = R"({"b": -1})"_json, projection = R"({"b": 1, "_id": 0})"_json;
  FindRequest request;
  request.sort = sort;
  request.projection = projection;
  request.skip = 2;
  request.limit = 3;
  EXPECT_EQ(find({}, request), R"({ "b" : 17 } { "b" : 16 } { "b" : 15 })");
  EXPECT_EQ(stageOf(planOf({}, request)), "PROJECTION_SIMPLE < SKIP < SORT < COLLSCAN");
  request.sort = {};
  EXPECT_EQ(find({}, request), R"({ "b" : 2 } { "b" : 3 } { "b" : 4 })");
  EXPECT_EQ(stageOf(planOf({}, request)), "LIMIT < PROJECTION_SIMPLE < SKIP < COLLSCAN");
}

TEST_F(Queries, OfACollectionThatDoesNotExistAreEmpty) {
  drop();
  EXPECT_EQ(find(R"({"a": 1})"_json), "");
  EXPECT_EQ(summaryOf(R"({"_id": 1})"_json), "EOF");
}

TEST_F(Queries, TakeAnOrderFromAnIndexForwardAndBackward) {
  index(R"({"key": {"a": 1, "b": 1}, "name": "ab"})"_json);
  insertNumbers(0, 30);
  EXPECT_EQ(stageOf(planOf({}, sortedBy(R"({"a": 1})"_json))), "FETCH < IXSCAN");
  const bson::Document equal = R"({"a": 3})"_json, backward = R"({"b": -1})"_json;
  const bson::Document plan = planOf(equal, sortedBy(backward));
  EXPECT_EQ(stageOf(plan), "FETCH < IXSCAN");
  EXPECT_EQ(plan["winningPlan"].asDocument().at("inputStage.direction").asString(), "backward");
  EXPECT_EQ(plan["winningPlan"].asDocument().at("inputStage.indexBounds.a.0").asString(), "[3, 3]");
  EXPECT_EQ(find(equal, sortedBy(backward)),
            R"({ "_id" : 23, "a" : 3, "b" : 23 } { "_id" : 13, "a" : 3, "b" : 13 } { "_id" : 3, "a" : 3, "b" : 3 })");
  EXPECT_EQ(stageOf(planOf(R"({"a": {"$gt": 3}})"_json, sortedBy(R"({"b": 1})"_json))), "SORT < FETCH < IXSCAN");
}

TEST_F(Queries, AreCoveredByKeysWhereTheseSuffice) {
  index(R"({"key": {"a": 1, "b": 1}, "name": "ab"})"_json);
  insertNumbers(0, 12);
  insertAll({R"({"_id": 100, "a": 1})"_json});
  const bson::Document projection = R"({"b": 1, "_id": 0})"_json;
  FindRequest request;
  request.projection = projection;
  const bson::Document filter = R"({"a": 1})"_json;
  request.filter = filter;
  EXPECT_EQ(stageOf(planOf(filter, request)), "PROJECTION_COVERED < IXSCAN");
  const auto executor = open(request);
  const auto rows = drain(**executor);
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0], bson::Document()) << "a missing field stays missing";
  EXPECT_EQ((*rows)[1], R"({"b": 1})"_json);
  EXPECT_EQ((*executor)->stats().docsExamined, 1) << "only the row whose key may mean a missing field";
  const bson::Document withId = R"({"b": 1})"_json;
  request.projection = withId;
  EXPECT_EQ(stageOf(planOf(filter, request)), "PROJECTION_SIMPLE < FETCH < IXSCAN");
}

TEST_F(Queries, UniteTheIndexesOfAnOr) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  index(R"({"key": {"b": 1}, "name": "b"})"_json);
  insertNumbers(0, 20);
  const bson::Document filter = R"({"$or": [{"a": 3}, {"b": {"$in": [3, 4]}}]})"_json;
  EXPECT_EQ(stageOf(planOf(filter)), "FETCH < OR");
  EXPECT_EQ(summaryOf(filter), "IXSCAN { a: 1 }, IXSCAN { b: 1 }");
  const auto found = run({.filter = filter});
  EXPECT_EQ(found->size(), 3u) << "each once";
  EXPECT_EQ(summaryOf(R"({"$or": [{"a": 3}, {"c": 1}]})"_json), "COLLSCAN");
}

TEST_F(Queries, JumpOverKeysThatCompoundBoundsLeaveOut) {
  index(R"({"key": {"a": 1, "b": 1}, "name": "ab"})"_json);
  insertNumbers(0, 1000);
  FindRequest request;
  const bson::Document filter = R"({"a": {"$gte": 0}, "b": 505})"_json;
  request.filter = filter;
  const auto executor = open(request);
  EXPECT_EQ(drain(**executor)->size(), 1u);
  EXPECT_LT((*executor)->stats().keysExamined, 40);
}

TEST_F(Queries, ObeyHints) {
  index(R"({"key": {"a": 1}, "name": "byA"})"_json);
  index(R"({"key": {"b": 1}, "name": "byB"})"_json);
  index(R"({"key": {"c": 1}, "name": "unseen", "hidden": true})"_json);
  insertNumbers(0, 10);
  const bson::Document filter = R"({"a": 3})"_json;
  FindRequest request;
  const bson::Document hints = R"({"name": "byB", "key": {"b": 1}, "none": "x", "hidden": "unseen"})"_json;
  for (const char* hint : {"name", "key"}) {
    request.hint = hints[hint];
    EXPECT_EQ(summaryOf(filter, request), "IXSCAN { b: 1 }");
    EXPECT_EQ(find(filter, request), R"({ "_id" : 3, "a" : 3, "b" : 3 })");
  }
  for (const char* hint : {"none", "hidden"}) {
    request.hint = hints[hint];
    EXPECT_EQ(open(request).status().code(), ErrorCode::kBadValue);
    EXPECT_THAT(open(request).status().reason(),
                ::testing::HasSubstr("hint provided does not correspond to an existing index"));
  }
}

TEST_F(Queries, TakeBoundsByHand) {
  index(R"({"key": {"a": 1, "b": -1}, "name": "ab"})"_json);
  insertNumbers(0, 20);
  const bson::Document given =
      R"({"min": {"a": 2, "b": 12}, "max": {"a": 3, "b": 3}, "short": {"a": 1}, "hint": "ab"})"_json;
  FindRequest request;
  request.min = given["min"].asDocument();
  request.max = given["max"].asDocument();
  EXPECT_EQ(open(request).status().code(), ErrorCode(51173));
  request.hint = given["hint"];
  EXPECT_EQ(find({}, request),
            R"({ "_id" : 12, "a" : 2, "b" : 12 } { "_id" : 2, "a" : 2, "b" : 2 } { "_id" : 13, "a" : 3, "b" : 13 })");
  request.min = given["short"].asDocument();
  EXPECT_EQ(open(request).status().code(), ErrorCode(51174));
}

TEST_F(Queries, RefuseScansWhereTheyAreForbidden) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  FindRequest request;
  request.forbidCollectionScan = true;
  EXPECT_EQ(summaryOf(R"({"a": 1})"_json, request), "IXSCAN { a: 1 }");
  const bson::Document filter = R"({"b": 1})"_json;
  request.filter = filter;
  EXPECT_EQ(open(request).status().code(), ErrorCode::kNoQueryExecutionPlans);
  EXPECT_THAT(open(request).status().reason(), ::testing::HasSubstr("No query solutions"));
}

TEST_F(Queries, ChooseTheMoreSelectiveIndexByTrial) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  index(R"({"key": {"b": 1}, "name": "b"})"_json);
  insertNumbers(0, 300);
  const bson::Document filter = R"({"a": {"$gte": 0}, "b": {"$gte": 200, "$lt": 205}})"_json;
  const bson::Document plan = planOf(filter);
  EXPECT_EQ(plan["winningPlan"].asDocument().at("inputStage.indexName").asString(), "b");
  EXPECT_EQ(plan["rejectedPlans"].asArray().count(), 1);
}

TEST_F(Queries, GiveOthersTheirTurn) {
  insertNumbers(0, 300);
  FindRequest request;
  const bson::Document filter = R"({"b": 299})"_json;
  request.filter = filter;
  const auto executor = open(request);
  int yields = 0;
  for (auto next = (*executor)->next(); next->kind == Next::Kind::kYield; next = (*executor)->next()) ++yields;
  EXPECT_EQ(yields, 2);
  EXPECT_EQ((*executor)->stats().docsExamined, 300);
}

/// Each look at it costs a millisecond, as an expensive condition would.
class SlowClock final : public QueryWork {
 public:
  std::chrono::steady_clock::time_point coarseNow() const override { return now_ += std::chrono::milliseconds(1); }

 private:
  mutable std::chrono::steady_clock::time_point now_{};
};

TEST_F(Queries, GiveOthersTheirTurnAfterAWhileHoweverFewRowsThatWas) {
  insertNumbers(0, 60);
  SlowClock clock;
  context.work = &clock;
  FindRequest request;
  const bson::Document filter = R"({"b": 59})"_json;
  request.filter = filter;
  const auto executor = open(request);
  int yields = 0;
  for (auto next = (*executor)->next(); next->kind == Next::Kind::kYield; next = (*executor)->next()) ++yields;
  EXPECT_GE(yields, 20);
  EXPECT_EQ((*executor)->stats().docsExamined, 60);
}

TEST_F(Queries, GiveOthersTheirTurnBetweenResultsToo) {
  insertNumbers(0, 60);
  SlowClock clock;
  context.work = &clock;
  const auto executor = open(FindRequest());
  int yields = 0, rows = 0;
  for (auto next = (*executor)->next(); !next->isEnd(); next = (*executor)->next())
    ++(next->isDocument() ? rows : yields);
  EXPECT_EQ(rows, 60);
  EXPECT_GE(yields, 20) << "who pulls rows without a pause holds the thread as long as the plan itself would";
}

TEST_F(Queries, ShowRecordIdsAndKeys) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertNumbers(0, 3);
  FindRequest request;
  request.showRecordId = true;
  EXPECT_EQ(find(R"({"a": 2})"_json, request), R"({ "_id" : 2, "a" : 2, "b" : 2, "$recordId" : 3 })");
  request.showRecordId = false;
  request.returnKey = true;
  EXPECT_EQ(find(R"({"a": 2})"_json, request), R"({ "a" : 2 })");
  EXPECT_EQ(find(R"({"b": 2})"_json, request), "{ }");
  const bson::Document sort = R"({"b": -1})"_json;
  request.sort = sort;
  EXPECT_EQ(find(R"({"a": {"$gt": 0}})"_json, request), R"({ "a" : 2 } { "a" : 1 })");
}

TEST_F(Queries, TellWhereInAnArrayTheyMatched) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertAll({R"({"_id": 1, "a": [5, 7, 9]})"_json});
  const auto filter = parseMatch(R"({"a": 7})"_json, context);
  const auto executor = openScan(collection(), **filter, {}, *unit, context);
  ASSERT_TRUE((*executor)->next()->isDocument());
  EXPECT_EQ(*(*executor)->matchedArrayIndex(), 1);
}

TEST_F(Queries, CountKeysWithoutFetching) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertNumbers(0, 50);
  const auto all = parseMatch({}, context), some = parseMatch(R"({"a": {"$gte": 8}})"_json, context);
  EXPECT_EQ(**fastCount(*collection(), **all, *unit, context), 50);
  EXPECT_FALSE(fastCount(*collection(), **some, *unit, context)->has_value());
  FindRequest request;
  request.rowsOnly = true;
  const auto executor = openScan(collection(), **some, request, *unit, context);
  EXPECT_EQ(drain(**executor)->size(), 10u);
  EXPECT_EQ((*executor)->stats().docsExamined, 0);
  EXPECT_EQ((*executor)->stats().planSummary, "COUNT_SCAN { a: 1 }");
}

TEST_F(Queries, JumpFromOneDistinctValueToTheNext) {
  index(R"({"key": {"a": 1, "b": 1}, "name": "ab"})"_json);
  insertNumbers(0, 100);
  insertAll({R"({"_id": 200})"_json, R"({"_id": 201, "a": null})"_json});
  std::string values;
  const auto add = [&](const bson::Element& e) {
    values += e.is(bson::Type::kNull) ? "null " : std::to_string(e.toInt64()) + " ";
    return Status::OK();
  };
  const auto distinct = [&](const bson::Document& filter) {
    values.clear();
    const auto parsed = parseMatch(filter, context);
    const auto done = distinctScan(*collection(), "a", **parsed, *unit, context, add);
    EXPECT_TRUE(done.isOK());
    return *done;
  };
  EXPECT_TRUE(distinct({}));
  EXPECT_EQ(values, "null 0 1 2 3 4 5 6 7 8 9 ") << "a missing field is no value";
  EXPECT_TRUE(distinct(R"({"a": {"$gt": 6}})"_json));
  EXPECT_EQ(values, "7 8 9 ");
  EXPECT_FALSE(distinct(R"({"c": 1})"_json));
  insertAll({R"({"_id": 300, "a": [1, 2]})"_json});
  EXPECT_FALSE(distinct({})) << "multikey";
}

TEST_F(Queries, AJumpOverManyDocumentsWithoutAValueEndsWhenItsOperationHasTo) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(insert(bson::doc("_id", i)).isOK());
  TestWork work;
  work.killAtLook = 1;
  ParseContext killed = context;
  killed.work = &work;
  const auto all = parseMatch({}, killed);
  const auto add = [](const bson::Element&) { return Status::OK(); };
  EXPECT_EQ(distinctScan(*collection(), "a", **all, *unit, killed, add).status(), ErrorCode::kInterrupted);
  EXPECT_EQ(work.looks, 1);
}

class Pauses : public Queries {};

TEST_F(Pauses, GoOnBehindTheLastResult) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertNumbers(0, 100);
  for (const auto& filter :
       {bson::Document(), R"({"a": {"$gte": 2}})"_json, R"({"$or": [{"a": 1}, {"a": {"$in": [1, 2, 3]}}]})"_json}) {
    const auto expected = run({.filter = filter}), found = run({.filter = filter}, 3);
    ASSERT_TRUE(found.isOK()) << found.status().toString();
    EXPECT_EQ(*found, *expected);
  }
}

TEST_F(Pauses, PassOverWhatWasRemovedMeanwhile) {
  index(R"({"key": {"b": 1}, "name": "b"})"_json);
  insertNumbers(0, 6);
  const bson::Document filter = R"({"b": {"$gte": 0}})"_json;
  const auto executor = open({.filter = filter});
  ASSERT_TRUE((*executor)->next()->isDocument());
  ASSERT_TRUE((*executor)->next()->isDocument());
  const auto id = (*executor)->recordId();
  const bson::Document current = bson::doc("_id", 1, "a", 1, "b", 1);
  (*executor)->save();
  write([&] { return collection()->remove(*unit, id, current); });
  ASSERT_TRUE((*executor)->restore(*unit, *catalog).isOK());
  EXPECT_EQ(drain(**executor)->size(), 4u);
}

TEST_F(Pauses, EndWhenTheCollectionIsGone) {
  insertNumbers(0, 5);
  const auto executor = open({});
  ASSERT_TRUE((*executor)->next()->isDocument());
  (*executor)->save();
  drop();
  EXPECT_EQ((*executor)->restore(*unit, *catalog).code(), ErrorCode::kQueryPlanKilled);
}

TEST_F(Pauses, EndWhenTheCollectionIsRenamed) {
  insertNumbers(0, 5);
  const auto executor = open({});
  ASSERT_TRUE((*executor)->next()->isDocument());
  (*executor)->save();
  write([&] {
    return storage::renameCollection(*catalog, *unit, collection(), storage::Namespace("test", "elsewhere"), false)
        .status();
  });
  const Status killed = (*executor)->restore(*unit, *catalog);
  EXPECT_EQ(killed.code(), ErrorCode::kQueryPlanKilled);
  EXPECT_THAT(killed.reason(), ::testing::HasSubstr("' to 'test.elsewhere'"));
}

/// A plan that goes on beside a schema change must not meet the new catalog with the old data, nor the reverse.
TEST_F(Pauses, AreRestoredOnACatalogThatFitsTheSnapshot) {
  insertNumbers(0, 5);
  for (const auto step : {storage::CatalogStep::kCatalogTaken, storage::CatalogStep::kSnapshotOpened}) {
    const auto executor = open({});
    ASSERT_TRUE((*executor)->next()->isDocument());
    (*executor)->save();
    unit->abandonSnapshot();
    storage::RecoveryUnit reader(*pool);
    bool done = false;
    catalog->observeSteps([&](storage::CatalogStep now) {
      if (done || now != step) return;
      done = true;
      drop();
    });
    EXPECT_EQ((*executor)->restore(reader, *catalog).code(), ErrorCode::kQueryPlanKilled);
    catalog->observeSteps(nullptr);
    ASSERT_TRUE(done);
    create();
    insertNumbers(0, 5);
  }
}

/// RDS-004
TEST_F(Pauses, AreRestoredAgainWhenTheNodesRoleChangesMeanwhile) {
  struct Role final : storage::NodeState {
    bool appliesBatches() const override { return false; }
    uint64_t version() const override { return term; }
    uint64_t term = 1;
  } role;
  storage::OperationContext operation({.sessions = *pool, .node = &role});
  insertNumbers(0, 5);
  const auto executor = open({});
  ASSERT_TRUE((*executor)->next()->isDocument());
  (*executor)->save();
  unit->abandonSnapshot();
  int opened = 0;
  catalog->observeSteps([&](storage::CatalogStep now) {
    if (now == storage::CatalogStep::kSnapshotOpened && ++opened == 1) role.term = 2;
  });
  const Status restored = (*executor)->restore(operation.recoveryUnit(), *catalog);
  catalog->observeSteps(nullptr);
  ASSERT_TRUE(restored.isOK()) << restored.toString();
  EXPECT_EQ(opened, 2);
  EXPECT_TRUE((*executor)->next()->isDocument());
}

TEST_F(Pauses, EndWhenTheirIndexIsGoneButNotWhenAnotherIs) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  index(R"({"key": {"b": 1}, "name": "b"})"_json);
  insertNumbers(0, 5);
  const bson::Document filter = R"({"a": {"$gte": 0}})"_json;
  const auto executor = open({.filter = filter});
  ASSERT_TRUE((*executor)->next()->isDocument());
  (*executor)->save();
  dropIndex("b");
  ASSERT_TRUE((*executor)->restore(*unit, *catalog).isOK());
  ASSERT_TRUE((*executor)->next()->isDocument());
  (*executor)->save();
  dropIndex("a");
  const Status killed = (*executor)->restore(*unit, *catalog);
  EXPECT_EQ(killed.code(), ErrorCode::kQueryPlanKilled);
  EXPECT_EQ(killed.reason(), "index 'a' dropped");
}

TEST_F(Pauses, SortedRowsThatAreGoingToBeWrittenAreReadAgain) {
  insertNumbers(0, 3);
  const bson::Document sort = R"({"b": 1})"_json;
  const auto filter = parseMatch(R"({"a": {"$lt": 5}})"_json, context);
  FindRequest request;
  request.sort = sort;
  unit->abandonSnapshot();
  const auto executor = openScan(collection(), **filter, request, *unit, context);
  ASSERT_TRUE((*executor)->next()->isDocument());
  (*executor)->save();
  const bson::Document one = bson::doc("_id", 1, "a", 1, "b", 1), two = bson::doc("_id", 2, "a", 2, "b", 2);
  const bson::Document oneNow = bson::doc("_id", 1, "a", 9, "b", 1), twoNow = bson::doc("_id", 2, "a", 4, "b", 2);
  write([&]() -> Status {
    TROUPE_TRY(collection()->update(*unit, storage::RecordId{2}, one, oneNow));
    return collection()->update(*unit, storage::RecordId{3}, two, twoNow);
  });
  ASSERT_TRUE((*executor)->restore(*unit, *catalog).isOK());
  const auto next = (*executor)->next();
  ASSERT_TRUE(next->isDocument()) << "the one that no longer matches is left out";
  EXPECT_EQ(bson::Document(next->document), twoNow);
  EXPECT_TRUE((*executor)->next()->isEnd());
}

TEST_F(Queries, ByIdAreExplainedWithTheirFilter) {
  EXPECT_EQ(bson::toRelaxedJson(planOf(R"({"_id": 3})"_json)["parsedQuery"].asDocument()),
            R"({ "_id" : { "$eq" : 3 } })");
}

TEST_F(Queries, AreExplained) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertNumbers(0, 20);
  const bson::Document filter = R"({"a": {"$gte": 3, "$lt": 5}, "b": {"$gt": 4}})"_json;
  const auto executor = open({.filter = filter});
  bson::Builder planner;
  (*executor)->explainPlanner(planner);
  const bson::Document plan = planner.finish();
  EXPECT_EQ(plan["namespace"].asString(), "test.c");
  EXPECT_EQ(
      bson::toRelaxedJson(plan["winningPlan"].asDocument()),
      R"({ "stage" : "FETCH", "filter" : { "b" : { "$gt" : 4 } }, "inputStage" : { "stage" : "IXSCAN", "keyPattern" : { "a" : 1 }, )"
      R"("indexName" : "a", "isMultiKey" : false, "multiKeyPaths" : { "a" : [  ] }, "isUnique" : false, "isSparse" : false, )"
      R"x("isPartial" : false, "indexVersion" : 2, "direction" : "forward", "indexBounds" : { "a" : [ "[3, 5)" ] } } })x");
  EXPECT_EQ(drain(**executor)->size(), 2u);
  bson::Builder execution;
  (*executor)->explainExecution(execution);
  const bson::Document stats = execution.finish();
  EXPECT_TRUE(stats["executionSuccess"].asBool());
  EXPECT_EQ(stats["nReturned"].toInt64(), 2);
  EXPECT_EQ(stats["totalDocsExamined"].toInt64(), 4);
  EXPECT_EQ(stats.view().at("executionStages.inputStage.keysExamined").toInt64(), 4);
  EXPECT_EQ(stats.view().at("executionStages.isEOF").toInt64(), 1);
}

}  // namespace
}  // namespace troupe::query
