#include "storage/catalog/catalog_operations.hpp"

#include <chrono>
#include <set>
#include <thread>

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CatalogOperationsTest : public CatalogFixture {
 protected:
  ErrorCode createAgain(const bson::Document& options) {
    return write([&] {
             return createCollection(*catalog, *unit, Namespace("test", "c"), *parseCollectionOptions(options));
           })
        .status()
        .code();
  }
  std::vector<std::string> names(const char* db = "test") {
    std::vector<std::string> all;
    for (const auto& collection : catalog->snapshot()->collections(db)) all.emplace_back(collection->ns().collection());
    return all;
  }
  /// The engine may call a table busy for some milliseconds after another was dropped: the reaper comes again.
  void reapAll() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (catalog->reaper().size() > 0 && std::chrono::steady_clock::now() < deadline) {
      catalog->reaper().reapOnce(harness->engine(), *pool, {}, {});
      std::this_thread::yield();
    }
    EXPECT_EQ(catalog->reaper().size(), 0u);
  }
  bool tableExists(const std::string& ident) {
    const auto tables = harness->engine().listTables();
    return std::find(tables.begin(), tables.end(), ident) != tables.end();
  }
};

TEST_P(CatalogOperationsTest, MakesACollectionWithItsIdIndex) {
  const CollectionPtr made = create();
  EXPECT_EQ(current(), made);
  ASSERT_EQ(made->indexes().size(), 1u);
  EXPECT_EQ(made->idIndex()->spec.name, "_id_");
  EXPECT_EQ(catalog->snapshot()->find(made->uuid()), made);
  EXPECT_THAT(made->ident(), ::testing::StartsWith("collection-"));
  EXPECT_EQ(*harness->engine().tableMetadata(made->ident()), "formatVersion=1");
}

TEST_P(CatalogOperationsTest, AnswersARepeatedCreateOfTheSameOnly) {
  create();
  EXPECT_EQ(createAgain({}), ErrorCode::kOK);
  EXPECT_EQ(createAgain(R"({"capped": true, "size": 4096})"_json), ErrorCode::kNamespaceExists);
  const auto createAs = [&](const bson::Uuid& uuid) {
    CollectionOptions options;
    options.uuid = uuid;
    return write([&] { return createCollection(*catalog, *unit, Namespace("test", "c"), options); }).status();
  };
  EXPECT_TRUE(createAs(current()->uuid()).isOK());
  EXPECT_EQ(createAs(catalog->newUuid()).code(), ErrorCode::kNamespaceExists) << "it is another collection";
}

TEST_P(CatalogOperationsTest, RefusesADatabaseThatDiffersInCase) {
  create("Shop.c");
  auto made = write([&] { return createCollection(*catalog, *unit, Namespace("shop", "c"), {}); });
  EXPECT_EQ(made.status().code(), ErrorCode::kDatabaseDifferCase);
}

// Each member of a set profiles for itself, and all of them have to accept the same.
TEST_P(CatalogOperationsTest, ADatabaseWithNothingButItsProfileKeepsNoOtherCaseOut) {
  create("shop.system.profile", R"({"capped": true, "size": 4096})"_json);
  create("Shop.c");
  auto made = write([&] { return createCollection(*catalog, *unit, Namespace("shop", "c"), {}); });
  EXPECT_EQ(made.status().code(), ErrorCode::kDatabaseDifferCase) << "its profile is not in the way of this check";
  create("Shop.d");
}

TEST_P(CatalogOperationsTest, LeavesNoTraceOfACreateThatRolledBack) {
  std::string ident;
  {
    WriteUnitOfWork work(*unit);
    auto made = createCollection(*catalog, *unit, Namespace("test", "c"), {});
    ASSERT_TRUE(made.isOK());
    ident = (*made)->ident();
    EXPECT_EQ(current(), nullptr) << "published on commit only";
  }
  EXPECT_EQ(current(), nullptr);
  EXPECT_TRUE(catalog->reaper().isPending(ident));
  unit->releaseSession();
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  reapAll();
  EXPECT_FALSE(tableExists(ident));
}

TEST_P(CatalogOperationsTest, CreatesAndFillsInOneUnit) {
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_ASSIGN(auto made, createCollection(*catalog, *unit, Namespace("test", "c"), {}));
                return made->insert(*unit, R"({"_id": 1})"_json).status();
              }).isOK());
  EXPECT_TRUE(findById(1));
}

TEST_P(CatalogOperationsTest, DropsInTwoPhases) {
  CollectionPtr reader = create();
  ASSERT_TRUE(insert(R"({"_id": 1})"_json).isOK());
  const std::string ident = reader->ident();
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, reader); }).isOK());
  EXPECT_EQ(current(), nullptr);
  EXPECT_FALSE(catalog->snapshot()->hasDatabase("test"));
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  EXPECT_EQ(catalog->reaper().reapOnce(harness->engine(), *pool, {}, {}), 0u) << "a reader still holds it";
  EXPECT_TRUE(*reader->find(*unit, RecordId(1), [](bson::View) {}));
  unit->releaseSession();
  reader.reset();
  reapAll();
  EXPECT_FALSE(tableExists(ident));
}

