// Reads of earlier times: the catalog as it was then (CAT-016, CAT-017, CAT-021, CAT-022, RDS-005, RDS-009).
#include "storage/catalog/catalog_view.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;

class CatalogViewTest : public CatalogFixture {
 protected:
  /// Runs `body` in a unit of work with this commit time.
  template <class Body>
  void writeAt(uint64_t time, Body&& body) {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(unit->setCommitTimestamp(at(time)).isOK());
    const auto result = body();
    ASSERT_TRUE(isOK(result));
    ASSERT_TRUE(work.commit().isOK());
  }
  void createAt(uint64_t time, const char* ns = "test.c", CollectionOptions options = {}) {
    writeAt(time, [&] { return createCollection(*catalog, *unit, Namespace::split(ns), options); });
  }
  void insertAt(uint64_t time, int id, const char* ns = "test.c") {
    const auto collection = current(ns);
    writeAt(time, [&] { return collection->insert(*unit, bson::doc("_id", id, "a", id)); });
  }
  void renameAt(uint64_t time, const char* from, const char* to, bool dropTarget = false) {
    writeAt(time, [&] { return renameCollection(*catalog, *unit, current(from), Namespace::split(to), dropTarget); });
  }
  void dropAt(uint64_t time, const char* ns = "test.c") {
    writeAt(time, [&] { return dropCollection(*catalog, *unit, current(ns)); });
  }
  void hideIndexAt(uint64_t time, const char* name) {
    CollectionChange change;
    change.index = name;
    change.indexChange = {.hidden = true};
    writeAt(time, [&] { return modifyCollection(*catalog, *unit, current(), change); });
  }
  void addIndexAt(uint64_t time, const bson::Document& spec) {
    const auto specs = newIndexes(*catalog, *current(), {spec.view()});
    ASSERT_TRUE(specs.isOK());
    writeAt(time, [&] { return createEmptyIndex(*catalog, *unit, current(), (*specs)[0]); });
  }

  CatalogView& viewAt(RecoveryUnit& reader, uint64_t time) {
    reader.abandonSnapshot();
    EXPECT_TRUE(reader.setReadSource(ReadSource::kProvided, at(time)).isOK());
    const auto view = CatalogView::open(*catalog, reader);
    EXPECT_TRUE(view.isOK()) << view.status().toString();
    return **view;
  }
  CollectionPtr findAt(RecoveryUnit& reader, uint64_t time, const char* ns = "test.c") {
    const auto found = viewAt(reader, time).find(Namespace::split(ns));
    EXPECT_TRUE(found.isOK()) << found.status().toString();
    return *found;
  }
  /// The ids of all documents as read through the collection in the reader's snapshot.
  std::vector<int64_t> ids(const CollectionPtr& collection, RecoveryUnit& reader) {
    std::vector<int64_t> all;
    if (!collection) return all;
    auto cursor = collection->records().cursor(reader);
    EXPECT_TRUE(cursor.isOK());
    for (;;) {
      const auto found = cursor->next();
      EXPECT_TRUE(found.isOK());
      if (!*found) return all;
      all.push_back(cursor->document()["_id"].toInt64());
    }
  }
};

TEST_P(CatalogViewTest, GivesTheCollectionAsItWasAtTheTimeOfTheRead) {
  createAt(10);
  insertAt(11, 1);
  addIndexAt(20, R"({"key": {"b": 1}, "name": "b"})"_json);
  hideIndexAt(30, "b");
  const CollectionPtr latest = current();
  EXPECT_EQ(latest->minimumValid(), at(30));
  RecoveryUnit reader(*pool);
  EXPECT_EQ(findAt(reader, 9), nullptr);
  for (const uint64_t time : {10, 19}) {
    const auto then = findAt(reader, time);
    ASSERT_TRUE(then);
    EXPECT_EQ(then->indexes().size(), 1u) << "the index came later";
    EXPECT_EQ(then->uuid(), latest->uuid());
    EXPECT_EQ(ids(then, reader).size(), time == 10 ? 0u : 1u);
  }
  ASSERT_TRUE(findAt(reader, 29)->findIndex("b"));
  EXPECT_TRUE(findAt(reader, 29)->findIndex("b")->usable());
  EXPECT_EQ(findAt(reader, 30), latest);
  EXPECT_EQ(findAt(reader, 99), latest);
}

