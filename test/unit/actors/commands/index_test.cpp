// createIndexes, listIndexes, dropIndexes, collMod.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class IndexTest : public CommandTest {
 protected:
  std::string names() {
    std::string all;
    const bson::Document reply = run(R"({"listIndexes": "c"})");
    const auto first = reply.view().at("cursor.firstBatch");
    if (!first.is(bson::Type::kArray)) return "?";
    for (const bson::Element& e : first.asArray())
      all += (all.empty() ? "" : " ") + std::string(e.asDocument()["name"].toStringOr());
    return all;
  }
};

TEST_F(IndexTest, AreBuiltOverWhatIsThere) {
  fill("c", 500);
  EXPECT_TRUE(
      answers(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})",
              R"({"ok": 1, "numIndexesBefore": 1, "numIndexesAfter": 2, "createdCollectionAutomatically": false})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 3}, "hint": {"x": 1}, "batchSize": 100})").size(), 50u);
  EXPECT_EQ(names(), "_id_ x_1");
}

TEST_F(IndexTest, MakeTheCollectionWhenItIsMissing) {
  EXPECT_TRUE(answers(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})",
                      R"({"createdCollectionAutomatically": true})"));
}

TEST_F(IndexTest, ThatExistAreLeftAlone) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_TRUE(answers(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})",
                      R"({"numIndexesBefore": 2, "numIndexesAfter": 2, "note": "all indexes already exist"})"));
}

TEST_F(IndexTest, ConflictByNameOrOptions) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "x_1"}]})"), 86);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "other"}]})"), 85);
}

TEST_F(IndexTest, ThatAreUniqueFindDuplicatesAndLeaveNoTrace) {
  fill("c", 20);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "unique": true}]})"), 11000);
  EXPECT_EQ(names(), "_id_");
  EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"valid": true})"));
}

TEST_F(IndexTest, SpecificationsAreChecked) {
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": []})"), 2);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}}]})"), 9);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"x": 0}, "name": "x"}]})"), 67);
  EXPECT_EQ(
      code(
          R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x", "partialFilterExpression": {"$no": 1}}]})"),
      2);
}

/// The build of the index ends with a new version of it, whose filter must not borrow from the one before.
class PartialIndexTest : public IndexTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PartialIndexTest, ItsFilterComparesStringsByTheIndexsCollation) {
  const std::string own = GetParam();
  const bool isOwn = !own.empty();
  ASSERT_TRUE(
      succeeds(isOwn ? R"({"create": "c"})" : R"({"create": "c", "collation": {"locale": "en", "strength": 2}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "s": "YES"}, {"_id": 2, "s": "no"}]})"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"s": 1}, "name": "s",
                          "partialFilterExpression": {"s": {"$in": ["yes", "maybe"]}})" +
                       own + "}]}"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "s", "hidden": true}})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "s", "hidden": false}})"));
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": 3, "s": "Maybe"}, {"_id": 4, "s": "never"}]})", R"({"n": 2})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"s": "yEs"}}}]})",
                      R"({"n": 1, "nModified": 1})"));
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})", R"({"n": 1})"));
  EXPECT_EQ(batch(R"({"find": "c", "hint": "s", "sort": {"_id": 1}})"),
            (std::vector<std::string>{R"({ "_id" : 2, "s" : "yEs" })", R"({ "_id" : 3, "s" : "Maybe" })"}));
  EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"valid": true})"));
}
INSTANTIATE_TEST_SUITE_P(Collations, PartialIndexTest,
                         ::testing::Values("", R"(, "collation": {"locale": "en", "strength": 2})"));

