// CLU-002: predicates on the `_id` of a clustered collection are bounded scans of its records.
#include "storage/query/plan/clustered_scan.hpp"

#include "test/unit/storage/query/plan/query_fixture.hpp"

namespace troupe::query {
namespace {

class ClusteredQueries : public QueryFixture {
 protected:
  ClusteredQueries() {
    create(R"({"clusteredIndex": {"key": {"_id": 1}, "unique": true, "name": "by id"}})"_json);
    index(R"({"key": {"a": 1}, "name": "a_1"})"_json);
    for (const int id : {7, 2, 9, 0, 4, 5, 1, 8, 3, 6}) insertAll({bson::doc("_id", id, "a", id % 3)});
  }
  /// The ids that a query gives, and how many documents it looked at.
  std::string ids(const bson::Document& filter, FindRequest request = {}, int saveEvery = 0) {
    request.filter = filter;
    auto executor = open(request);
    if (!executor.isOK()) return executor.status().toString();
    const auto results = drain(**executor, saveEvery);
    if (!results.isOK()) return results.status().toString();
    std::string text;
    for (const auto& document : *results) text += std::to_string(document["_id"].toInt64()) + " ";
    return text + "of " + std::to_string((*executor)->stats().docsExamined) + "+" +
           std::to_string((*executor)->stats().keysExamined);
  }
  bson::Document stage(const bson::Document& filter, FindRequest request = {}) {
    return bson::Document(planOf(filter, request)["winningPlan"].asDocument());
  }
  static FindRequest sortedBy(const bson::Document& sort) {
    FindRequest request;
    request.sort = sort;
    return request;
  }
};

TEST_F(ClusteredQueries, LookAtNothingOutsideTheBounds) {
  EXPECT_EQ(ids(R"({"_id": 4})"_json), "4 of 1+0");
  EXPECT_EQ(ids(R"({"_id": 44})"_json), "of 0+0");
  EXPECT_EQ(ids(R"({"_id": {"$gte": 3, "$lt": 6}})"_json), "3 4 5 of 3+0");
  EXPECT_EQ(ids(R"({"_id": {"$gt": 7}})"_json), "8 9 of 2+0");
  EXPECT_EQ(ids(R"({"_id": {"$lte": 1}})"_json), "0 1 of 2+0");
  EXPECT_EQ(ids(R"({"_id": {"$gt": 2, "$lt": 7}, "a": 0})"_json), "3 6 of 4+0");
  EXPECT_EQ(ids(R"({"_id": {"$in": [1, 8, 77]}})"_json), "1 8 of 4+0") << "2 and 9, which lead to the next id, count";
  EXPECT_EQ(ids(R"({"_id": {"$gt": 5, "$lt": 3}})"_json), "of 0+0");
  EXPECT_EQ(ids(R"({"_id": "x"})"_json), "of 0+0");
}

TEST_F(ClusteredQueries, ShowTheScanAndItsBounds) {
  const auto range = stage(R"({"_id": {"$gte": 3, "$lt": 6}})"_json);
  EXPECT_EQ(range["stage"].asString(), "CLUSTERED_IXSCAN");
  EXPECT_EQ(range["direction"].asString(), "forward");
  EXPECT_EQ(range["minRecord"].toInt64(), 3);
  EXPECT_EQ(range["maxRecord"].toInt64(), 6);
  EXPECT_EQ(range.view().at("indexBounds._id").asArray().first().asString(), "[3, 6)");
  EXPECT_FALSE(range.view().has("inputStage")) << "nothing is fetched";
  const auto point = stage(R"({"_id": 3})"_json);
  EXPECT_EQ(point["stage"].asString(), "CLUSTERED_IXSCAN");
  EXPECT_EQ(point["minRecord"].toInt64(), 3);
  EXPECT_EQ(point["maxRecord"].toInt64(), 3);
  EXPECT_EQ(summaryOf(R"({"_id": {"$gt": 3}})"_json), "CLUSTERED_IXSCAN");
  EXPECT_EQ(stage({})["stage"].asString(), "COLLSCAN");
}

TEST_F(ClusteredQueries, SortByIdWithoutASort) {
  const auto up = R"({"_id": 1})"_json, down = R"({"_id": -1})"_json;
  EXPECT_EQ(ids({}, sortedBy(up)), "0 1 2 3 4 5 6 7 8 9 of 10+0");
  EXPECT_EQ(ids(R"({"_id": {"$gt": 6}})"_json, sortedBy(down)), "9 8 7 of 3+0");
  EXPECT_EQ(stage({}, sortedBy(down))["stage"].asString(), "CLUSTERED_IXSCAN");
  EXPECT_EQ(stage({}, sortedBy(down))["direction"].asString(), "backward");
  FindRequest limited = sortedBy(down);
  limited.limit = 2;
  EXPECT_EQ(ids({}, limited), "9 8 of 2+0");
}

TEST_F(ClusteredQueries, NaturalOrderIsThatOfTheIds) {
  EXPECT_EQ(ids({}), "0 1 2 3 4 5 6 7 8 9 of 10+0");
  const auto backward = R"({"$natural": -1})"_json;
  EXPECT_EQ(ids({}, sortedBy(backward)), "9 8 7 6 5 4 3 2 1 0 of 10+0");
}

TEST_F(ClusteredQueries, GoOnAfterAYieldWhereTheyWere) {
  const auto filter = R"({"_id": {"$gte": 2, "$lte": 8}})"_json, down = R"({"_id": -1})"_json;
  EXPECT_EQ(ids(filter, {}, 1), "2 3 4 5 6 7 8 of 7+0");
  EXPECT_EQ(ids(filter, sortedBy(down), 2), "8 7 6 5 4 3 2 of 7+0");
  // The record it stands on goes away meanwhile.
  FindRequest request;
  request.filter = filter;
  auto executor = std::move(open(request)).value();
  ASSERT_EQ(executor->next()->document["_id"].toInt64(), 2);
  executor->save();
  write([&] {
    return collection()->remove(*unit, collection()->clusteredId(bson::Value(2).element()),
                                bson::doc("_id", 2, "a", 2));
  });
  unit->abandonSnapshot();
  ASSERT_TRUE(executor->restore(*unit, *catalog).isOK());
  EXPECT_EQ(drain(*executor)->size(), 6U);
}

TEST_F(ClusteredQueries, HintsNameTheClusteredIndexOrAnother) {
  FindRequest request;
  const bson::Value byName(std::string("by id")), byKey(R"({"_id": 1})"_json.view()), other(std::string("a_1"));
  const auto filter = R"({"a": 1})"_json;
  request.hint = byName.element();
  EXPECT_EQ(ids(filter, request), "1 4 7 of 10+0");
  request.hint = byKey.element();
  EXPECT_EQ(stage(filter, request)["stage"].asString(), "CLUSTERED_IXSCAN");
  request.hint = other.element();
  EXPECT_EQ(ids(R"({"_id": {"$lt": 5}, "a": 1})"_json, request), "1 4 of 3+3");
}

TEST_F(ClusteredQueries, SecondaryIndexesLeadToTheRecords) {
  EXPECT_EQ(ids(R"({"a": 1})"_json), "1 4 7 of 3+3");
  EXPECT_EQ(stage(R"({"a": 1})"_json)["stage"].asString(), "FETCH");
  FindRequest shown;
  shown.showRecordId = true;
  const std::string text = find(R"({"a": 1, "_id": 4})"_json, shown);
  EXPECT_NE(text.find("\"$binary\""), std::string::npos) << text;
}

TEST_F(ClusteredQueries, BranchesOfAnOrAreJoinedWithoutRepeats) {
  EXPECT_EQ(find(R"({"$or": [{"_id": {"$lt": 2}}, {"a": 0, "_id": {"$lt": 4}}]})"_json),
            R"({ "_id" : 0, "a" : 0 } { "_id" : 1, "a" : 1 } { "_id" : 3, "a" : 0 })");
}

TEST_F(ClusteredQueries, MinAndMaxBoundTheRecords) {
  FindRequest request;
  const bson::Value hint(std::string("by id"));
  const auto low = R"({"_id": 3})"_json, high = R"({"_id": 5})"_json;
  request.hint = hint.element();
  request.min = low;
  request.max = high;
  EXPECT_EQ(ids({}, request), "3 4 of 2+0");
}

TEST_F(ClusteredQueries, SortsKeepTheIdsOfTheirRows) {
  FindRequest request = sortedBy({});
  const auto sort = R"({"a": 1, "_id": -1})"_json;
  request.sort = sort;
  request.showRecordId = true;
  const auto results = run(request);
  ASSERT_TRUE(results.isOK());
  for (const auto& document : *results) {
    const auto id = collection()->clusteredId(document["_id"]);
    EXPECT_EQ(document["$recordId"].asBinary().bytes, id.bytes());
  }
}

}  // namespace
}  // namespace troupe::query
