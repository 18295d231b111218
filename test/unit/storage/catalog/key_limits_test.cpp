#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

/// Documents with more keys than an index takes from one.
class CollectionKeyLimitsTest : public CatalogFixture {
 protected:
  CollectionKeyLimitsTest() { create(); }

  static bson::Document wide(int id, int elements) {
    bson::Builder b;
    b.append("_id", id).openArray("a");
    for (int i = 0; i < elements; ++i) b.push(i);
    return b.close().finish();
  }
  /// As an applier writes, whom no limit may stop: and as all wrote before there was one.
  template <class Body>
  Status applied(Body&& body) {
    unit->abandonSnapshot();
    OperationContext operation({.sessions = *pool}, OperationOrigin::kApplier);
    operation.setWriteMode(WriteMode::kApplied);
    unit->setOperation(&operation);
    const Status status = write(body);
    unit->abandonSnapshot();
    unit->setOperation(nullptr);
    return status;
  }
};

constexpr int kTooMany = 100'001;

TEST_P(CollectionKeyLimitsTest, RefusesInsertsAndUpdates) {
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  EXPECT_EQ(insert(wide(1, kTooMany)).code(), ErrorCode::kCannotBuildIndexKeys);
  EXPECT_FALSE(findById(1));
  const auto before = wide(2, 1);
  ASSERT_TRUE(insert(before).isOK());
  const auto update = [&] { return current()->update(*unit, *findById(2), before, wide(2, kTooMany)); };
  EXPECT_EQ(write(update).code(), ErrorCode::kCannotBuildIndexKeys);
  EXPECT_EQ(keys("a"), 1);
}

TEST_P(CollectionKeyLimitsTest, RefusesAnIndexOverSuchADocument) {
  ASSERT_TRUE(insert(wide(1, kTooMany)).isOK()) << "no index, no keys";
  EXPECT_EQ(index(R"({"key": {"a": 1}, "name": "a"})"_json).code(), ErrorCode::kCannotBuildIndexKeys);
  EXPECT_EQ(current()->findIndex("a"), nullptr);
}

TEST_P(CollectionKeyLimitsTest, NeitherStopsAppliersNorTheRemovalOfWhatThereIs) {
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  for (const int id : {1, 2})
    ASSERT_TRUE(applied([&] { return current()->insert(*unit, wide(id, kTooMany)).status(); }).isOK());
  EXPECT_EQ(keys("a"), 2 * kTooMany);
  ASSERT_TRUE(write([&] { return current()->update(*unit, *findById(1), wide(1, kTooMany), wide(1, 5)); }).isOK());
  ASSERT_TRUE(write([&] { return current()->remove(*unit, *findById(2), wide(2, kTooMany)); }).isOK());
  EXPECT_EQ(keys("a"), 5);
}

TROUPE_ON_BOTH_ENGINES(CollectionKeyLimitsTest);

}  // namespace
}  // namespace troupe::storage