TEST_F(IndexTest, PartialFiltersDependOnTheDocumentAlone) {
  const auto made = [&](const std::string& filter) {
    return code(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "partialFilterExpression": )" +
                filter + "}]}");
  };
  for (const char* refused :
       {R"({"$expr": {"$lt": ["$a", "$$NOW"]}})", R"({"a": {"$ne": 1}})", R"({"a": {"$exists": false}})",
        R"({"$nor": [{"a": 1}]})", R"({"a": {"$regex": "x"}})", R"({"a": {"$elemMatch": {"b": 1}}})",
        R"({"a": {"$size": 1}})", R"({"$or": [{"a": 1}, {"a": {"$not": {"$gt": 1}}}]})", R"({"$jsonSchema": {}})"})
    EXPECT_EQ(made(refused), 67) << refused;
  EXPECT_EQ(
      made(R"({"$or": [{"a": {"$gt": 1, "$lte": 5}}, {"$and": [{"b": {"$exists": true}}, {"c": {"$type": "string"}}]},
                     {"d": {"$in": [1, 2]}}, {"e": {"$eq": null}}]})"),
      0);
}

TEST_F(IndexTest, AreDroppedByNameKeyOrAllTogether) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"},
                           {"key": {"y": 1}, "name": "y_1"}, {"key": {"z": 1}, "name": "z_1"}]})"));
  EXPECT_TRUE(answers(R"({"dropIndexes": "c", "index": "x_1"})", R"({"nIndexesWas": 4})"));
  EXPECT_TRUE(succeeds(R"({"dropIndexes": "c", "index": {"y": 1}})"));
  EXPECT_EQ(names(), "_id_ z_1");
  EXPECT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "*"})"));
  EXPECT_EQ(names(), "_id_");
  EXPECT_EQ(code(R"({"dropIndexes": "c", "index": "_id_"})"), 72);
  EXPECT_EQ(code(R"({"dropIndexes": "c", "index": "x_1"})"), 27);
}

TEST_F(IndexTest, OfNoCollectionAreNotListed) { EXPECT_EQ(code(R"({"listIndexes": "c"})"), 26); }

TEST_F(IndexTest, CollModHidesAndShows) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_TRUE(answers(R"({"collMod": "c", "index": {"name": "x_1", "hidden": true}})",
                      R"({"hidden_old": false, "hidden_new": true})"));
  EXPECT_EQ(code(R"({"find": "c", "hint": "x_1"})"), 2);
}

TEST_F(IndexTest, AccessesCountAnewOnceItIsHiddenOrShown) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  const auto accesses = [&] {
    const auto reply = run(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$indexStats": {}},
                                                                           {"$match": {"name": "x_1"}}]})");
    return reply.view().at("cursor.firstBatch.0.accesses.ops").toInt64(-1);
  };
  ASSERT_TRUE(succeeds(R"({"find": "c", "filter": {"x": 1}})"));
  EXPECT_EQ(accesses(), 1);
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "hidden": false}})"));
  EXPECT_EQ(accesses(), 1) << "it was not hidden";
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "hidden": true}})"));
  EXPECT_EQ(accesses(), 0);
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "hidden": false}})"));
  ASSERT_TRUE(succeeds(R"({"find": "c", "filter": {"x": 1}})"));
  EXPECT_EQ(accesses(), 1);
}

TEST_F(IndexTest, CollModMakesAnIndexUniqueWhenItIs) {
  fill("c", 20);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "prepareUnique": true}})"));
  EXPECT_EQ(code(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}})"), 359) << "1 and 11, 2 and 12, ...";
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gt": 10}}, "limit": 0}]})"));
  EXPECT_TRUE(answers(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}})", R"({"unique_new": true})"));
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": 99, "x": 1}]})", R"({"writeErrors": [{"code": 11000}]})"));
}

TEST_F(IndexTest, CollModNamesTheDocumentsThatKeepAnIndexFromBecomingUnique) {
  fill("c", 12);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "prepareUnique": true}})"));
  const auto violations = R"({"ok": 0, "code": 359, "violations": [{"ids": [1, 11]}, {"ids": [2, 12]}]})";
  EXPECT_TRUE(answers(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}, "dryRun": true})", violations));
  EXPECT_TRUE(answers(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}})", violations));
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gt": 11}}, "limit": 0}]})"));
  EXPECT_TRUE(answers(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}})",
                      R"({"ok": 0, "violations": [{"ids": [1, 11]}]})"));
}

