// Plans that were made before an index had arrays, and go on when it has: an array has several keys, and one of them
// within the bounds of a negation does not tell that the document matches.
#include "storage/query/plan/index_plan.hpp"
#include "test/unit/storage/query/plan/query_fixture.hpp"

namespace troupe::query {
namespace {

class OutgrownBounds : public QueryFixture {
 protected:
  OutgrownBounds() { create(); }

  void insertScalars() {
    for (int i = 0; i < 10; ++i) insertAll({bson::doc("_id", i, "a", i, "b", i % 3)});
  }
  /// The ids of what a query gives before and after the documents come.
  std::string idsAround(const bson::Document& filter, const std::vector<bson::Document>& documents) {
    const auto executor = open({.filter = filter});
    EXPECT_TRUE(executor.isOK()) << executor.status().toString();
    const auto first = (*executor)->next();
    EXPECT_TRUE(first.isOK() && first->isDocument());
    std::string ids = bson::toRelaxedJson(first->document["_id"]);
    (*executor)->save();
    insertAll(documents);
    unit->abandonSnapshot();
    const Status restored = (*executor)->restore(*unit, *catalog);
    if (!restored.isOK()) return restored.toString();
    const auto rest = drain(**executor);
    if (!rest.isOK()) return rest.status().toString();
    for (const auto& document : *rest) ids += " " + bson::toRelaxedJson(document["_id"]);
    return ids;
  }
  /// What becomes of a count that is under way when an array comes.
  Status countAround(const bson::Document& filter) {
    const auto parsed = parseMatch(filter, context);
    FindRequest request;
    request.rowsOnly = true;
    unit->abandonSnapshot();
    const auto executor = openScan(collection(), **parsed, request, *unit, context);
    EXPECT_EQ((*executor)->stats().planSummary, "COUNT_SCAN { a: 1 }");
    EXPECT_TRUE((*executor)->next()->isDocument());
    (*executor)->save();
    insertAll({R"({"_id": 100, "a": [3, 7]})"_json});
    unit->abandonSnapshot();
    return (*executor)->restore(*unit, *catalog);
  }
};

TEST_F(OutgrownBounds, ADocumentIsTestedThatComesWithAnArray) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertScalars();
  EXPECT_EQ(summaryOf(R"({"a": {"$ne": 3}})"_json), "IXSCAN { a: 1 }");
  EXPECT_EQ(idsAround(R"({"a": {"$ne": 3}})"_json, {R"({"_id": 100, "a": [3, 7]})"_json}), "0 1 2 4 5 6 7 8 9");
}

TEST_F(OutgrownBounds, TheLastOfAsManyFieldsAsAnIndexMayHave) {
  std::string key, document, filter;
  for (int field = 0; field < 32; ++field) {
    const std::string name = (field > 0 ? ", \"f" : "\"f") + std::to_string(field) + "\": ";
    key += name + "1";
    document += name + (field == 31 ? "[3, 7]" : "1");
    filter += name + (field == 31 ? R"({"$ne": 3})" : "1");
  }
  index(*bson::fromJson(R"({"name": "all", "key": {)" + key + "}}"));
  const bson::Document negated = *bson::fromJson("{" + filter + "}");
  for (int i = 0; i < 3; ++i) {
    std::string scalars = document;
    scalars.replace(scalars.find("[3, 7]"), 6, std::to_string(10 + i));
    insertAll({*bson::fromJson(R"({"_id": )" + std::to_string(i) + ", " + scalars + "}")});
  }
  EXPECT_EQ(idsAround(negated, {}), "0 1 2");
  EXPECT_EQ(idsAround(negated, {*bson::fromJson(R"({"_id": 100, )" + document + "}")}), "0 1 2");
}

TEST_F(OutgrownBounds, WhateverIsNegated) {
  for (const char* filter :
       {R"({"a": {"$nin": [2, 3]}})", R"({"a": {"$not": {"$gt": 6}}})", R"({"a": {"$not": {"$lt": 4}}})",
        R"({"a": {"$not": {"$in": [3, 8]}}})", R"({"$or": [{"a": {"$ne": 3}}, {"b": 77}]})"}) {
    drop();
    create();
    index(R"({"key": {"a": 1}, "name": "a"})"_json);
    index(R"({"key": {"b": 1}, "name": "b"})"_json);
    insertScalars();
    const bson::Document parsed = *bson::fromJson(filter);
    const std::string ids = idsAround(parsed, {R"({"_id": 100, "a": [3, 5, 7]})"_json});
    EXPECT_EQ(ids.find("100"), std::string::npos) << filter << ": " << ids;
    EXPECT_EQ(idsAround(parsed, {}), ids) << filter << ": a plan that is made now";
  }
}

TEST_F(OutgrownBounds, AFieldOfAnIndexThatHadArraysElsewhere) {
  index(R"({"key": {"a": 1, "b": 1}, "name": "ab"})"_json);
  insertScalars();
  insertAll({R"({"_id": 50, "a": 50, "b": [1, 2]})"_json});
  EXPECT_EQ(idsAround(R"({"a": {"$ne": 3}})"_json, {R"({"_id": 100, "a": [3, 70], "b": 1})"_json}),
            "0 1 2 4 5 6 7 8 9 50");
}

TEST_F(OutgrownBounds, ABranchOfAnOrThatHasNotBegun) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  index(R"({"key": {"b": 1}, "name": "b"})"_json);
  insertScalars();
  EXPECT_EQ(idsAround(R"({"$or": [{"b": 0}, {"a": {"$not": {"$lt": 8}}}]})"_json,
                      {R"({"_id": 100, "a": [3, 9], "b": 5})"_json}),
            "0 3 6 9 8");
}

TEST_F(OutgrownBounds, WhatMatchesIsStillFound) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertScalars();
  EXPECT_EQ(idsAround(R"({"a": {"$ne": 3}})"_json, {R"({"_id": 100, "a": [50, 60]})"_json}), "0 1 2 4 5 6 7 8 9 100")
      << "once, though it has two keys";
}

TEST_F(OutgrownBounds, ACountOfKeysEndsOnlyWhereItCountedANegation) {
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertScalars();
  const Status killed = countAround(R"({"a": {"$ne": 3}})"_json);
  EXPECT_EQ(killed, ErrorCode::kQueryPlanKilled);
  EXPECT_EQ(killed.reason(), "index 'a' became multikey");
  drop();
  create();
  index(R"({"key": {"a": 1}, "name": "a"})"_json);
  insertScalars();
  const Status counted = countAround(R"({"a": {"$gte": 3}})"_json);
  EXPECT_TRUE(counted.isOK()) << counted.toString();
}

}  // namespace
}  // namespace troupe::query
