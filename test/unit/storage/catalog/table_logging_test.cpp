#include "storage/catalog/table_logging.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

class TableLoggingTest : public CatalogFixture {
 protected:
  /// Stops and starts the node in another role.
  void restartAs(bool member) {
    replicated = member;
    restart();
  }
  bool logged(const char* ns) { return *harness->engine().isLogged(current(ns)->records().table().ident); }
  Status insertAt(const bson::Document& document, uint64_t ts, const char* ns = "test.c") {
    auto collection = current(ns);
    return write([&]() -> Status {
      TROUPE_TRY(unit->setCommitTimestamp(at(ts)));
      return collection->insert(*unit, document).status();
    });
  }
  Engine& engine() { return harness->engine(); }
};
TROUPE_ON_BOTH_ENGINES(TableLoggingTest);

TEST(TableLogging, OnlyUnreplicatedCollectionsOfAMemberAreLogged) {
  for (const char* ns : {"test.c", "config.transactions", "local.c", "test.system.profile"})
    EXPECT_TRUE(isTableLogged(Namespace::split(ns), false)) << ns;
  EXPECT_FALSE(isTableLogged(Namespace::split("test.c"), true));
  EXPECT_FALSE(isTableLogged(Namespace::split("config.transactions"), true));
  EXPECT_TRUE(isTableLogged(Namespace::split("local.oplog.rs"), true));
  EXPECT_TRUE(isTableLogged(Namespace::split("test.system.profile"), true));
}

TEST_P(TableLoggingTest, AStandalonesDirectoryKeepsItsDataAsAMemberAndBack) {
  create();
  create("local.own");
  ASSERT_TRUE(index(R"({"key": {"x": 1}, "name": "x_1"})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 1, "x": 1})"_json).isOK());
  EXPECT_TRUE(logged("test.c"));

  restartAs(true);
  EXPECT_FALSE(logged("test.c"));
  EXPECT_FALSE(*engine().isLogged(current()->indexes()[1]->ident));
  EXPECT_TRUE(logged("local.own"));
  EXPECT_TRUE(findById(1));
  ASSERT_TRUE(write([&]() -> StatusWith<CollectionPtr> {
                TROUPE_TRY(unit->setCommitTimestamp(at(5)));
                return createCollection(*catalog, *unit, {"test", "made"}, {});
              }).isOK());
  EXPECT_FALSE(logged("test.made"));
  ASSERT_TRUE(insertAt(R"({"_id": 2, "x": 2})"_json, 10).isOK());
  ASSERT_TRUE(insertAt(R"({"_id": 3, "x": 3})"_json, 20).isOK());
  ASSERT_TRUE(insert(R"({"_id": 1})"_json, "local.own").isOK());
  ASSERT_TRUE(engine().setStableTimestamp(at(15)).isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  crash();
  EXPECT_TRUE(findById(2));
  EXPECT_FALSE(findById(3)) << "neither logged nor stable";
  EXPECT_TRUE(findById(1, "local.own"));

  restartAs(false);
  EXPECT_TRUE(logged("test.c"));
  EXPECT_TRUE(logged("test.made"));
  EXPECT_TRUE(findById(1));
  EXPECT_TRUE(findById(2));
  EXPECT_EQ(keys("x_1"), 2);
  ASSERT_TRUE(insert(R"({"_id": 4, "x": 4})"_json).isOK());
  crash();  // flushes the log, takes no checkpoint
  EXPECT_TRUE(findById(4));
}

/// The oplog recovers none of these, and no checkpoint has them.
TEST_P(TableLoggingTest, AMembersLocalCollectionsSurviveACrashAndSoDoTheirDrops) {
  restartAs(true);
  create("local.vote");
  create("local.gone");
  ASSERT_TRUE(engine().checkpoint().isOK());
  create("local.late");
  ASSERT_TRUE(insert(R"({"_id": 1})"_json, "local.late").isOK());
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current("local.gone")); }).isOK());
  crash();
  EXPECT_TRUE(current("local.vote"));
  EXPECT_FALSE(current("local.gone"));
  ASSERT_TRUE(current("local.late"));
  EXPECT_TRUE(findById(1, "local.late"));
}

/// As versions before kept them.
TEST_P(TableLoggingTest, RowsOfLocalCollectionsMoveIntoTheirOwnTable) {
  create("test.c");
  CatalogEntry entry = create("local.own")->toEntry();
  ASSERT_TRUE(insert(R"({"_id": 1})"_json, "local.own").isOK());
  const Table rows = *engine().openTable(DurableCatalog::kIdent);
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_TRY(catalog->durable().remove(*unit, entry.ns, entry.catalogId));
                return (*unit->writeCursor(rows))->put(RecordKey(77), entry.toDocument().bytes());
              }).isOK());
  restart();
  EXPECT_TRUE(findById(1, "local.own"));
  EXPECT_EQ(current("local.own")->uuid(), entry.options.uuid);
  const auto cursor = std::move(unit->cursor(rows)).value();
  EXPECT_FALSE(*cursor->seek(RecordKey(77)));
  EXPECT_EQ(catalog->durable().entries(*unit)->size(), 2u);
}

TEST_P(TableLoggingTest, AnUnchangedRoleTakesNoCheckpoint) {
  create();
  restart();
  const int64_t before = engine().statistics().checkpoints;
  EXPECT_TRUE(applyTableLogging(engine(), {current()->toEntry()}, false).isOK());
  EXPECT_EQ(engine().statistics().checkpoints, before);
}

}  // namespace
}  // namespace troupe::storage
