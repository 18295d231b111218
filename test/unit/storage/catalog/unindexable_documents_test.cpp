// Documents that an index cannot hold: parallel arrays, an array under a hashed field, an ambiguous numeric path.
#include "storage/catalog/collection_load.hpp"
#include "storage/validation/validate.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"
#include "test/unit/storage/catalog/unindexable.hpp"

namespace troupe::storage {
namespace {

class UnindexableDocumentsTest : public CatalogFixture {
 protected:
  std::vector<IndexSpec> specsOf(const UnindexableKind& kind) {
    auto specs = newIndexes(*catalog, *current(), {kind.spec.view()});
    EXPECT_TRUE(specs.isOK()) << specs.status().toString();
    unit->abandonSnapshot();
    return *specs;
  }
  Status update(int id, const bson::Document& before, const bson::Document& after) {
    return write([&] { return current()->update(*unit, *findById(id), before, after); });
  }
  Status remove(int id, const bson::Document& document) {
    return write([&] { return current()->remove(*unit, *findById(id), document); });
  }
  void expectValid(int64_t documents) {
    unit->abandonSnapshot();
    const auto valid = validateCollection(*catalog, *unit, current(), {.fixCount = false});
    ASSERT_TRUE(valid.isOK());
    EXPECT_TRUE(valid->valid) << (valid->errors.empty() ? "" : valid->errors.front());
    EXPECT_EQ(valid->records, documents);
    unit->abandonSnapshot();
  }
  /// An empty collection.
  void createAnew() {
    if (const CollectionPtr old = current()) {
      ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, old); }).isOK());
    }
    create();
  }
};

TEST_P(UnindexableDocumentsTest, AreMendedAndRemovedWhileTheIndexIsBuilt) {
  for (const UnindexableKind& kind : unindexableKinds()) {
    createAnew();
    for (const int id : {1, 2}) ASSERT_TRUE(insert(kind.bad(id)).isOK()) << "there is no index yet";
    ASSERT_TRUE(insert(kind.good(3)).isOK());
    IndexBuilder builder(*catalog, current()->ns(), specsOf(kind));
    ASSERT_TRUE(builder.start(*unit).isOK());
    EXPECT_EQ(insert(kind.bad(4)).code(), kind.code) << "no others come";
    EXPECT_EQ(update(3, kind.good(3), kind.bad(3)).code(), kind.code);
    EXPECT_EQ(update(2, kind.bad(2), kind.bad(2, 7)).code(), kind.code);
    const Status mended = update(2, kind.bad(2), kind.good(2));
    EXPECT_TRUE(mended.isOK()) << mended.toString();
    const Status removed = remove(1, kind.bad(1));
    EXPECT_TRUE(removed.isOK()) << removed.toString();
    const Status built = builder.finish(*unit);
    EXPECT_TRUE(built.isOK()) << built.toString();
    EXPECT_EQ(keys("x"), 2);
    expectValid(2);
  }
}

TEST_P(UnindexableDocumentsTest, EndTheBuildIfTheyStay) {
  for (const UnindexableKind& kind : unindexableKinds()) {
    createAnew();
    ASSERT_TRUE(insert(kind.bad(1)).isOK());
    EXPECT_EQ(index(kind.spec).code(), kind.code);
    EXPECT_EQ(current()->findIndex("x"), nullptr);
  }
}

TEST_P(UnindexableDocumentsTest, LeaveACappedCollectionWhileTheIndexIsBuilt) {
  const UnindexableKind& kind = unindexableKinds().front();
  create("test.c", R"({"capped": true, "size": 4096, "max": 2})"_json);
  ASSERT_TRUE(insert(kind.bad(1)).isOK());
  ASSERT_TRUE(insert(kind.good(2)).isOK());
  IndexBuilder builder(*catalog, current()->ns(), specsOf(kind));
  ASSERT_TRUE(builder.start(*unit).isOK());
  const Status added = insert(kind.good(3));
  EXPECT_TRUE(added.isOK()) << added.toString();
  EXPECT_TRUE(builder.finish(*unit).isOK());
  expectValid(2);
}

/// As the applier and the copy of an initial sync write.
class AppliedUnindexableTest : public UnindexableDocumentsTest {
 protected:
  AppliedUnindexableTest() {
    close();
    replicated = true;
    open();
    applier->setAppliedTime(Timestamp{10, 1});
  }
};

TEST_P(AppliedUnindexableTest, HaveNoKeysWhereAnotherNodeWroteThem) {
  for (const UnindexableKind& kind : unindexableKinds()) {
    createAnew();
    ASSERT_TRUE(insert(kind.bad(1)).isOK());
    const Status built = index(kind.spec);
    ASSERT_TRUE(built.isOK()) << built.toString();
    EXPECT_EQ(keys("x"), 0);
    applier->setReplaying(false);
    EXPECT_EQ(insert(kind.bad(2)).code(), kind.code) << "a finished index is that of the log";
    applier->setReplaying(true);
    ASSERT_TRUE(insert(kind.bad(2)).isOK());
    ASSERT_TRUE(insert(kind.good(3)).isOK());
    ASSERT_TRUE(update(3, kind.good(3), kind.bad(3)).isOK());
    EXPECT_EQ(keys("x"), 0) << "that of the document before is gone";
    ASSERT_TRUE(update(1, kind.bad(1), kind.good(1)).isOK());
    ASSERT_TRUE(update(3, kind.bad(3), kind.good(3)).isOK());
    ASSERT_TRUE(remove(2, kind.bad(2)).isOK());
    EXPECT_EQ(keys("x"), 2);
    expectValid(2);
  }
}

TEST_P(AppliedUnindexableTest, HaveNoKeysInACollectionThatIsFilled) {
  for (const UnindexableKind& kind : unindexableKinds()) {
    createAnew();
    IndexBuilder builder(*catalog, current()->ns(), specsOf(kind));
    ASSERT_TRUE(builder.start(*unit).isOK());
    {
      const auto load = CollectionLoad::begin(*catalog, current()->uuid(), 1 << 20);
      ASSERT_TRUE(load.isOK()) << load.status().toString();
      ASSERT_TRUE((*load)->add(kind.good(1)).isOK());
      const Status added = (*load)->add(kind.bad(2));
      ASSERT_TRUE(added.isOK()) << added.toString();
      ASSERT_TRUE((*load)->finishRecords().isOK());
      for (size_t i = 0; i < (*load)->indexes(); ++i) ASSERT_TRUE((*load)->finishIndex(i).isOK());
      ASSERT_TRUE((*load)->removeReplaced(*unit).isOK());
    }
    builder.takeUp(current()->uuid());
    ASSERT_TRUE(builder.commit(*unit).isOK());
    EXPECT_EQ(keys("x"), 1);
    ASSERT_TRUE(update(2, kind.bad(2), kind.good(2)).isOK());
    expectValid(2);
  }
}

TROUPE_ON_BOTH_ENGINES(UnindexableDocumentsTest);
TROUPE_ON_BOTH_ENGINES(AppliedUnindexableTest);

}  // namespace
}  // namespace troupe::storage
