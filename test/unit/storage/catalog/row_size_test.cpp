// How large a row of the catalog may be: as a client makes it, and as it is read.
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

class RowSizeTest : public CatalogFixture {
 protected:
  static constexpr size_t kLimit = DurableCatalog::kMaxClientRow;
  RowSizeTest() {
    create();
    EXPECT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  }
  static bson::Document validator(size_t bytes) { return bson::doc("x", bson::doc("$ne", std::string(bytes, 'v'))); }
  CatalogEntry entryWith(size_t bytesOfText) const {
    CatalogEntry entry = current()->toEntry();
    entry.options.validator = validator(bytesOfText);
    return entry;
  }
  /// The length of the text with which the row has so many bytes.
  size_t textFor(size_t row) const { return row - entryWith(0).toDocument().view().size(); }
  Status setValidator(size_t bytesOfText) {
    CollectionChange change;
    change.validator = validator(bytesOfText);
    return this->change(change);
  }
  Status hideIndex() {
    CollectionChange change;
    change.index = "a";
    change.indexChange.hidden = true;
    return this->change(change);
  }
  Status change(const CollectionChange& change) {
    return write([&] { return modifyCollection(*catalog, *unit, current(), change); }).status();
  }
  /// A row as another node has logged it.
  void putApplied(const CatalogEntry& entry) {
    OperationContext operation({.sessions = *pool}, OperationOrigin::kApplier);
    operation.setWriteMode(WriteMode::kApplied);
    WriteUnitOfWork work(operation.recoveryUnit());
    ASSERT_TRUE(catalog->durable().put(operation.recoveryUnit(), entry).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  size_t rowSize() {
    unit->abandonSnapshot();
    return (*catalog->durable().read(*unit, current()->catalogId()))->view().size();
  }
  /// The index becomes multikey, stays so in the next life, and goes; the collection goes.
  void canBeUsedAndRemoved() {
    ASSERT_TRUE(insert(R"({"_id": 1, "a": [1, 2]})"_json).isOK());
    restart();
    EXPECT_TRUE(current()->findIndex("a")->multikey());
    EXPECT_EQ(hideIndex().code(), ErrorCode::kBSONObjectTooLarge) << "its row would grow";
    ASSERT_TRUE(write([&] { return dropIndexes(*catalog, *unit, current(), {"a"}); }).isOK());
    restart();
    EXPECT_FALSE(current()->findIndex("a"));
    ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
    restart();
    EXPECT_FALSE(current());
  }
};

TEST_P(RowSizeTest, AClientMayFillARowToTheLimit) {
  const size_t text = textFor(kLimit);
  EXPECT_EQ(setValidator(text + 1).code(), ErrorCode::kBSONObjectTooLarge);
  EXPECT_FALSE(current()->options().validator);
  ASSERT_TRUE(setValidator(text).isOK());
  EXPECT_EQ(rowSize(), kLimit);
  restart();
  EXPECT_EQ(rowSize(), kLimit);
  EXPECT_EQ(index(R"({"key": {"b": 1}, "name": "b"})"_json).code(), ErrorCode::kBSONObjectTooLarge);
  canBeUsedAndRemoved();
}

TEST_P(RowSizeTest, NamesOptionsAndSpecsCountTogether) {
  const std::string name(9 << 20, 'n');  // the row has it twice
  EXPECT_EQ(index(bson::doc("key", bson::doc("b", 1), "name", name)).code(), ErrorCode::kBSONObjectTooLarge);
  EXPECT_EQ(current()->indexes().size(), 2u);
  CollectionOptions options;
  options.validator = validator(kLimit);
  const auto made = write([&] { return createCollection(*catalog, *unit, Namespace("test", "d"), options); });
  EXPECT_EQ(made.status().code(), ErrorCode::kBSONObjectTooLarge);
  EXPECT_FALSE(current("test.d"));
  restart();
  EXPECT_TRUE(current());
}

TEST_P(RowSizeTest, WhatAnotherNodeHasLoggedIsReadHoweverLargeItIs) {
  putApplied(entryWith(kLimit + (4 << 20)));
  restart();
  ASSERT_TRUE(current());
  EXPECT_GT(rowSize(), kLimit + (4 << 20));
  EXPECT_EQ(setValidator(kLimit + (5 << 20)).code(), ErrorCode::kBSONObjectTooLarge);
  ASSERT_TRUE(setValidator(kLimit + (3 << 20)).isOK()) << "it becomes smaller";
  canBeUsedAndRemoved();
}

/// What counts is the length of rows: the engine that keeps them in memory is enough.
INSTANTIATE_TEST_SUITE_P(Engine, RowSizeTest, ::testing::Values(StorageUnderTest::kDeterministic));

}  // namespace
}  // namespace troupe::storage