TEST_F(IndexTest, CollModNamesNoMoreDuplicatesThanAnAnswerHolds) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  for (int i = 0; i < 20; ++i) {
    const std::string id = std::to_string(100 + i) + std::string(1 << 20, 'i');
    const auto documents = std::vector{bson::doc("_id", id, "x", 1)};
    ASSERT_TRUE(holds(server.run(bson::doc("insert", "c", "documents", documents)), R"({"n": 1})"_json));
  }
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "prepareUnique": true}})"));
  const bson::Document reply = run(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}})");
  EXPECT_EQ(reply["code"].toInt64(), 359);
  EXPECT_LT(reply.bytes().size(), size_t{9} << 20);
  const auto ids = reply.view().at("violations.0.ids");
  ASSERT_TRUE(ids.is(bson::Type::kArray));
  EXPECT_EQ(ids.asArray().count(), 7) << "8 MiB have room for so many";
}

TEST_F(IndexTest, CollModLooksForNoDuplicatesWhereItWouldBeRefusedAnyway) {
  fill("c", 20);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  const bson::Document reply = run(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}})");
  EXPECT_EQ(reply["code"].toInt64(), 72);
  EXPECT_FALSE(reply["violations"].ok());
}

TEST_F(IndexTest, CollModNamesOneIndexThatExists) {
  fill("c", 1);
  EXPECT_EQ(code(R"({"collMod": "c", "index": {"name": "no", "hidden": true}})"), 27);
  EXPECT_EQ(code(R"({"collMod": "c", "index": {"hidden": true}})"), 72);
  EXPECT_EQ(code(R"({"collMod": "missing", "validator": {}})"), 26);
}

TEST_F(IndexTest, CollModChangesAndEndsTheLifetimeOfDocumentsInAClusteredCollection) {
  ASSERT_TRUE(
      succeeds(R"({"create": "k", "clusteredIndex": {"key": {"_id": 1}, "unique": true}, "expireAfterSeconds": 100})"));
  const auto lifetime = [&] {
    const auto options = run(R"({"listCollections": 1, "filter": {"name": "k"}})");
    const auto found = options.view().at("cursor.firstBatch.0.options.expireAfterSeconds");
    return found.ok() ? found.toInt64() : -1;
  };
  EXPECT_TRUE(succeeds(R"({"collMod": "k", "expireAfterSeconds": 5})"));
  EXPECT_EQ(lifetime(), 5);
  EXPECT_EQ(code(R"({"collMod": "k", "expireAfterSeconds": "never"})"), 72);
  EXPECT_EQ(code(R"({"collMod": "k", "expireAfterSeconds": {"$numberDouble": "NaN"}})"), 72);
  EXPECT_EQ(code(R"({"collMod": "k", "expireAfterSeconds": -1})"), 72);
  EXPECT_EQ(lifetime(), 5);
  EXPECT_TRUE(succeeds(R"({"collMod": "k", "expireAfterSeconds": "off"})"));
  EXPECT_EQ(lifetime(), -1);
  EXPECT_TRUE(succeeds(R"({"collMod": "k", "expireAfterSeconds": "off"})")) << "again";
  EXPECT_TRUE(succeeds(R"({"collMod": "k", "expireAfterSeconds": 7})"));
  EXPECT_EQ(lifetime(), 7);
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_EQ(code(R"({"collMod": "c", "expireAfterSeconds": "off"})"), 72) << "it is not clustered";
  EXPECT_EQ(code(R"({"collMod": "c", "index": {"name": "x_1", "expireAfterSeconds": "off"}})"), 14);
}

