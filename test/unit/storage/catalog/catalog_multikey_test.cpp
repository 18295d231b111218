// A multikey change between any two steps of a schema change (CAT-020).
#include <map>

#include "test/unit/storage/catalog/catalog_fixture.hpp"
#include "test/unit/storage/catalog/interleaving.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;

class CatalogMultikeyTest : public CatalogFixture {
 protected:
  using Change = std::function<Status()>;
  static constexpr const char* kNames[] = {"test.c", "test.e"};

  /// An index over two fields. The row knows an array in the second; the write to come brings one in the first.
  void SetUp() override {
    create("test.c");
    ASSERT_TRUE(index(R"({"key": {"a": 1, "b.c": 1}, "name": "x"})"_json).isOK());
    ASSERT_TRUE(insert(R"({"_id": 1, "a": 1, "b": [{"c": 1}]})"_json).isOK());
    unit->releaseSession();
  }

  /// The collection, whose name the change may have replaced.
  CollectionPtr found() const {
    const CollectionPtr before = current(kNames[0]);
    return before ? before : current(kNames[1]);
  }

  Status modify(const CollectionChange& change) { return modifyCollection(*catalog, *unit, found(), change).status(); }
  std::map<std::string, Change> changes() {
    CollectionChange validator, hide;
    validator.validator = R"({"_id": {"$exists": true}})"_json;
    hide.index = "x";
    hide.indexChange.hidden = true;
    return {{"collMod", [=, this] { return modify(validator); }},
            {"hide", [=, this] { return modify(hide); }},
            {"rename",
             [this] { return renameCollection(*catalog, *unit, found(), Namespace("test", "e"), false).status(); }}};
  }

  /// Both write the same row of the catalog: the one that comes later meets a conflict, and tries again when the other
  /// had a turn.
  static void untilDone(Interleaving& interleaving, const Change& attempt) {
    for (int attempts = 0; attempts < 100; ++attempts) {
      const Status status = attempt();
      if (status.isOK()) return;
      ASSERT_EQ(status.code(), ErrorCode::kWriteConflict) << status.toString();
      interleaving.stepDone();
    }
    FAIL() << "conflicts without end";
  }

  void runInOrder(const std::string& order, const Change& change) {
    Interleaving interleaving(order);
    catalog->observeSteps([&](CatalogStep) { interleaving.stepDone(); });
    RecoveryUnit inserter(*pool);
    const auto insertOnce = [&]() -> Status {
      WriteUnitOfWork work(inserter);
      const CollectionPtr collection = found();
      interleaving.stepDone();
      TROUPE_TRY(collection->insert(inserter, R"({"_id": 2, "a": [1, 2], "b": {"c": 2}})"_json).status());
      interleaving.stepDone();
      return work.commit();
    };
    const auto changeOnce = [&]() -> Status {
      WriteUnitOfWork work(*unit);
      TROUPE_TRY(change());
      interleaving.stepDone();
      return work.commit();
    };
    interleaving.run([&] { untilDone(interleaving, insertOnce); }, [&] { untilDone(interleaving, changeOnce); });
    catalog->observeSteps(nullptr);
    inserter.releaseSession();
  }

  /// The published version and its row say the same, and that both fields held arrays.
  void expectPublishedFitsRow() {
    unit->abandonSnapshot();
    const auto rows = catalog->durable().entries(*unit);
    ASSERT_TRUE(rows.isOK() && rows->size() == 1);
    const CollectionPtr published = found();
    ASSERT_EQ(published->ns().toString(), rows->front().ns.toString());
    for (const IndexMetadata& row : rows->front().indexes) {
      const std::string name(row.spec["name"].asString());
      const auto index = published->findIndex(name);
      ASSERT_TRUE(index) << name;
      EXPECT_EQ(index->multikey(), row.multikey) << name;
      EXPECT_EQ(bson::toRelaxedJson(index->spec.stored), bson::toRelaxedJson(row.spec));
      MultikeyPaths paths = row.paths;
      paths.resize(index->spec.fields.size());
      EXPECT_EQ(index->state->paths(paths.size()), paths) << name;
    }
    EXPECT_TRUE(published->findIndex("x")->multikey());
    EXPECT_THAT(published->findIndex("x")->state->paths(2), ElementsAre(0b1, 0b1));
    EXPECT_EQ(keys("x", published->ns().toString().c_str()), 3);
    unit->releaseSession();
  }
};

TEST_P(CatalogMultikeyTest, PublishedVersionAndRowAgreeWhereverAnArrayComesBesideASchemaChange) {
  // Insert: look up, insert, commit. Schema change: write the row, mark, commit, publish.
  const auto orders = Interleaving::orders(3, 5);
  // All of them on the engine that costs nothing; on WiredTiger, whose tables are files, every fourth.
  const size_t stride = GetParam() == StorageUnderTest::kWiredTiger ? 4 : 1;
  for (size_t i = 0; i < orders.size(); i += stride) {
    for (const auto& [name, change] : changes()) {
      SCOPED_TRACE(name + " in the order " + orders[i]);
      runInOrder(orders[i], change);
      if (HasFailure()) return;
      expectPublishedFitsRow();
      if (HasFailure()) return;
      ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, found()); }).isOK());
      SetUp();
    }
  }
}

TROUPE_ON_BOTH_ENGINES(CatalogMultikeyTest);

}  // namespace
}  // namespace troupe::storage
