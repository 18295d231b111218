#include "storage/catalog/collection_load.hpp"

#include <atomic>
#include <thread>

#include "storage/validation/validate.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

class CollectionLoadTest : public CatalogFixture {
 protected:
  CollectionLoadTest() {
    close();
    replicated = true;
    open();
    applier->setAppliedTime(Timestamp{10, 1});
  }
  std::unique_ptr<CollectionLoad> begin(size_t maxKeyBytes = 1 << 20) {
    auto load = CollectionLoad::begin(*catalog, current()->uuid(), maxKeyBytes);
    EXPECT_TRUE(load.isOK()) << load.status().toString();
    return load.isOK() ? std::move(*load) : nullptr;
  }
  ErrorCode refusal(const CollectionPtr& collection) {
    return CollectionLoad::begin(*catalog, collection->uuid(), 1).status().code();
  }
  void end(CollectionLoad& load) {
    ASSERT_TRUE(load.finishRecords().isOK());
    for (size_t i = 0; i < load.indexes(); ++i) ASSERT_TRUE(load.finishIndex(i).isOK());
    const Status removed = load.removeReplaced(*unit);
    ASSERT_TRUE(removed.isOK()) << removed.toString();
  }
  void expectValid(int64_t documents) {
    unit->abandonSnapshot();
    EXPECT_EQ(current()->records().count(), documents);
    const auto valid = validateCollection(*catalog, *unit, current(), {.fixCount = false});
    ASSERT_TRUE(valid.isOK());
    EXPECT_TRUE(valid->valid) << (valid->errors.empty() ? "" : valid->errors.front());
    EXPECT_EQ(valid->records, documents);
    unit->abandonSnapshot();
  }
};

TEST_P(CollectionLoadTest, FillsRecordsAndIndexes) {
  create();
  IndexBuilder builder(*catalog, Namespace("test", "c"),
                       {*parseIndexSpec(R"({"key": {"a": 1}, "name": "a"})"_json),
                        *parseIndexSpec(R"({"key": {"p": -1}, "name": "p", "unique": true,
                                            "partialFilterExpression": {"q": 1}})"_json)});
  ASSERT_TRUE(builder.start(*unit).isOK());
  const auto load = begin();
  ASSERT_TRUE(load);
  for (int i = 0; i < 300; ++i) {
    const bson::Document each = bson::doc("_id", 1000 - i, "a", std::vector<int>{i % 7, -i - 1}, "p", i, "q", i % 2);
    ASSERT_TRUE(load->add(each).isOK());
  }
  EXPECT_FALSE(load->isFull());
  EXPECT_EQ(load->add(bson::doc("a", 1)), ErrorCode::kInvalidIdField);
  end(*load);
  builder.takeUp(current()->uuid());
  ASSERT_TRUE(builder.commit(*unit).isOK());
  EXPECT_TRUE(current()->findIndex("a")->multikey());
  EXPECT_EQ(keys("a"), 600);
  EXPECT_EQ(keys("p"), 150);
  expectValid(300);
  ASSERT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK()) << "behind the last record";
  expectValid(301);
}

TEST_P(CollectionLoadTest, SeveralThreadsWriteItsIndexes) {
  if (GetParam() != StorageUnderTest::kWiredTiger) GTEST_SKIP() << "an engine for one thread";
  create();
  std::vector<IndexSpec> specs;
  for (const char* field : {"a", "b", "c", "d", "e"})
    specs.push_back(*parseIndexSpec(bson::doc("key", bson::doc(field, 1), "name", field)));
  IndexBuilder builder(*catalog, Namespace("test", "c"), std::move(specs));
  ASSERT_TRUE(builder.start(*unit).isOK());
  const auto load = begin(1 << 24);
  ASSERT_TRUE(load);
  for (int i = 0; i < 2000; ++i)
    ASSERT_TRUE(load->add(bson::doc("_id", i % 1500, "a", -i, "b", i % 3, "c", i % 7, "d", "x", "e", i)).isOK());
  ASSERT_TRUE(load->finishRecords().isOK());
  ASSERT_EQ(load->indexes(), 6U);
  std::vector<std::thread> threads;
  std::atomic<int> written = 0;
  for (size_t i = 0; i < load->indexes(); ++i)
    threads.emplace_back([&, i] { written += load->finishIndex(i).isOK() ? 1 : 0; });
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(written, 6);
  ASSERT_TRUE(load->removeReplaced(*unit).isOK());
  builder.takeUp(current()->uuid());
  ASSERT_TRUE(builder.commit(*unit).isOK());
  for (const char* field : {"a", "b", "c", "d", "e"}) EXPECT_EQ(keys(field), 1500) << field;
  expectValid(1500);
}

