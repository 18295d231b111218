#include "storage/catalog/catalog.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CatalogTest : public CatalogFixture {
 protected:
  void dropTable(const std::string& ident) {
    EXPECT_TRUE(catalog->flush().isOK());
    close();
    harness->reopen();
    ASSERT_TRUE(harness->engine().dropTable(ident).isOK());
  }
};

TEST_P(CatalogTest, FindsEverythingAgainAfterARestart) {
  const auto uuid = create("test.c", R"({"capped": true, "size": 5000, "max": 10})"_json)->uuid();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a", "unique": true})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK());
  restart();
  EXPECT_THAT(warnings, IsEmpty());
  ASSERT_TRUE(current());
  EXPECT_EQ(current()->uuid(), uuid);
  EXPECT_EQ(current()->options().cappedSize, 5120);
  EXPECT_EQ(current()->records().count(), 1);
  EXPECT_TRUE(current()->findIndex("a")->spec.unique);
  EXPECT_TRUE(findById(1));
}

TEST_P(CatalogTest, WritesItsRowsAsOperatorsKnowThem) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a.b": 1}, "name": "ab"})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 1, "a": [{"b": 1}]})"_json).isOK());
  auto row = catalog->durable().read(*unit, current()->catalogId());
  const bson::View document = **row;
  EXPECT_EQ(document["ns"].asString(), "test.c");
  EXPECT_EQ(document["ident"].asString(), current()->ident());
  EXPECT_EQ(document.at("idxIdent.ab").asString(), current()->findIndex("ab")->ident);
  EXPECT_EQ(document.at("md.indexes.1.spec.name").asString(), "ab");
  EXPECT_TRUE(document.at("md.indexes.1.multikey").asBool());
  EXPECT_EQ(document.at("md.indexes.1.multikeyPaths").asDocument()["a.b"].asBinary().bytes,
            std::string_view("\1\0", 2));
  EXPECT_TRUE(document.at("md.options.uuid").ok());
}

TEST_P(CatalogTest, DropsTablesNobodyRefersTo) {
  ASSERT_TRUE(harness->engine().createTable("collection-99-1", {}).isOK());
  ASSERT_TRUE(harness->engine().createTable("something-else", {}).isOK());
  restart();
  EXPECT_THAT(harness->engine().listTables(), Not(Contains("collection-99-1")));
  EXPECT_THAT(harness->engine().listTables(), Contains("something-else"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("collection-99-1")));
}

TEST_P(CatalogTest, RefusesToOpenWithoutACollectionsTable) {
  const std::string ident = create()->ident();
  dropTable(ident);
  pool = std::make_unique<SessionPool>(harness->engine());
  const Status status = tryOpen().status();
  EXPECT_EQ(status.code(), ErrorCode::kUnsupportedFormat);
  EXPECT_THAT(status.reason(), HasSubstr("restore it from a backup, or start with --repair"));
}

TEST_P(CatalogTest, RefusesToOpenWithADamagedRow) {
  const auto sound = create()->toEntry().toDocument();
  const Table table = *harness->engine().openTable(DurableCatalog::kIdent);
  const RecordKey key(current()->catalogId());
  std::string cut(sound.bytes().substr(0, sound.bytes().size() / 2)), followed(sound.bytes());
  followed += "more";
  const std::string noIndexes(R"({"ns": "test.c", "ident": "x", "md": {"options": {}}, "idxIdent": {}})"_json.bytes());
  const std::string noPath(
      R"({"ns": "test.c", "ident": "../x", "md": {"options": {}, "indexes": []}, "idxIdent": {}})"_json.bytes());
  const std::string noTable(
      R"({"ns": "test.c", "ident": "x", "md": {"options": {}, "indexes": [{"ready": true, "multikey": false,
          "spec": {"name": "a", "key": {"a": 1}}}]}, "idxIdent": {}})"_json.bytes());
  for (const std::string& bytes : {cut, followed, noIndexes, noPath, noTable}) {
    ASSERT_TRUE(write([&] { return (*unit->writeCursor(table))->put(key, bytes); }).isOK());
    unit->abandonSnapshot();
    EXPECT_EQ(catalog->durable().entries(*unit).status().code(), ErrorCode::kDataCorruptionDetected) << bytes;
  }
  ASSERT_TRUE(write([&] { return (*unit->writeCursor(table))->put(key, sound.bytes()); }).isOK());
  ASSERT_TRUE(write([&] { return (*unit->writeCursor(table))->put("short", sound.bytes()); }).isOK());
  unit->abandonSnapshot();
  EXPECT_EQ(catalog->durable().entries(*unit).status().code(), ErrorCode::kDataCorruptionDetected);
}

TEST_P(CatalogTest, IgnoresAnIndexWithoutTable) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  const std::string ident = current()->findIndex("a")->ident;
  dropTable(ident);
  open();
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("index a of test.c")));
  EXPECT_EQ(current()->findIndex("a"), nullptr);
  EXPECT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK());
}