TEST_P(CatalogViewTest, FollowsNamesAndUuidsThroughCreateRenameAndDrop) {
  createAt(10);
  insertAt(11, 1);
  const bson::Uuid first = current()->uuid();
  renameAt(20, "test.c", "test.d");
  createAt(30);
  insertAt(31, 3);
  const bson::Uuid second = current()->uuid();
  renameAt(40, "test.c", "test.d", true);
  dropAt(50, "test.d");
  createAt(60);
  RecoveryUnit reader(*pool);
  const auto uuidAt = [&](uint64_t time, const char* ns) -> std::optional<bson::Uuid> {
    const auto found = findAt(reader, time, ns);
    return found ? std::optional(found->uuid()) : std::nullopt;
  };
  EXPECT_EQ(uuidAt(9, "test.c"), std::nullopt);
  EXPECT_EQ(uuidAt(15, "test.c"), first);
  EXPECT_EQ(uuidAt(15, "test.d"), std::nullopt);
  EXPECT_EQ(uuidAt(25, "test.c"), std::nullopt);
  EXPECT_EQ(uuidAt(25, "test.d"), first);
  EXPECT_EQ(uuidAt(35, "test.c"), second);
  EXPECT_EQ(uuidAt(35, "test.d"), first);
  EXPECT_EQ(uuidAt(45, "test.c"), std::nullopt);
  EXPECT_EQ(uuidAt(45, "test.d"), second);
  EXPECT_EQ(uuidAt(55, "test.d"), std::nullopt);
  EXPECT_EQ(uuidAt(65, "test.c"), current()->uuid());
  EXPECT_THAT(ids(findAt(reader, 25, "test.d"), reader), ElementsAre(1)) << "the table of a dropped collection";
  EXPECT_THAT(ids(findAt(reader, 45, "test.d"), reader), ElementsAre(3));

  const auto nameAt = [&](uint64_t time, const bson::Uuid& uuid) -> std::string {
    const auto found = viewAt(reader, time).find(uuid);
    EXPECT_TRUE(found.isOK());
    return *found ? (*found)->ns().toString() : "";
  };
  EXPECT_EQ(nameAt(15, first), "test.c");
  EXPECT_EQ(nameAt(35, first), "test.d");
  EXPECT_EQ(nameAt(45, first), "");
  EXPECT_EQ(nameAt(35, second), "test.c");
  EXPECT_EQ(nameAt(45, second), "test.d");
  EXPECT_EQ(nameAt(55, second), "");
}

TEST_P(CatalogViewTest, KnowsTheTimeOfEachChangeOfOneUnit) {
  writeAt(10, [&]() -> Status {
    TROUPE_TRY(createCollection(*catalog, *unit, Namespace("test", "c"), {}).status());
    TROUPE_TRY(unit->setCommitTimestamp(at(12)));
    return createCollection(*catalog, *unit, Namespace("test", "d"), {}).status();
  });
  RecoveryUnit reader(*pool);
  EXPECT_TRUE(findAt(reader, 10, "test.c"));
  EXPECT_FALSE(findAt(reader, 11, "test.d"));
  EXPECT_TRUE(findAt(reader, 12, "test.d"));
}

TEST_P(CatalogViewTest, BelievesChangesWithoutATimeAtEveryTime) {
  createAt(10);
  CollectionChange change;
  change.validator = R"({"a": 1})"_json;
  ASSERT_TRUE(write([&] { return modifyCollection(*catalog, *unit, current(), change); }).isOK());
  create("test.d");
  RecoveryUnit reader(*pool);
  EXPECT_EQ(findAt(reader, 10), current());
  EXPECT_EQ(findAt(reader, 5, "test.d"), current("test.d"));
}

TEST_P(CatalogViewTest, KeepsNamesBackToTheOldestTime) {
  createAt(10);
  renameAt(20, "test.c", "test.d");
  dropAt(30, "test.d");
  EXPECT_EQ(catalog->snapshot()->historySize(), 3u) << "two names, one UUID";
  const auto version = catalog->snapshot()->version();
  catalog->onTimes(at(5), at(9));
  EXPECT_EQ(catalog->snapshot()->version(), version) << "nothing to trim publishes nothing";
  ASSERT_TRUE(harness->engine().setStableTimestamp(at(25)).isOK());
  ASSERT_TRUE(harness->engine().setOldestTimestamp(at(25)).isOK());
  catalog->onTimes(at(25), at(25));
  EXPECT_EQ(catalog->snapshot()->historySize(), 2u) << "test.c has been nobody's since 20";
  RecoveryUnit reader(*pool);
  EXPECT_TRUE(findAt(reader, 25, "test.d"));
  EXPECT_FALSE(findAt(reader, 25, "test.c"));
  catalog->onTimes(at(25), at(30));
  EXPECT_EQ(catalog->snapshot()->historySize(), 0u);
}

TEST_P(CatalogViewTest, RebuildsOncePerSnapshotAndForgetsWithIt) {
  createAt(10);
  addIndexAt(20, R"({"key": {"b": 1}, "name": "b"})"_json);
  RecoveryUnit reader(*pool);
  CatalogView& view = viewAt(reader, 15);
  std::weak_ptr<const Collection> rebuilt;
  {
    const auto found = *view.find(Namespace("test", "c"));
    ASSERT_TRUE(found);
    EXPECT_NE(found, current());
    EXPECT_EQ(*view.find(Namespace("test", "c")), found);
    EXPECT_EQ(*view.find(found->uuid()), found);
    EXPECT_EQ(view.rebuilt(), 1u);
    rebuilt = found;
  }
  RecoveryUnit other(*pool);
  EXPECT_NE(findAt(other, 15), rebuilt.lock()) << "private to its snapshot";
  EXPECT_FALSE(rebuilt.expired());
  reader.abandonSnapshot();
  EXPECT_TRUE(rebuilt.expired()) << "a yield frees it";
}