// SRC-005
TEST_P(CatalogOperationsTest, ACrashAtAnyStepLeavesNoCollectionWithoutItsTablesAndNoTableForGood) {
  std::vector<std::unique_ptr<EngineHarness>> survivors;
  const auto crashHere = [&] {
    ASSERT_TRUE(harness->engine().flushLog().isOK());
    survivors.push_back(harness->afterACrash());
  };
  catalog->observeSteps([&](CatalogStep step) {
    if (step == CatalogStep::kMarked || step == CatalogStep::kCommitted) crashHere();
  });
  create();
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  catalog->observeSteps(nullptr);
  crashHere();  // before the reaper
  const std::vector<bool> there{false, true, true, false, false};
  ASSERT_EQ(survivors.size(), there.size());
  for (size_t i = 0; i < survivors.size(); ++i) {
    SCOPED_TRACE(i);
    close();
    harness = std::move(survivors[i]);
    open();
    std::set<std::string> wanted, found;
    ASSERT_EQ(current() != nullptr, there[i]);
    if (const auto collection = current()) {
      EXPECT_TRUE(collection->records().cursor(*unit).isOK());
      wanted = {collection->ident(), collection->idIndex()->access->table().ident};
      unit->releaseSession();
    }
    reapAll();
    for (const std::string& ident : harness->engine().listTables())
      if (ident.starts_with("collection-") || ident.starts_with("index-")) found.insert(ident);
    EXPECT_EQ(found, wanted);
  }
}

TEST_P(CatalogOperationsTest, ReapsOnlyWhatIsOlderThanCheckpointAndHistory) {
  DropReaper reaper;
  ASSERT_TRUE(harness->engine().createTable("index-9-9", {}).isOK());
  reaper.add("index-9-9", at(20), {});
  EXPECT_EQ(reaper.reapOnce(harness->engine(), *pool, at(20), at(30)), 0u);
  EXPECT_EQ(reaper.reapOnce(harness->engine(), *pool, at(30), at(20)), 0u);
  EXPECT_EQ(reaper.reapOnce(harness->engine(), *pool, at(21), at(21)), 1u);
}

TEST_P(CatalogOperationsTest, RenamesWithoutChangingTheIdentity) {
  const auto uuid = create()->uuid();
  ASSERT_TRUE(insert(R"({"_id": 1})"_json).isOK());
  create("test.target");
  const auto rename = [&](bool dropTarget) {
    return write([&] { return renameCollection(*catalog, *unit, current(), Namespace("test", "target"), dropTarget); })
        .status();
  };
  EXPECT_EQ(rename(false).code(), ErrorCode::kNamespaceExists);
  ASSERT_TRUE(rename(true).isOK());
  EXPECT_THAT(names(), ElementsAre("target"));
  EXPECT_EQ(current("test.target")->uuid(), uuid);
  EXPECT_EQ(catalog->snapshot()->find(uuid)->ns().toString(), "test.target");
  EXPECT_TRUE(findById(1, "test.target"));
  EXPECT_THAT(insert(R"({"_id": 1})"_json, "test.target").reason(), HasSubstr("collection: test.target index"));
  EXPECT_EQ(write([&] {
              return renameCollection(*catalog, *unit, current("test.target"), Namespace("test", "target"), true);
            })
                .status()
                .code(),
            ErrorCode::kIllegalOperation);
}

TEST_P(CatalogOperationsTest, DropsAWholeDatabase) {
  create("test.a"), create("test.b"), create("other.c");
  ASSERT_TRUE(write([&] { return dropDatabase(*catalog, *unit, "test"); }).isOK());
  EXPECT_THAT(catalog->snapshot()->databases(), ElementsAre("other"));
}

TEST_P(CatalogOperationsTest, KeepsViewsAsEntriesWithoutTable) {
  create("test.v", R"({"viewOn": "c", "pipeline": [{"$match": {"a": 1}}]})"_json);
  restart();
  ASSERT_TRUE(current("test.v"));
  EXPECT_TRUE(current("test.v")->isView());
  EXPECT_EQ(bson::toRelaxedJson(current("test.v")->options().toDocument(false)),
            bson::toRelaxedJson(R"({"viewOn": "c", "pipeline": [{"$match": {"a": 1}}]})"_json));
}

