#include "storage/catalog/index_builder.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

class IndexBuilderTest : public CatalogFixture {
 protected:
  IndexBuilderTest() {
    create();
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(insert(bson::doc("_id", i, "a", i)).isOK());
  }
  IndexBuilder builder(bool unique) {
    auto spec = bson::doc("key", bson::doc("a", 1), "name", "a", "unique", unique);
    return IndexBuilder(*catalog, Namespace("test", "c"), {*parseIndexSpec(spec)});
  }
  void replace(int id, int from, int to) {
    const auto before = bson::doc("_id", id, "a", from);
    const auto after = bson::doc("_id", id, "a", to);
    ASSERT_TRUE(write([&] { return current()->update(*unit, *findById(id), before, after); }).isOK());
  }
};

TEST_P(IndexBuilderTest, BuildsInSteps) {
  auto build = builder(false);
  ASSERT_TRUE(build.start(*unit).isOK());
  EXPECT_FALSE(*build.step(*unit, 4));
  EXPECT_EQ(build.documentsScanned(), 4);
  EXPECT_FALSE(*build.step(*unit, 4));
  EXPECT_TRUE(*build.step(*unit, 4));
  ASSERT_TRUE(build.commit(*unit).isOK());
  EXPECT_TRUE(current()->findIndex("a")->usable());
  EXPECT_EQ(keys("a"), 10);
}

TEST_P(IndexBuilderTest, TakesInWhatIsWrittenMeanwhile) {
  auto build = builder(false);
  ASSERT_TRUE(build.start(*unit).isOK());
  EXPECT_FALSE(*build.step(*unit, 4));
  replace(1, 1, 100);  // scanned already
  replace(8, 8, 108);  // still to come
  ASSERT_TRUE(insert(R"({"_id": 11, "a": 11})"_json).isOK());
  ASSERT_TRUE(write([&] { return current()->remove(*unit, *findById(9), bson::doc("_id", 9, "a", 9)); }).isOK());
  while (!*build.step(*unit, 4)) {
  }
  ASSERT_TRUE(build.commit(*unit).isOK());
  EXPECT_EQ(keys("a"), 10);
  for (int value : {100, 108, 11}) {
    KeySet set;
    const IndexAccess& access = *current()->findIndex("a")->access;
    ASSERT_TRUE(access.generator().generate(bson::doc("a", value), set).isOK());
    EXPECT_TRUE(*access.findUnique(*unit, set.keys[0].key)) << value;
  }
}

TEST_P(IndexBuilderTest, AWriteTheScanHasNotSeenMakesItsBatchConflict) {
  auto build = builder(false);
  ASSERT_TRUE(build.start(*unit).isOK());
  RecoveryUnit scanning(*pool);
  ASSERT_TRUE(scanning.begin().isOK());  // the batch's snapshot is older than the write
  replace(5, 5, 105);
  EXPECT_EQ(build.step(scanning, 100).status().code(), ErrorCode::kWriteConflict);
  EXPECT_TRUE(*build.step(*unit, 100));
  ASSERT_TRUE(build.commit(*unit).isOK());
  EXPECT_EQ(keys("a"), 10);
}

TEST_P(IndexBuilderTest, RefusesAUniqueIndexOverDuplicatesAndCleansUp) {
  ASSERT_TRUE(insert(R"({"_id": 11, "a": 3})"_json).isOK());
  unit->abandonSnapshot();
  const Status status = builder(true).buildAll(*unit);
  EXPECT_EQ(status.reason(), "E11000 duplicate key error collection: test.c index: a dup key: { a: 3 }");
  EXPECT_EQ(current()->findIndex("a"), nullptr);
}

TEST_P(IndexBuilderTest, ForgivesADuplicateThatIsGoneBeforeTheCommit) {
  ASSERT_TRUE(insert(R"({"_id": 11, "a": 3})"_json).isOK());
  auto build = builder(true);
  ASSERT_TRUE(build.start(*unit).isOK());
  while (!*build.step(*unit, 4)) {
  }
  replace(11, 3, 33);
  ASSERT_TRUE(build.commit(*unit).isOK());
  EXPECT_EQ(insert(R"({"_id": 12, "a": 33})"_json).code(), ErrorCode::kDuplicateKey);
}

