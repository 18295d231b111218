// The catalog closes and is read again while the process lives: rollback to the stable time, resync (CAT-009, CAT-025).
#include "messaging/errors/invariant.hpp"
#include "storage/catalog/catalog_view.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CatalogReloadTest : public CatalogFixture {
 protected:
  CatalogReloadTest() {
    replicated = true;  // tables with a history: they can go back to a stable time
    close();
    harness->reopen();
    open();
  }
  ~CatalogReloadTest() override { close(); }

  template <class Body>
  void writeAt(uint64_t time, Body&& body) {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(unit->setCommitTimestamp(at(time)).isOK());
    const auto result = body();
    ASSERT_TRUE(isOK(result));
    ASSERT_TRUE(work.commit().isOK());
  }
  void createAt(uint64_t time, const char* ns) {
    writeAt(time, [&] { return createCollection(*catalog, *unit, Namespace::split(ns), {}); });
  }
  void insertAt(uint64_t time, int id, const char* ns) {
    writeAt(time, [&] { return current(ns)->insert(*unit, bson::doc("_id", id, "text", std::string(id, 'x'))); });
  }
  void rollBackTo(uint64_t stable) {
    ASSERT_TRUE(harness->engine().setOldestTimestamp(at(1)).isOK());
    ASSERT_TRUE(harness->engine().setStableTimestamp(at(stable)).isOK());
    unit->releaseSession();
    catalog->close();
    const Status rolledBack = harness->engine().rollbackToStable();
    ASSERT_TRUE(rolledBack.isOK()) << rolledBack.toString();
    const Status reloaded = catalog->reload(true);
    ASSERT_TRUE(reloaded.isOK()) << reloaded.toString();
  }
  std::vector<int64_t> ids(const char* ns) {
    unit->abandonSnapshot();
    std::vector<int64_t> all;
    auto cursor = current(ns)->records().cursor(*unit);
    EXPECT_TRUE(cursor.isOK());
    for (auto found = cursor->next(); found.isOK() && *found; found = cursor->next())
      all.push_back(cursor->document()["_id"].toInt64());
    return all;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& each : catalog->snapshot()->collections("test")) all.push_back(each->ns().toString());
    return all;
  }
};

TEST_P(CatalogReloadTest, ShowsCollectionsAndSizesAsOfTheStableTime) {
  createAt(10, "test.a");
  createAt(11, "test.b");
  createAt(12, "test.c");
  insertAt(13, 1, "test.a");
  insertAt(14, 2, "test.b");
  const bson::Uuid a = current("test.a")->uuid(), b = current("test.b")->uuid();
  // After the stable time: documents, a rename, a drop, a create, options.
  insertAt(21, 3, "test.a");
  writeAt(22, [&] { return renameCollection(*catalog, *unit, current("test.a"), Namespace("test", "z"), false); });
  writeAt(23, [&] { return dropCollection(*catalog, *unit, current("test.b")); });
  createAt(24, "test.d");
  insertAt(25, 4, "test.d");
  const std::string made = current("test.d")->ident();
  CollectionChange change;
  change.validator = R"({"a": 1})"_json;
  writeAt(26, [&] { return modifyCollection(*catalog, *unit, current(), change); });

  rollBackTo(20);
  EXPECT_THAT(names(), ElementsAre("test.a", "test.b", "test.c"));
  EXPECT_EQ(current("test.a")->uuid(), a);
  EXPECT_EQ(current("test.b")->uuid(), b);
  EXPECT_FALSE(current()->options().validator);
  EXPECT_THAT(ids("test.a"), ElementsAre(1));
  EXPECT_THAT(ids("test.b"), ElementsAre(2));
  EXPECT_EQ(current("test.a")->records().count(), 1);
  EXPECT_EQ(current("test.b")->records().count(), 1);
  EXPECT_EQ(current("test.b")->records().dataBytes(), bson::doc("_id", 2, "text", "xx").view().size());
  EXPECT_FALSE(catalog->reaper().isPending(current("test.b")->ident())) << "its drop was undone";
  EXPECT_TRUE(findById(2, "test.b")) << "and so was that of its index";
  unit->releaseSession();
  for (int i = 0; i < 1000 && catalog->reaper().size() > 0; ++i) {
    ASSERT_TRUE(harness->engine().checkpoint().isOK());
    catalog->onTimes({}, {});
  }
  const auto tables = harness->engine().listTables();
  EXPECT_EQ(std::count(tables.begin(), tables.end(), made), 0) << "the table that was made too late";

  insertAt(30, 5, "test.a");
  EXPECT_THAT(ids("test.a"), ElementsAre(1, 5)) << "record ids go on behind what is there";
  createAt(31, "test.d");
  EXPECT_THAT(names(), ElementsAre("test.a", "test.b", "test.c", "test.d"));
}