TEST_P(CatalogTest, KeepsUnfinishedBuildsUntilTheyAreDiscarded) {
  create();
  const auto spec = R"({"key": {"a": 1}, "name": "a"})"_json;
  IndexBuilder builder(*catalog, Namespace("test", "c"), {*parseIndexSpec(spec)});
  ASSERT_TRUE(builder.start(*unit).isOK());
  const std::string ident = current()->findIndex("a")->ident;
  EXPECT_FALSE(current()->findIndex("a")->usable());
  restart();
  ASSERT_NE(current()->findIndex("a"), nullptr);
  EXPECT_FALSE(current()->findIndex("a")->usable());
  ASSERT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK()) << "writers keep it up";
  const auto left = unfinishedBuilds(*catalog->snapshot());
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].collection, current()->uuid());
  unit->abandonSnapshot();
  ASSERT_TRUE(abortIndexBuild(*catalog, *unit, left[0].collection, left[0].build).isOK());
  EXPECT_EQ(current()->findIndex("a"), nullptr);
  EXPECT_TRUE(unfinishedBuilds(*catalog->snapshot()).empty());
  restart();
  EXPECT_THAT(harness->engine().listTables(), Not(Contains(ident)));
}

TEST_P(CatalogTest, SurvivesACrashWithWhatWasFlushed) {
  create();
  ASSERT_TRUE(insert(R"({"_id": 1})"_json).isOK());
  crash();
  ASSERT_TRUE(current());
  EXPECT_TRUE(findById(1));
  EXPECT_TRUE(insert(R"({"_id": 2})"_json).isOK());
}

TEST_P(CatalogTest, TakesACheckpointAlsoWhereSizesCannotBeWritten) {
  create();
  ASSERT_TRUE(insert(R"({"_id": 1})"_json).isOK());
  unit->releaseSession();
  const bson::Uuid doubted = current()->uuid();
  ASSERT_TRUE(catalog->sizes().doubt({doubted}).isOK());
  {
    const auto table = harness->engine().openTable(SizeStorer::kIdent);
    ASSERT_TRUE(table.isOK());
    Transaction other(harness->engine(), *table);  // its write stands in the way
    other.put(current()->ident(), "another");
    EXPECT_FALSE(catalog->flush().isOK());
    const int64_t before = harness->engine().statistics().checkpoints;
    EXPECT_TRUE(catalog->checkpoint({}).isOK());
    EXPECT_GT(harness->engine().statistics().checkpoints, before);
    EXPECT_THAT(warnings, ::testing::Contains(::testing::HasSubstr("the sizes of collections")));
  }
  EXPECT_TRUE(catalog->sizes().doubted().contains(doubted)) << "nothing has been counted";
  ASSERT_TRUE(catalog->checkpoint({}).isOK());
  crash();
  EXPECT_EQ(current()->records().count(), 1) << "it was still to be written";
  EXPECT_TRUE(catalog->sizes().doubted().contains(doubted));
}

TROUPE_ON_BOTH_ENGINES(CatalogTest);

/// A kill leaves counters that are older, or newer, than the data; an insert removes by them.
TEST_P(CatalogTest, CappedCollectionsAreCountedAfterAKill) {
  create("test.c", R"({"capped": true, "size": 100000, "max": 5})"_json);
  create("test.plain");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(insert(bson::doc("_id", i)).isOK());
  current()->records().correctSize(77, 7700);
  current("test.plain")->records().correctSize(77, 7700);
  ASSERT_TRUE(catalog->flush().isOK());
  crash();
  EXPECT_EQ(current()->records().count(), 5);
  EXPECT_EQ(current("test.plain")->records().count(), 77);
  ASSERT_TRUE(catalog->flush().isOK());
  unit->releaseSession();
  catalog->close();
  ASSERT_TRUE(catalog->reload(false).isOK());
  EXPECT_THAT(warnings, IsEmpty()) << "a later reading of the catalog counts nothing";
  ASSERT_TRUE(insert(bson::doc("_id", 5)).isOK());
  EXPECT_EQ(current()->records().count(), 5);
  EXPECT_FALSE(findById(0));
  EXPECT_TRUE(findById(1));
}

TEST_P(CatalogTest, AfterAnOrderlyEndSizesAreTakenAsTheyAre) {
  create("test.c", R"({"capped": true, "size": 100000})"_json);
  current()->records().correctSize(77, 7700);
  ASSERT_TRUE(catalog->flushAtEnd().isOK());
  close();
  harness->reopen();
  open();
  EXPECT_EQ(current()->records().count(), 77);
  crash();
  EXPECT_EQ(current()->records().count(), 0) << "the mark holds once";
}

}  // namespace
}  // namespace troupe::storage