TEST_F(IndexTest, CollModChangesAValidator) {
  fill("c", 1);
  EXPECT_TRUE(succeeds(R"({"collMod": "c", "validator": {"x": 1}, "validationAction": "warn"})"));
  EXPECT_TRUE(
      answers(R"({"listCollections": 1})",
              R"({"cursor": {"firstBatch": [{"options": {"validator": {"x": 1}, "validationAction": "warn"}}]}})"));
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 9}]})", R"({"n": 1})"));
}

TEST_F(IndexTest, QueriesUseOneThatFits) {
  fill("c", 100);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  const auto plan =
      bson::toRelaxedJson(run(R"({"explain": {"find": "c", "filter": {"x": 4}}, "verbosity": "executionStats"})"));
  EXPECT_NE(plan.find("IXSCAN"), std::string::npos) << plan;
  EXPECT_NE(plan.find(R"("totalDocsExamined" : 10)"), std::string::npos) << plan;
}

TEST_F(IndexTest, TheConversionToUniqueCanBeTriedAndGivenUp) {
  fill("c", 10);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "prepareUnique": true}})"));
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": 50, "x": 1}]})", R"({"writeErrors": [{"code": 11000}]})"));
  EXPECT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "unique": true}, "dryRun": true})"));
  EXPECT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "prepareUnique": false}})"));
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 50, "x": 1}]})", R"({"n": 1})"));
}

TEST_F(IndexTest, PreparedToBecomeUniqueKeepsTheDuplicatesThatItHas) {
  ASSERT_TRUE(
      succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": 1}, {"_id": 2, "x": 1}, {"_id": 3, "x": 2}]})"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x_1", "prepareUnique": true}})"));
  const auto holdsAll = [&](const char* db) {
    EXPECT_TRUE(answers(R"({"count": "c", "query": {"x": 1}, "hint": "x_1"})", R"({"n": 2})", db));
    EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"valid": true})", db));
    EXPECT_TRUE(
        answers(R"({"insert": "c", "documents": [{"_id": 50, "x": 2}]})", R"({"writeErrors": [{"code": 11000}]})", db));
  };
  EXPECT_TRUE(succeeds(R"({"reIndex": "c"})"));
  holdsAll("test");
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "far.c"})", "admin"));
  holdsAll("far");
  EXPECT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": -1}, "name": "y", "prepareUnique": true}]})",
                       "far"));
  holdsAll("far");
}

TEST_F(IndexTest, ThatAreMultikeyYieldEachDocumentOnce) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "a": [1, 2, 3]}, {"_id": 2, "a": 2}]})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"a": {"$gte": 1}}, "hint": "a_1"})").size(), 2u);
  const auto plan = bson::toRelaxedJson(
      run(R"({"explain": {"find": "c", "filter": {"a": 2}, "hint": "a_1"}, "verbosity": "queryPlanner"})"));
  EXPECT_NE(plan.find(R"("isMultiKey" : true)"), std::string::npos) << plan;
}

TEST_F(IndexTest, TakeALimitedNumberOfKeysFromOneDocument) {
  std::string values = "[0";
  for (int i = 1; i <= 100'000; ++i) values += ", " + std::to_string(i);
  values += "]";
  const std::string insert = R"({"insert": "c", "documents": [{"_id": 1, "a": )" + values + "}]}";
  const std::string build = R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})";
  ASSERT_TRUE(succeeds(insert));
  EXPECT_TRUE(answers(build, R"({"ok": 0, "code": 201, "codeName": "CannotBuildIndexKeys"})"));
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"));
  ASSERT_TRUE(succeeds(build));
  EXPECT_TRUE(answers(insert, R"({"ok": 1, "n": 0, "writeErrors": [{"index": 0, "code": 201}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  EXPECT_TRUE(answers(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": )" + values + "}}}]}",
                      R"({"ok": 1, "n": 0, "writeErrors": [{"index": 0, "code": 201}]})"));
}

