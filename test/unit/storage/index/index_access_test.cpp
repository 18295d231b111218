#include "storage/index/index_access.hpp"

#include "storage/keys/key_string.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class IndexAccessTest : public CatalogFixture {
 protected:
  IndexAccessTest() { create(); }
  /// The `a` of each row between two bounds on the first field.
  std::vector<int64_t> range(const char* name, IndexBound start, IndexBound end, bool forward = true) {
    unit->abandonSnapshot();
    std::vector<int64_t> values;
    const IndexEntry* index = current()->findIndex(name);
    auto cursor = index->access->cursor(*unit, forward);
    cursor->setEnd(std::move(end));
    for (auto found = cursor->seek(start); found.isOK() && *found; found = cursor->next())
      values.push_back(
          key_string::decodeWithNames(cursor->key(), cursor->typeBits(), index->spec.key)->view().first().toInt64());
    return values;
  }
  /// A bound on the first field alone: the component without end byte.
  static std::string prefix(int value) {
    key_string::Builder key;
    const bson::Value v(value);
    key.append(v.element());
    std::string bytes(key.bytes());
    bytes.pop_back();
    return bytes;
  }
};

TEST_P(IndexAccessTest, RefusesASecondRecordWithTheSameIdInTheServersWords) {
  ASSERT_TRUE(insert(R"({"_id": 1})"_json).isOK());
  const Status status = insert(R"({"_id": 1, "x": 2})"_json);
  EXPECT_EQ(status.code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(status.reason(), "E11000 duplicate key error collection: test.c index: _id_ dup key: { _id: 1 }");
  ASSERT_NE(status.extra(), nullptr);
  EXPECT_EQ(*status.extra(), bson::doc("keyPattern", bson::doc("_id", 1), "keyValue", bson::doc("_id", 1)));
  EXPECT_EQ(current()->records().count(), 1);
}

TEST_P(IndexAccessTest, RefusesDuplicatesInUniqueSecondaryIndexes) {
  ASSERT_TRUE(index(R"({"key": {"a": 1, "b": 1}, "name": "ab", "unique": true})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 1, "a": "x", "b": 1})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 2, "a": "x", "b": 2})"_json).isOK());
  const Status status = insert(R"({"_id": 3, "a": "x", "b": 2.0})"_json);
  EXPECT_EQ(status.reason(), "E11000 duplicate key error collection: test.c index: ab dup key: { a: \"x\", b: 2.0 }");
  EXPECT_EQ(keys("ab"), 2);
}

TEST_P(IndexAccessTest, LetsTwoTransactionsWithTheSameUniqueKeyMeet) {
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a", "unique": true})"_json).isOK());
  RecoveryUnit other(*pool);
  WriteUnitOfWork mine(*unit), theirs(other);
  ASSERT_TRUE(current()->insert(*unit, R"({"_id": 1, "a": 1})"_json).isOK());
  EXPECT_EQ(current()->insert(other, R"({"_id": 2, "a": 1})"_json).status().code(), ErrorCode::kWriteConflict);
  EXPECT_TRUE(mine.commit().isOK());
}

TEST_P(IndexAccessTest, WalksRangesByPrefixInBothDirections) {
  ASSERT_TRUE(index(R"({"key": {"a": 1, "b": -1}, "name": "ab"})"_json).isOK());
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(insert(bson::doc("_id", i, "a", i / 2, "b", i)).isOK());
  EXPECT_THAT(range("ab", {prefix(1), true}, {prefix(2), true}), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(range("ab", {prefix(1), false}, {prefix(3), false}), ElementsAre(2, 2));
  EXPECT_THAT(range("ab", {prefix(2), true}, {prefix(1), true}, false), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(range("ab", {prefix(2), false}, {prefix(0), false}, false), ElementsAre(1, 1));
  EXPECT_THAT(range("ab", {}, {prefix(0), true}), ElementsAre(0, 0));
  EXPECT_THAT(range("ab", {prefix(9), true}, {}), IsEmpty());
  EXPECT_THAT(range("ab", {}, {}, false), ElementsAre(3, 3, 2, 2, 1, 1, 0, 0));
  EXPECT_THAT(range("_id_", {prefix(2), false}, {prefix(4), true}), ElementsAre(3, 4));
}

TEST_P(IndexAccessTest, KeepsItsPlaceOverAYield) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(insert(bson::doc("_id", i)).isOK());
  unit->abandonSnapshot();
  auto cursor = current()->idIndex()->access->cursor(*unit);
  ASSERT_TRUE(*cursor->next());
  ASSERT_TRUE(*cursor->next());
  const RecordId second = cursor->id();
  cursor->save();
  unit->abandonSnapshot();
  ASSERT_TRUE(*cursor->restore(*unit));
  cursor->save();
  unit->abandonSnapshot();
  ASSERT_TRUE(write([&] { return current()->remove(*unit, second, bson::doc("_id", 1)); }).isOK());
  EXPECT_FALSE(*cursor->restore(*unit));
  cursor->save();  // before the pending row was shown
  unit->abandonSnapshot();
  EXPECT_FALSE(*cursor->restore(*unit));
  ASSERT_TRUE(*cursor->next());
  EXPECT_EQ(*findById(2), cursor->id());
}

TEST_P(IndexAccessTest, UpdatesOnlyTheKeysThatDiffer) {
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a", "unique": true})"_json).isOK());
  const auto before = R"({"_id": 1, "a": [1, 2, 3]})"_json;
  const auto after = R"({"_id": 1, "a": [2.0, 3, 4]})"_json;
  ASSERT_TRUE(insert(before).isOK());
  const RecordId id = *findById(1);
  ASSERT_TRUE(write([&] { return current()->update(*unit, id, before, after); }).isOK());
  EXPECT_THAT(range("a", {}, {}), ElementsAre(2, 3, 4));
  ASSERT_TRUE(write([&] { return current()->remove(*unit, id, after); }).isOK());
  EXPECT_EQ(keys("a"), 0);
  EXPECT_EQ(keys("_id_"), 0);
}

TEST_P(IndexAccessTest, ShowsCollationKeysOfDuplicates) {
  create("test.d", R"({"collation": {"locale": "en", "strength": 2}})"_json);
  ASSERT_TRUE(insert(R"({"_id": "A"})"_json, "test.d").isOK());
  const Status status = insert(R"({"_id": "a"})"_json, "test.d");
  EXPECT_EQ(status.code(), ErrorCode::kDuplicateKey);
  EXPECT_THAT(status.reason(), ::testing::HasSubstr("index: _id_ collation: { locale: \"en\""));
  EXPECT_THAT(status.reason(), ::testing::HasSubstr("dup key: { _id: \"CollationKey(0x"));
}

TROUPE_ON_BOTH_ENGINES(IndexAccessTest);

}  // namespace
}  // namespace troupe::storage