TEST_P(CatalogReloadTest, KnowsNamesOfUuidsWhileItIsClosed) {
  createAt(10, "test.c");
  const bson::Uuid uuid = current()->uuid();
  unit->releaseSession();
  catalog->close();
  EXPECT_TRUE(catalog->snapshot()->closed());
  EXPECT_THROW(current(), BrokenInvariant) << "nothing would be taken for 'there is none'";
  EXPECT_THROW(catalog->snapshot()->find(uuid), BrokenInvariant);
  EXPECT_EQ(catalog->snapshot()->nameOf(uuid)->toString(), "test.c");
  EXPECT_EQ(catalog->snapshot()->nameOf(bson::Uuid{}), std::nullopt);
  EXPECT_EQ(CatalogView::open(*catalog, *unit).status().code(), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_FALSE(unit->isActive());
  ASSERT_TRUE(catalog->reload(false).isOK());
  EXPECT_EQ(current()->uuid(), uuid);
  EXPECT_EQ(catalog->snapshot()->nameOf(uuid)->toString(), "test.c");
  EXPECT_TRUE(CatalogView::open(*catalog, *unit).isOK());
}

TEST_P(CatalogReloadTest, DoesNotAnswerForTimesItNoLongerKnows) {
  createAt(10, "test.c");
  writeAt(15, [&] { return renameCollection(*catalog, *unit, current(), Namespace("test", "d"), false); });
  const auto nameAt = [&](uint64_t time, const char* name) {
    RecoveryUnit reader(*pool);
    EXPECT_TRUE(reader.setReadSource(ReadSource::kProvided, at(time)).isOK());
    return (*CatalogView::open(*catalog, reader))->find(Namespace("test", name));
  };
  EXPECT_TRUE(*nameAt(12, "c")) << "the history of names";
  rollBackTo(20);
  EXPECT_EQ(nameAt(12, "c").status().code(), ErrorCode::kSnapshotUnavailable) << "not: there was none";
  EXPECT_EQ(nameAt(19, "d").status().code(), ErrorCode::kSnapshotUnavailable);
  EXPECT_TRUE(*nameAt(20, "d"));
}

TEST_P(CatalogReloadTest, LeavesHoldersOfOlderVersionsSafe) {
  createAt(10, "test.c");
  insertAt(11, 1, "test.c");
  insertAt(21, 2, "test.c");
  createAt(22, "test.d");
  insertAt(23, 3, "test.d");
  const CollectionPtr old = current(), gone = current("test.d");
  const CatalogPtr snapshot = catalog->snapshot();
  rollBackTo(20);
  EXPECT_TRUE(snapshot->find(Namespace("test", "d"))) << "a version never changes";
  EXPECT_NE(current()->sharedRecords(), old->sharedRecords());
  OperationContext operation({.sessions = *pool}, OperationOrigin::kApplier);
  operation.setWriteMode(WriteMode::kApplied);
  RecoveryUnit& reader = operation.recoveryUnit();
  EXPECT_TRUE(*old->find(reader, RecordId(1), [](bson::View) {}));
  EXPECT_FALSE(*old->find(reader, RecordId(2), [](bson::View) {})) << "what is on disk now";
  EXPECT_TRUE(catalog->reaper().isPending(gone->ident())) << "its holder keeps the table";
  EXPECT_FALSE(*gone->find(reader, RecordId(1), [](bson::View) {}));
  reader.releaseSession();
  WriteUnitOfWork work(reader);
  EXPECT_EQ(old->insert(reader, bson::doc("_id", 9)).status().code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(gone->insert(reader, bson::doc("_id", 9)).status().code(), ErrorCode::kWriteConflict);
}

TEST_P(CatalogReloadTest, StaysClosedWhenItCannotBeRead) {
  createAt(10, "test.c");
  const std::string ident = current()->ident();
  unit->releaseSession();
  catalog->close();
  ASSERT_TRUE(harness->engine().checkpoint().isOK());
  pool->closeIdle();
  ASSERT_TRUE(harness->engine().dropTable(ident).isOK());
  const Status status = catalog->reload(false);
  EXPECT_EQ(status.code(), ErrorCode::kUnsupportedFormat);
  EXPECT_THAT(status.reason(), HasSubstr(ident));
  EXPECT_TRUE(catalog->snapshot()->closed());
  EXPECT_THAT(names(), IsEmpty());
}

TROUPE_ON_BOTH_ENGINES(CatalogReloadTest);

}  // namespace
}  // namespace troupe::storage