TEST_P(CatalogViewTest, RefusesWritesThroughAnythingButTheLatestVersion) {
  createAt(10);
  const CollectionPtr before = current();
  RecoveryUnit writer(*pool);
  {
    WriteUnitOfWork work(writer);  // a transaction: its catalog is that of its first access
    const auto view = CatalogView::open(*catalog, writer);
    ASSERT_TRUE(view.isOK());
    addIndexAt(20, R"({"key": {"b": 1}, "name": "b"})"_json);
    EXPECT_EQ(*(*view)->find(Namespace("test", "c")), before) << "it reads what it had";
    EXPECT_EQ((*view)->findForWrite(Namespace("test", "c")).status().code(), ErrorCode::kWriteConflict);
    EXPECT_EQ(before->insert(writer, bson::doc("_id", 1)).status().code(), ErrorCode::kWriteConflict);
    const bson::Document one = bson::doc("_id", 1);
    EXPECT_EQ(before->remove(writer, RecordId(1), one).code(), ErrorCode::kWriteConflict);
    EXPECT_EQ(before->update(writer, RecordId(1), one, one).code(), ErrorCode::kWriteConflict);
    EXPECT_EQ(before->truncate(writer).code(), ErrorCode::kWriteConflict);
    EXPECT_EQ(dropCollection(*catalog, writer, before).code(), ErrorCode::kWriteConflict);
    EXPECT_EQ(modifyCollection(*catalog, writer, before, {}).status().code(), ErrorCode::kWriteConflict);
  }
  {
    WriteUnitOfWork again(writer);
    const auto view = CatalogView::open(*catalog, writer);
    const auto found = (*view)->findForWrite(Namespace("test", "c"));
    ASSERT_TRUE(found.isOK());
    EXPECT_TRUE((*found)->insert(writer, bson::doc("_id", 1)).isOK());
    ASSERT_TRUE(again.commit().isOK());
  }
  RecoveryUnit reader(*pool);
  const auto older = findAt(reader, 15);
  WriteUnitOfWork work(writer);
  EXPECT_EQ(older->insert(writer, bson::doc("_id", 2)).status().code(), ErrorCode::kWriteConflict);
}

TEST_P(CatalogViewTest, ANameThatCameMeanwhileIsAConflictForAWriter) {
  RecoveryUnit writer(*pool);
  WriteUnitOfWork work(writer);
  const auto view = CatalogView::open(*catalog, writer);
  create();
  EXPECT_EQ(*(*view)->find(Namespace("test", "c")), nullptr);
  EXPECT_EQ((*view)->findForWrite(Namespace("test", "c")).status().code(), ErrorCode::kWriteConflict);
  EXPECT_TRUE((*view)->findForWrite(Namespace("test", "d")).isOK()) << "missing before and now";
}

TEST_P(CatalogViewTest, KeepsTablesOfRebuiltCollectionsFromTheReaper) {
  createAt(10);
  insertAt(11, 1);
  const std::string ident = current()->ident();
  dropAt(20);
  ASSERT_TRUE(catalog->reaper().isPending(ident));
  RecoveryUnit reader(*pool);
  auto dropped = findAt(reader, 15);
  ASSERT_TRUE(dropped) << "revived for the read";
  unit->releaseSession();
  ASSERT_TRUE(harness->engine().setStableTimestamp(at(30)).isOK());
  ASSERT_TRUE(harness->engine().setOldestTimestamp(at(30)).isOK());
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  EXPECT_EQ(catalog->onTimes(at(30), at(30)), 0u) << "the rebuilt collection uses the tables";
  EXPECT_THAT(ids(dropped, reader), ElementsAre(1));
  dropped.reset();
  reader.releaseSession();
  for (int i = 0; i < 1000 && catalog->reaper().size() > 0; ++i) {
    ASSERT_TRUE(harness->engine().checkpoint().isOK());
    catalog->onTimes(at(30), at(30));
  }
  EXPECT_EQ(catalog->reaper().size(), 0u);
  const auto tables = harness->engine().listTables();
  EXPECT_EQ(std::count(tables.begin(), tables.end(), ident), 0);
}

TEST_P(CatalogViewTest, KeepsATableInUseAlsoWhenItIsDroppedOnlyLater) {
  createAt(10);
  addIndexAt(15, R"({"key": {"b": 1}, "name": "b"})"_json);
  RecoveryUnit reader(*pool);
  const auto older = findAt(reader, 12);
  ASSERT_TRUE(older);
  dropAt(20);
  unit->releaseSession();
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  catalog->onTimes(at(30), at(30));
  EXPECT_TRUE(catalog->reaper().isPending(older->ident()));
}

TROUPE_ON_BOTH_ENGINES(CatalogViewTest);

}  // namespace
}  // namespace troupe::storage
