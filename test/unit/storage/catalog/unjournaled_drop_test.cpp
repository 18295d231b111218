// Without a journal the removal of a collection's row is on the disk only after a checkpoint: its tables wait for it.
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

class UnjournaledDropTest : public CatalogFixture {
 protected:
  UnjournaledDropTest() {
    close();
    journaled = false;
    harness = std::make_unique<WiredTigerHarness>(std::make_unique<TemporaryDirectory>(), false);
    open();
    create();
    EXPECT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK());
    EXPECT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
    checkpoint();
  }
  ~UnjournaledDropTest() override { close(); }
  void checkpoint() {
    unit->releaseSession();
    ASSERT_TRUE(catalog->checkpoint({}).isOK());
  }
  void reap() {
    unit->releaseSession();
    for (int i = 0; i < 5; ++i) catalog->onTimes({}, {});
  }
  /// What has not been checkpointed is lost.
  void kill() {
    close();
    harness->crash();
    open();
  }
  bool isThere(const std::string& ident) const {
    const auto tables = harness->engine().listTables();
    return std::ranges::find(tables, ident) != tables.end();
  }
};

TEST_P(UnjournaledDropTest, ATableGoesWhenACheckpointHoldsItsDrop) {
  const std::string ident = current()->ident();
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  reap();
  EXPECT_TRUE(isThere(ident));
  kill();
  ASSERT_TRUE(current()) << "the disk knows nothing of the drop";
  EXPECT_TRUE(findById(1));

  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  checkpoint();
  reap();
  EXPECT_FALSE(isThere(ident));
  EXPECT_EQ(catalog->reaper().size(), 0u);
  kill();
  EXPECT_FALSE(current());
}

TEST_P(UnjournaledDropTest, SoDoesThatOfAnIndex) {
  const std::string ident = current()->findIndex("a")->ident;
  ASSERT_TRUE(write([&] { return dropIndexes(*catalog, *unit, current(), {"a"}); }).isOK());
  reap();
  EXPECT_TRUE(isThere(ident));
  checkpoint();
  reap();
  EXPECT_FALSE(isThere(ident));
}

INSTANTIATE_TEST_SUITE_P(Engine, UnjournaledDropTest, ::testing::Values(StorageUnderTest::kWiredTiger));

}  // namespace
}  // namespace troupe::storage