/// Removed and inserted again while it was read.
TEST_P(CollectionLoadTest, OfDocumentsWithOneIdTheLastCounts) {
  create();
  IndexBuilder builder(*catalog, Namespace("test", "c"), {*parseIndexSpec(R"({"key": {"a": 1}, "name": "a"})"_json)});
  ASSERT_TRUE(builder.start(*unit).isOK());
  const auto load = begin();
  ASSERT_TRUE(load);
  for (const auto& [id, a] : {std::pair{1, 10}, {2, 20}, {3, 30}, {1, 11}, {2, 21}, {2, 22}})
    ASSERT_TRUE(load->add(bson::doc("_id", id, "a", a)).isOK());
  end(*load);
  builder.takeUp(current()->uuid());
  ASSERT_TRUE(builder.commit(*unit).isOK());
  expectValid(3);
  unit->abandonSnapshot();
  for (const auto& [id, a] : {std::pair{1, 11}, {2, 22}, {3, 30}}) {
    const auto record = findById(id);
    ASSERT_TRUE(record);
    int64_t found = 0;
    ASSERT_TRUE(*current()->records().find(*unit, *record, [&](bson::View each) { found = each["a"].toInt64(); }));
    EXPECT_EQ(found, a);
  }
}

TEST_P(CollectionLoadTest, IsFullWhenItsKeysAre) {
  create();
  const auto load = begin(500);
  ASSERT_TRUE(load);
  int documents = 0;
  while (!load->isFull()) ASSERT_TRUE(load->add(bson::doc("_id", documents++)).isOK());
  EXPECT_GT(documents, 5);
  EXPECT_LT(documents, 40);
  end(*load);
  ASSERT_TRUE(insert(bson::doc("_id", documents)).isOK());
  expectValid(documents + 1);
}

TEST_P(CollectionLoadTest, OthersAreWrittenToInUnits) {
  EXPECT_EQ(refusal(create("test.capped", R"({"capped": true, "size": 4096})"_json)), ErrorCode::kIllegalOperation);
  EXPECT_EQ(refusal(create("test.clustered", R"({"clusteredIndex": {"key": {"_id": 1}, "unique": true}})"_json)),
            ErrorCode::kIllegalOperation);
  create();
  ASSERT_TRUE(insert(bson::doc("_id", 1)).isOK());
  unit->abandonSnapshot();
  const ErrorCode used = refusal(current());  // its rows, or the cursors that wrote them
  EXPECT_TRUE(used == ErrorCode::kIllegalOperation || used == ErrorCode::kObjectIsBusy);
  const CollectionPtr fresh = create("test.fresh");
  harness->engine().setInitialDataTimestamp({20, 1});
  EXPECT_EQ(refusal(fresh), ErrorCode::kIllegalOperation) << "the data of this node have a time";
}

TEST_P(CollectionLoadTest, OneThatIsNotFinishedCanBeDropped) {
  const CollectionPtr collection = create();
  {
    const auto load = begin();
    ASSERT_TRUE(load && load->add(bson::doc("_id", 1)).isOK());
  }
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, collection); }).isOK());
  create();
  const auto load = begin();
  ASSERT_TRUE(load && load->add(bson::doc("_id", 2)).isOK());
  end(*load);
  expectValid(1);
}

TROUPE_ON_BOTH_ENGINES(CollectionLoadTest);

}  // namespace
}  // namespace troupe::storage