TEST_P(IndexBuilderTest, AWriterIsNotRefusedForADuplicateThatTheCommitFinds) {
  auto build = builder(true);
  ASSERT_TRUE(build.start(*unit).isOK());
  EXPECT_FALSE(*build.step(*unit, 4));
  ASSERT_TRUE(insert(R"({"_id": 11, "a": 3})"_json).isOK()) << "of a document that was scanned";
  replace(8, 8, 4);  // of one that is still to come
  while (!*build.step(*unit, 4)) {
  }
  replace(9, 9, 7);  // of one that both have seen
  EXPECT_EQ(build.commit(*unit).code(), ErrorCode::kDuplicateKey);
  replace(11, 3, 33);
  replace(8, 4, 34);
  const Status status = build.commit(*unit);
  EXPECT_EQ(status.reason(), "E11000 duplicate key error collection: test.c index: a dup key: { a: 7 }");
  replace(9, 7, 35);
  ASSERT_TRUE(build.commit(*unit).isOK());
  EXPECT_EQ(keys("a"), 11);
  EXPECT_EQ(insert(R"({"_id": 12, "a": 35})"_json).code(), ErrorCode::kDuplicateKey);
}

TEST_P(IndexBuilderTest, KeepsDuplicatesOfAnIndexThatIsToBecomeUnique) {
  ASSERT_TRUE(insert(R"({"_id": 11, "a": 3})"_json).isOK());
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a", "prepareUnique": true})"_json).isOK());
  EXPECT_EQ(keys("a"), 11);
  EXPECT_EQ(insert(R"({"_id": 12, "a": 4})"_json).code(), ErrorCode::kDuplicateKey) << "a new one";
}

TEST_P(IndexBuilderTest, CopiesOfACollectionHaveNoIndexThatIsBeingBuilt) {
  create("test.d");
  create("test.e");
  const auto copy = [&](const char* to) {
    return write([&] { return copyIndexes(*catalog, *unit, *current(), current(to)); }).status();
  };
  auto build = builder(true);
  ASSERT_TRUE(build.start(*unit).isOK());
  ASSERT_TRUE(copy("test.d").isOK());
  EXPECT_EQ(current("test.d")->findIndex("a"), nullptr);
  while (!*build.step(*unit, 4)) {
  }
  ASSERT_TRUE(build.commit(*unit).isOK());
  ASSERT_TRUE(copy("test.e").isOK());
  EXPECT_TRUE(current("test.e")->findIndex("a")->ready);
}

TEST_P(IndexBuilderTest, EndsWhenTheCollectionIsDropped) {
  auto build = builder(false);
  ASSERT_TRUE(build.start(*unit).isOK());
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  EXPECT_EQ(build.step(*unit, 4).status().code(), ErrorCode::kIndexBuildAborted);
  EXPECT_TRUE(build.abort(*unit).isOK());
}

TEST_P(IndexBuilderTest, FindsArraysOfExistingDocuments) {
  ASSERT_TRUE(insert(R"({"_id": 11, "a": [1, 2]})"_json).isOK());
  unit->abandonSnapshot();
  ASSERT_TRUE(builder(false).buildAll(*unit).isOK());
  EXPECT_TRUE(current()->findIndex("a")->multikey());
  EXPECT_EQ(keys("a"), 12);
}

TROUPE_ON_BOTH_ENGINES(IndexBuilderTest);