TEST_P(CatalogOperationsTest, FindsIndexesToDropByNameKeyOrStar) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  ASSERT_TRUE(index(R"({"key": {"b": 1}, "name": "b"})"_json).isOK());
  const auto namesOf = [&](const bson::Document& d) { return indexNamesFor(*current(), d["index"]); };
  EXPECT_THAT(*namesOf(R"({"index": "*"})"_json), ElementsAre("a", "b"));
  EXPECT_THAT(*namesOf(R"({"index": {"b": 1}})"_json), ElementsAre("b"));
  EXPECT_THAT(*namesOf(R"({"index": ["a", "b"]})"_json), ElementsAre("a", "b"));
  EXPECT_EQ(namesOf(R"({"index": "z"})"_json).status().reason(), "index not found with name [z]");
  EXPECT_EQ(namesOf(R"({"index": {"z": 1}})"_json).status().reason(), "can't find index with key: { z: 1 }");
  EXPECT_EQ(namesOf(R"({"index": "_id_"})"_json).status().code(), ErrorCode::kInvalidOptions);
  ASSERT_TRUE(write([&] { return dropIndexes(*catalog, *unit, current(), {"a"}); }).isOK());
  EXPECT_EQ(current()->findIndex("a"), nullptr);
  ASSERT_TRUE(insert(R"({"_id": 1, "a": 1, "b": 1})"_json).isOK());
  EXPECT_EQ(keys("b"), 1);
}

TEST_P(CatalogOperationsTest, AllowsSixtyFourIndexes) {
  create();
  std::vector<bson::Document> specs;
  for (int i = 0; i < 64; ++i)
    specs.push_back(bson::doc("key", bson::doc("f" + std::to_string(i), 1), "name", "i" + std::to_string(i)));
  const std::vector<bson::View> all(specs.begin(), specs.end());
  EXPECT_TRUE(newIndexes(*catalog, *current(), {all.begin(), all.end() - 1}).isOK());
  EXPECT_EQ(newIndexes(*catalog, *current(), all).status().code(), ErrorCode::kCannotCreateIndex);
}

TEST_P(CatalogOperationsTest, ChangesIndexesAndOptionsOnCommitOnly) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a", "expireAfterSeconds": 5})"_json).isOK());
  CollectionChange change;
  change.index = "a";
  change.indexChange = {.hidden = true, .expireAfterSeconds = 60};
  change.validator = R"({"a": {"$exists": true}})"_json;
  {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(modifyCollection(*catalog, *unit, current(), change).isOK());
  }
  EXPECT_FALSE(current()->options().validator);
  EXPECT_FALSE(current()->findIndex("a")->spec.hidden);
  ASSERT_TRUE(write([&] { return modifyCollection(*catalog, *unit, current(), change); }).isOK());
  restart();
  EXPECT_TRUE(current()->options().validator);
  EXPECT_FALSE(current()->findIndex("a")->usable());
  EXPECT_EQ(current()->findIndex("a")->spec.expireAfterSeconds, 60);
}

TEST_P(CatalogOperationsTest, ConvertsAnIndexToUniqueOnceItIsPrepared) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(insert(bson::doc("_id", i, "a", i / 2)).isOK());
  const auto change = [&](SpecChange indexChange) {
    CollectionChange wanted;
    wanted.index = "a";
    wanted.indexChange = indexChange;
    return write([&] { return modifyCollection(*catalog, *unit, current(), wanted); }).status();
  };
  EXPECT_EQ(change({.unique = true}).code(), ErrorCode::kInvalidOptions);
  ASSERT_TRUE(change({.prepareUnique = true}).isOK());
  EXPECT_EQ(insert(R"({"_id": 9, "a": 1})"_json).code(), ErrorCode::kDuplicateKey) << "no new duplicates";
  unit->abandonSnapshot();
  auto violations = uniqueViolations(*unit, *current(), *current()->findIndex("a"));
  EXPECT_EQ(bson::toRelaxedJson(*violations), bson::toRelaxedJson(R"({"0": {"ids": [0, 1]}})"_json));
  unit->abandonSnapshot();
  ASSERT_TRUE(write([&] { return current()->remove(*unit, *findById(1), bson::doc("_id", 1, "a", 0)); }).isOK());
  unit->abandonSnapshot();
  EXPECT_TRUE(uniqueViolations(*unit, *current(), *current()->findIndex("a"))->empty());
  unit->abandonSnapshot();
  ASSERT_TRUE(change({.unique = true}).isOK());
  EXPECT_TRUE(current()->findIndex("a")->spec.unique);
  EXPECT_FALSE(current()->findIndex("a")->spec.prepareUnique);
}

TROUPE_ON_BOTH_ENGINES(CatalogOperationsTest);

TEST_P(CatalogOperationsTest, NothingIsAddedToADatabaseThatIsBeingDropped) {
  create("other.c");
  {
    auto drop = catalog->pendingDrops().begin("test");
    ASSERT_TRUE(drop.isOK());
    EXPECT_EQ(catalog->pendingDrops().begin("test").status(), ErrorCode::kDatabaseDropPending);
    const auto made = write([&] { return createCollection(*catalog, *unit, Namespace("test", "c"), {}); });
    EXPECT_EQ(made.status(), ErrorCode::kDatabaseDropPending);
    const auto renamed =
        write([&] { return renameCollection(*catalog, *unit, current("other.c"), Namespace("test", "c"), false); });
    EXPECT_EQ(renamed.status(), ErrorCode::kDatabaseDropPending);
    EXPECT_TRUE(create("another.c"));
  }
  EXPECT_TRUE(create("test.c"));
}

}  // namespace
}  // namespace troupe::storage
