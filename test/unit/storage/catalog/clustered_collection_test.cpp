// CLU-002, CLU-004, CLU-005: the records of a clustered collection are keyed by their `_id`.
#include "storage/catalog/catalog_publish.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/validation/validate.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClusteredCollectionTest : public CatalogFixture {
 protected:
  static bson::Document clustered() { return R"({"clusteredIndex": {"key": {"_id": 1}, "unique": true}})"_json; }
  ClusteredCollectionTest() {
    create("test.c", clustered());
    EXPECT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  }
  static std::string keyOf(const bson::Document& document) {
    key_string::Builder key;
    key.append(document["_id"]);
    return std::string(key.bytes());
  }
  /// The rows of a table as the engine has them.
  std::vector<std::pair<std::string, std::string>> rows(const Table& table) {
    unit->abandonSnapshot();
    std::vector<std::pair<std::string, std::string>> all;
    auto cursor = unit->cursor(table);
    while (*(*cursor)->next()) all.emplace_back((*cursor)->key(), (*cursor)->value());
    return all;
  }
  ValidateResult validate(ValidateSettings settings = {}) {
    unit->abandonSnapshot();
    auto result = validateCollection(*catalog, *unit, current(), settings);
    EXPECT_TRUE(result.isOK()) << result.status().toString();
    return std::move(*result);
  }
  std::vector<std::string> texts(const ValidateResult& result) { return result.errors; }
};
TROUPE_ON_BOTH_ENGINES(ClusteredCollectionTest);

TEST_P(ClusteredCollectionTest, KeysRecordsByTheKeyStringOfTheirIdAndHasNoIdIndex) {
  const std::vector<bson::Document> documents{R"({"_id": "b"})"_json,
                                              R"({"_id": 7})"_json,
                                              R"({"_id": {"x": 1}})"_json,
                                              R"({"_id": -2.5})"_json,
                                              R"({"_id": {"$oid": "0123456789abcdef01234567"}})"_json,
                                              R"({"_id": "a"})"_json};
  for (const auto& document : documents) ASSERT_TRUE(insert(document).isOK());
  EXPECT_EQ(current()->idIndex(), nullptr);
  ASSERT_NE(current()->clusterKey(), nullptr);
  std::map<std::string, std::string> expected;
  for (const auto& document : documents) expected.emplace(keyOf(document), document.bytes());
  const auto found = rows(current()->records().table());
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::string>>(expected.begin(), expected.end())));
  EXPECT_EQ(bson::View(found.front().second.data())["_id"].toDouble(), -2.5) << "in the order of _id";
}

TEST_P(ClusteredCollectionTest, RefusesASecondDocumentOfAnIdAsAnIndexWould) {
  ASSERT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK());
  for (const auto& again : {R"({"_id": 1})"_json, R"({"_id": 1.0})"_json, R"({"_id": {"$numberLong": "1"}})"_json}) {
    const Status status = insert(again);
    EXPECT_EQ(status.code(), ErrorCode::kDuplicateKey);
    EXPECT_THAT(status.reason(),
                HasSubstr("E11000 duplicate key error collection: test.c index: _id_ dup key: { _id:"));
    ASSERT_NE(status.extra(), nullptr);
    EXPECT_EQ((*status.extra())["keyPattern"].asDocument(), R"({"_id": 1})"_json.view());
  }
  EXPECT_EQ(current()->records().count(), 1);
  EXPECT_EQ(keys("a"), 1);
}

TEST_P(ClusteredCollectionTest, TwoTransactionsWithOneIdConflict) {
  auto other = std::make_unique<RecoveryUnit>(*pool);
  WriteUnitOfWork mine(*unit);
  ASSERT_TRUE(current()->insert(*unit, R"({"_id": 1})"_json).isOK());
  {
    WriteUnitOfWork theirs(*other);
    EXPECT_EQ(current()->insert(*other, R"({"_id": 1})"_json).status().code(), ErrorCode::kWriteConflict);
  }
  EXPECT_TRUE(mine.commit().isOK());
}

TEST_P(ClusteredCollectionTest, FindsUpdatesAndRemovesByIdThroughARestart) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(insert(bson::doc("_id", i, "a", i)).isOK());
  restart();
  ASSERT_NE(current()->clusterKey(), nullptr);
  const auto record = findById(3);
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, RecordId(keyOf(bson::doc("_id", 3))));
  EXPECT_FALSE(findById(10));
  const auto before = bson::doc("_id", 3, "a", 3), after = bson::doc("_id", 3, "a", 33);
  ASSERT_TRUE(write([&] { return current()->update(*unit, *record, before, after); }).isOK());
  ASSERT_TRUE(write([&] { return current()->remove(*unit, *findById(4), bson::doc("_id", 4, "a", 4)); }).isOK());
  EXPECT_FALSE(findById(4));
  EXPECT_EQ(current()->records().count(), 9);
  EXPECT_EQ(keys("a"), 9);
  EXPECT_TRUE(validate({.full = true}).valid);
  const Status moved = write([&] { return current()->update(*unit, *record, after, bson::doc("_id", 5)); });
  EXPECT_EQ(moved.code(), ErrorCode::kImmutableField);
}