TEST_P(IndexBuilderTest, AStepEndsAfterSoManyKeys) {
  for (int id = 10; id < 13; ++id) {
    bson::Builder b;
    b.append("_id", id).openArray("a");
    for (int i = 0; i < 6000; ++i) b.push(id * 10'000 + i);
    ASSERT_TRUE(insert(b.close().finish()).isOK());
  }
  auto build = builder(false);
  ASSERT_TRUE(build.start(*unit).isOK());
  EXPECT_FALSE(*build.step(*unit, 256));
  EXPECT_EQ(build.documentsScanned(), 12) << "ten small ones and two large ones";
  EXPECT_TRUE(*build.step(*unit, 256));
  ASSERT_TRUE(build.commit(*unit).isOK());
  EXPECT_EQ(keys("a"), 18'010);
}

TEST_P(IndexBuilderTest, AStepEndsAfterSoManyBytesOfKeys) {
  for (int id = 10; id < 20; ++id)
    ASSERT_TRUE(insert(bson::doc("_id", id, "a", std::to_string(id) + std::string(1'000'000, 'x'))).isOK());
  auto build = builder(false);
  ASSERT_TRUE(build.start(*unit).isOK());
  EXPECT_FALSE(*build.step(*unit, 256));
  EXPECT_EQ(build.documentsScanned(), 15);
  EXPECT_TRUE(*build.step(*unit, 256)) << "the other half";
}

/// Documents with a text of 2,000 bytes each, and builds on the memory of one operation.
class SuspectedKeysTest : public CatalogFixture {
 protected:
  SuspectedKeysTest() { create(); }
  static bson::Document document(int id, int value) {
    return bson::doc("_id", id, "a", std::to_string(value) + std::string(2000, 'x'));
  }
  void addTwice(int values) {
    for (int value = 0; value < values; ++value)
      for (int copy = 0; copy < 2; ++copy) ASSERT_TRUE(insert(document(2 * value + copy, value)).isOK());
  }
  std::unique_ptr<IndexBuilder> scanned(RecoveryUnit& with) {
    const auto spec = R"({"key": {"a": 1}, "name": "a", "unique": true})"_json;
    auto build = std::make_unique<IndexBuilder>(*catalog, Namespace("test", "c"), std::vector{*parseIndexSpec(spec)});
    EXPECT_TRUE(build->start(with).isOK());
    while (!*build->step(with, 100)) {
    }
    return build;
  }
  const SuspectedKeys& suspects() { return current()->findIndex("a")->state->suspects; }
  std::unique_ptr<OperationContext> operation(int64_t limit) {
    perOperation = limit;
    return std::make_unique<OperationContext>(OperationServices{.sessions = *pool, .memory = &governor});
  }

  std::atomic<int64_t> total{int64_t{1} << 30}, perOperation{0};
  MemoryGovernor governor{total, perOperation};
};

TEST_P(SuspectedKeysTest, AreRememberedOnceHoweverManyDocumentsHaveThem) {
  for (int id = 0; id < 200; ++id) ASSERT_TRUE(insert(document(id, 1)).isOK());
  const auto scanning = operation(int64_t{1} << 20);
  {
    const auto build = scanned(scanning->recoveryUnit());
    EXPECT_EQ(suspects().keys()->size(), 1u);
    EXPECT_LT(suspects().bytes(), 5000u);
    EXPECT_GE(scanning->memory().used(), 2000);
    EXPECT_EQ(build->commit(scanning->recoveryUnit()).code(), ErrorCode::kDuplicateKey);
    ASSERT_TRUE(build->abort(scanning->recoveryUnit()).isOK());
  }
  EXPECT_EQ(scanning->memory().used(), 0);
}

TEST_P(SuspectedKeysTest, WhereTheyAreTooManyTheCommitLooksAtAllKeys) {
  constexpr int kValues = 600;  // of 2,000 bytes
  addTwice(kValues);
  const auto build = scanned(*unit);
  EXPECT_FALSE(suspects().keys());
  EXPECT_EQ(suspects().bytes(), 0u);
  EXPECT_EQ(build->commit(*unit).code(), ErrorCode::kDuplicateKey);
  for (int value = 0; value < kValues; ++value) {
    const int id = 2 * value + 1;
    ASSERT_TRUE(write([&] { return current()->remove(*unit, *findById(id), document(id, value)); }).isOK());
  }
  ASSERT_TRUE(build->commit(*unit).isOK());
  EXPECT_EQ(keys("a"), kValues);
  EXPECT_EQ(insert(document(1, 0)).code(), ErrorCode::kDuplicateKey);
}

TEST_P(SuspectedKeysTest, WhereTheOperationHasNoMemoryForThemToo) {
  addTwice(10);
  const auto scanning = operation(3000);
  const auto build = scanned(scanning->recoveryUnit());
  EXPECT_FALSE(suspects().keys());
  EXPECT_EQ(scanning->memory().used(), 0);
  EXPECT_EQ(build->commit(scanning->recoveryUnit()).code(), ErrorCode::kDuplicateKey);
}

TEST_P(SuspectedKeysTest, AKillEndsTheLookAtThem) {
  addTwice(2);
  const auto scanning = operation(int64_t{1} << 20);
  const auto build = scanned(scanning->recoveryUnit());
  scanning->kill(ErrorCode::kInterrupted);
  EXPECT_EQ(build->commit(scanning->recoveryUnit()).code(), ErrorCode::kInterrupted);
}

TROUPE_ON_BOTH_ENGINES(SuspectedKeysTest);

}  // namespace
}  // namespace troupe::storage