TEST_F(IndexTest, AreKeptAsGivenAndListedNormalised) {
  ASSERT_TRUE(succeeds(
      R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x", "sparse": 12345, "expireAfterSeconds": 10.23}]})"));
  EXPECT_TRUE(answers(
      R"({"listIndexes": "c"})",
      R"({"cursor": {"firstBatch": [{"name": "_id_"}, {"name": "x", "sparse": true, "expireAfterSeconds": 10}]}})"));
  EXPECT_TRUE(answers(R"({"aggregate": "c", "pipeline": [{"$listCatalog": {}}], "cursor": {}})",
                      R"({"cursor": {"firstBatch": [{"db": "test", "name": "c", "md": {"indexes": [{"ready": true},
                          {"spec": {"name": "x", "sparse": 12345, "expireAfterSeconds": 10.23}, "ready": true, "multikey": false}]}}]}})"));
}

TEST_F(IndexTest, StatisticsOfUseOutliveChangesOfTheCollection) {
  fill("c", 20);
  ASSERT_TRUE(succeeds(
      R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}, {"key": {"y": 1}, "name": "y"}]})"));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 3}})").size(), 2u);
  const auto used = R"({"cursor": {"firstBatch": [{"name": "x", "accesses": {"ops": 1}}]}})";
  const auto statistics =
      R"({"aggregate": "c", "pipeline": [{"$indexStats": {}}, {"$match": {"name": "x"}}], "cursor": {}})";
  EXPECT_TRUE(answers(statistics, used));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "validator": {"z": {"$exists": false}}})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "y", "hidden": true}})"));
  ASSERT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "y"})"));
  EXPECT_TRUE(answers(statistics, used));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x", "hidden": true}})"));
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "x", "hidden": false}})"));
  EXPECT_TRUE(answers(statistics, R"({"cursor": {"firstBatch": [{"name": "x", "accesses": {"ops": 0}}]}})"))
      << "an index that is used again is counted anew";
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 3}})").size(), 2u);
  ASSERT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "test.d"})", "admin"));
  ASSERT_TRUE(succeeds(R"({"renameCollection": "test.d", "to": "test.c"})", "admin"));
  EXPECT_TRUE(answers(statistics, used)) << "changes of the collection's name";
}

TEST_F(IndexTest, CollModRefusesOptionsThatCouldNotBeReadAgain) {
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  EXPECT_EQ(code(R"({"collMod": "c", "validationAction": "wa"})"), 2);
  EXPECT_EQ(code(R"({"collMod": "c", "validationLevel": "some"})"), 2);
  EXPECT_EQ(code(R"({"collMod": "c", "index": {"name": null, "hidden": true}})"), 72);
  EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"ok": 1, "valid": true})"));
}

TEST_F(IndexTest, ABuildTakesTheLocksOfItsCollectionUnderTheNameThatARenameGaveIt) {
  fill("c", 3);
  LockHolder before(server.locks, "test.c", storage::LockMode::kX);
  const auto build = server.begin(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"_json,
                                  "test", server.connect());
  const auto rename = server.begin(R"({"renameCollection": "test.c", "to": "test.b"})"_json, "admin", server.connect());
  LockHolder after(server.locks, "test.b", storage::LockMode::kX);  // in turn after the rename, which has it already
  EXPECT_FALSE(after.held());
  before.release();
  server.node.advance(1s);
  EXPECT_TRUE(rename->done && after.held());
  EXPECT_FALSE(build->done) << "another operation changes the collection";
  after.release();
  server.node.advance(1s);
  EXPECT_TRUE(build->done);
  EXPECT_TRUE(answers(R"({"listIndexes": "b"})", R"({"cursor": {"firstBatch": [{"name": "_id_"}, {"name": "x_1"}]}})"));
}

TEST_F(IndexTest, AnIndexOnTheIdAloneAscends) {
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"_id": -1}, "name": "down"}]})"), 2);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"_id": -1, "x": 1}, "name": "two"}]})"), 0);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"_id": "hashed"}, "name": "hashed"}]})"), 0);
}

}  // namespace troupe::commands