TEST_P(ClusteredCollectionTest, IdsOfAnyLengthWorkWithSecondaryIndexes) {
  for (const size_t size : {1, 100, 120, 130, 20'000, 1'000'000}) {
    const auto document = bson::doc("_id", std::string(size, 'x'), "a", static_cast<int64_t>(size));
    ASSERT_TRUE(insert(document).isOK()) << size;
    unit->abandonSnapshot();
    auto entries = current()->findIndex("a")->access->cursor(*unit);
    key_string::Builder bound;
    const bson::Value value(static_cast<int64_t>(size));
    bound.append(value.element());
    ASSERT_TRUE(*entries->seek(bound.bytes(), true)) << size;
    EXPECT_EQ(entries->id(), RecordId(keyOf(document))) << size;
    int64_t found = 0;
    ASSERT_TRUE(*current()->find(*unit, entries->id(), [&](bson::View record) { found = record["a"].toInt64(); }));
    EXPECT_EQ(found, static_cast<int64_t>(size));
  }
  EXPECT_TRUE(validate().valid);
  // The entry itself: key, id, and the length of the id, read from the right.
  const auto row = rows(current()->findIndex("a")->access->table())[2].first;
  EXPECT_EQ(row.substr(row.size() - 1),
            std::string(1, static_cast<char>(keyOf(bson::doc("_id", std::string(120, 'x'))).size())));
  const auto longer = rows(current()->findIndex("a")->access->table())[3].first;
  const size_t idSize = keyOf(bson::doc("_id", std::string(130, 'x'))).size();
  EXPECT_EQ(longer.substr(longer.size() - 2),
            std::string({static_cast<char>(idSize >> 7), static_cast<char>((idSize & 0x7F) | 0x80)}));
}

TEST_P(ClusteredCollectionTest, UniqueSecondaryIndexesHold) {
  ASSERT_TRUE(index(R"({"key": {"u": 1}, "name": "u", "unique": true})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": "one", "u": 1})"_json).isOK());
  EXPECT_EQ(insert(R"({"_id": "two", "u": 1})"_json).code(), ErrorCode::kDuplicateKey);
  ASSERT_TRUE(insert(R"({"_id": "two", "u": 2})"_json).isOK());
  const auto before = R"({"_id": "two", "u": 2})"_json, after = R"({"_id": "two", "u": 1})"_json;
  const RecordId two(keyOf(before));
  EXPECT_EQ(write([&] { return current()->update(*unit, two, before, after); }).code(), ErrorCode::kDuplicateKey);
  unit->abandonSnapshot();
  key_string::Builder key;
  const bson::Value one(1);
  key.append(one.element());
  const auto holder = current()->findIndex("u")->access->findUnique(*unit, key.bytes());
  EXPECT_EQ(**holder, RecordId(keyOf(R"({"_id": "one"})"_json)));
}

TEST_P(ClusteredCollectionTest, IndexesAreBuiltInBatchesOverIdsThatAreNoNumbers) {
  for (int i = 0; i < 1200; ++i) ASSERT_TRUE(insert(bson::doc("_id", "id" + std::to_string(i), "b", i % 7)).isOK());
  ASSERT_TRUE(index(R"({"key": {"b": 1}, "name": "b"})"_json).isOK());
  EXPECT_EQ(keys("b"), 1200);
  EXPECT_TRUE(validate().valid);
}

TEST_P(ClusteredCollectionTest, ValidationFindsAndRepairsWhatIsLost) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(insert(bson::doc("_id", i, "a", i)).isOK());
  KeySet key;
  const IndexAccess& access = *current()->findIndex("a")->access;
  ASSERT_TRUE(access.generator().generate(bson::doc("a", 2), key).isOK());
  const RecordId record = *findById(2);
  ASSERT_TRUE(*write([&] { return access.removeRow(*unit, key.keys[0].key, record); }));
  EXPECT_FALSE(validate().valid);
  EXPECT_TRUE(validate({.repair = true}).repaired);
  EXPECT_TRUE(validate().valid);
  // A record under the key of another _id.
  const RecordId wrong(keyOf(bson::doc("_id", 99)));
  ASSERT_TRUE(write([&] { return current()->records().insertAt(*unit, wrong, bson::doc("_id", 77).bytes()); }).isOK());
  const ValidateResult result = validate();
  EXPECT_FALSE(result.valid);
  EXPECT_THAT(result.errors, ::testing::Contains(HasSubstr("has another _id")));
}

TEST_P(ClusteredCollectionTest, AnIdIndexIsNeitherAddedNorDropped) {
  const auto more = newIndexes(*catalog, *current(), {R"({"key": {"_id": 1}, "name": "_id_"})"_json.view()});
  ASSERT_TRUE(more.isOK()) << more.status().toString();
  EXPECT_TRUE(more->empty());
  const bson::Value name(std::string("_id_")), key(R"({"_id": 1})"_json.view());
  EXPECT_EQ(indexNamesFor(*current(), name.element()).status().code(), ErrorCode(5979800));
  EXPECT_EQ(indexNamesFor(*current(), key.element()).status().code(), ErrorCode(5979800));
}

// A directory written before records could have ids of bytes: the collection goes on with numbers and an _id index.
TEST_P(ClusteredCollectionTest, OneOfTheOldFormGoesOnInIt) {
  create("test.old");
  ASSERT_TRUE(write([&] {
                CatalogEntry entry = current("test.old")->toEntry();
                entry.options.clusteredIndex = parseCollectionOptions(clustered())->clusteredIndex;
                return publishVersion(*catalog, *unit, entry, current("test.old")).status();
              }).isOK());
  ASSERT_TRUE(insert(R"({"_id": 2})"_json, "test.old").isOK());
  restart();
  EXPECT_TRUE(current("test.old")->isClustered());
  EXPECT_EQ(current("test.old")->clusterKey(), nullptr);
  ASSERT_NE(current("test.old")->idIndex(), nullptr);
  ASSERT_TRUE(insert(R"({"_id": 1})"_json, "test.old").isOK());
  EXPECT_EQ(insert(R"({"_id": 2})"_json, "test.old").code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(*findById(2, "test.old"), RecordId(1));
  EXPECT_TRUE(findById(1, "test.old"));
}

}  // namespace
}  // namespace troupe::storage
