#include "storage/catalog/collection.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;

class CollectionTest : public CatalogFixture {};

TEST_P(CollectionTest, WritesDataAndKeysInOneTransaction) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(current()->insert(*unit, R"({"_id": 1, "a": 1})"_json).isOK());
  }
  EXPECT_FALSE(findById(1));
  EXPECT_EQ(keys("a"), 0);
  const std::vector<bson::Document> documents = {R"({"_id": 1, "a": 1})"_json, R"({"_id": 2, "a": [1, 2]})"_json};
  const std::vector<bson::View> views(documents.begin(), documents.end());
  ASSERT_TRUE(write([&] { return current()->insertMany(*unit, views); }).isOK());
  EXPECT_EQ(keys("a"), 3);
  EXPECT_TRUE(findById(2));
}

TEST_P(CollectionTest, PutsADocumentInPlaceOfTheOneOfItsIdWhereverItIsSaidToBe) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  RecordId place;
  const auto put = [&](const bson::Document& document, RecordId guess) {
    return write([&]() -> Status {
      TROUPE_ASSIGN(place, current()->put(*unit, document, guess));
      return Status::OK();
    });
  };
  ASSERT_TRUE(put(R"({"_id": 1, "a": [1, 2, 3]})"_json, {}).isOK()) << "it is new";
  const RecordId first = place;
  ASSERT_TRUE(put(R"({"_id": 2, "a": 7})"_json, first).isOK()) << "another one lies there";
  const RecordId second = place;
  EXPECT_NE(first, second);
  for (const RecordId guess : {first, second, RecordId{}, RecordId{second.number() + 1000}}) {
    ASSERT_TRUE(put(bson::doc("_id", 1, "a", guess.number()), guess).isOK());
    EXPECT_EQ(place, first);
    EXPECT_EQ(findById(1), first);
    EXPECT_EQ(findById(2), second);
    EXPECT_EQ(keys("a"), 2) << "those of the older version are gone";
    ASSERT_TRUE(
        current()->find(*unit, first, [&](bson::View now) { EXPECT_EQ(now["a"].toInt64(), guess.number()); }).isOK());
  }
  EXPECT_EQ(current()->records().count(), 2);
  EXPECT_EQ(current()->put(*unit, R"({"_id": 1})"_json, first).status().code(), ErrorCode::kIllegalOperation)
      << "not without a unit of work";
}

TEST_P(CollectionTest, PutsADocumentThatIsHardlyEverThere) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  const auto put = [&](const bson::Document& document) {
    return write([&] { return current()->putNew(*unit, document).status(); });
  };
  ASSERT_TRUE(put(R"({"_id": 1, "a": [1, 2, 3]})"_json).isOK());
  ASSERT_TRUE(put(R"({"_id": 2, "a": 7})"_json).isOK());
  EXPECT_EQ(keys("a"), 4);
  const auto first = findById(1);
  ASSERT_TRUE(put(R"({"_id": 1, "a": 4})"_json).isOK()) << "it was there after all";
  EXPECT_EQ(findById(1), first);
  EXPECT_EQ(keys("a"), 2);
  EXPECT_EQ(current()->records().count(), 2);
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_TRY(current()->putNew(*unit, R"({"_id": 3, "a": 1})"_json).status());
                return current()->putNew(*unit, R"({"_id": 3, "a": [5, 6]})"_json).status();
              }).isOK())
      << "within one unit of work";
  EXPECT_EQ(keys("a"), 4);
  EXPECT_EQ(current()->records().count(), 3);
}

/// A number that is taken is no document that is there already: another one lies under it.
TEST_P(CollectionTest, ATakenRecordNumberReplacesNobody) {
  create();
  const auto put = [&](const bson::Document& document) {
    return write([&] { return current()->putNew(*unit, document).status(); });
  };
  ASSERT_TRUE(put(R"({"_id": 1})"_json).isOK());
  const RecordId next(findById(1)->number() + 1);
  const bson::Document planted = R"({"_id": 7})"_json;
  ASSERT_TRUE(write([&] { return current()->records().insertAt(*unit, next, planted.bytes()); }).isOK());
  EXPECT_EQ(put(R"({"_id": 2})"_json).code(), ErrorCode::kInternalError);
  EXPECT_FALSE(findById(2));
  ASSERT_TRUE(current()->find(*unit, next, [&](bson::View now) { EXPECT_EQ(now["_id"].toInt64(), 7); }).isOK());
}

TEST_P(CollectionTest, ReplacesTheDocumentOnWhichACursorStands) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  ASSERT_TRUE(write([&] { return current()->insert(*unit, R"({"_id": 1, "a": [1, 2]})"_json).status(); }).isOK());
  const auto at = findById(1);
  ASSERT_TRUE(at);
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_ASSIGN(auto cursor, current()->records().cursor(*unit));
                TROUPE_TRY(cursor.seekExact(*at).status());
                const bson::Document before(cursor.document());
                return current()->updateAt(*unit, cursor, before, R"({"_id": 1, "a": 9, "b": "longer"})"_json);
              }).isOK());
  EXPECT_EQ(keys("a"), 1);
  ASSERT_TRUE(current()->find(*unit, *at, [&](bson::View now) { EXPECT_EQ(now["a"].toInt64(), 9); }).isOK());
}

TEST_P(CollectionTest, RemembersForeverThatAnIndexMetAnArray) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a.b": 1, "c": 1}, "name": "x"})"_json).isOK());
  EXPECT_FALSE(current()->findIndex("x")->multikey());
  ASSERT_TRUE(insert(R"({"_id": 1, "a": [{"b": 1}]})"_json).isOK());
  EXPECT_TRUE(current()->findIndex("x")->multikey());
  ASSERT_TRUE(
      write([&] { return current()->remove(*unit, *findById(1), R"({"_id": 1, "a": [{"b": 1}]})"_json); }).isOK());
  restart();
  EXPECT_TRUE(current()->findIndex("x")->multikey());
  EXPECT_THAT(current()->findIndex("x")->state->paths(2), ElementsAre(0b1, 0));
}

TEST_P(CollectionTest, WritesMultikeyStateOnceHoweverManyWritersNeedIt) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1, "b.c": 1}, "name": "x"})"_json).isOK());
  const int64_t before = catalog->durable().writes();
  {
    // Transactions that overlap: none has committed when the others need the same flag.
    std::vector<std::unique_ptr<RecoveryUnit>> units;
    std::vector<std::unique_ptr<WriteUnitOfWork>> works;
    for (int i = 0; i < 10; ++i) {
      units.push_back(std::make_unique<RecoveryUnit>(*pool));
      works.push_back(std::make_unique<WriteUnitOfWork>(*units.back()));
      ASSERT_TRUE(units.back()->begin().isOK());
    }
    for (int i = 0; i < 10; ++i) {
      const auto document = bson::fromJson(R"({"_id": )" + std::to_string(i) + R"(, "a": [1, 2]})");
      const auto inserted = current()->insert(*units[i], *document);
      EXPECT_TRUE(inserted.isOK()) << inserted.status().toString();
    }
    EXPECT_EQ(catalog->durable().writes() - before, 1);
    for (auto& work : works) EXPECT_TRUE(work->commit().isOK());
  }
  ASSERT_TRUE(insert(R"({"_id": 20, "a": [3], "b": {"c": 1}})"_json).isOK());
  EXPECT_EQ(catalog->durable().writes() - before, 1) << "nothing new";
  ASSERT_TRUE(insert(R"({"_id": 21, "a": 3, "b": [{"c": 1}]})"_json).isOK());
  EXPECT_EQ(catalog->durable().writes() - before, 2) << "another path";
  restart();
  EXPECT_THAT(current()->findIndex("x")->state->paths(2), ElementsAre(0b1, 0b1));
  ASSERT_TRUE(insert(R"({"_id": 22, "a": [3]})"_json).isOK());
  EXPECT_EQ(catalog->durable().writes(), 0) << "a restart has read it";
}

TEST_P(CollectionTest, StaysMultikeyWhenTheWriterThatMadeItSoFails) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(current()->insert(*unit, R"({"_id": 1, "a": [1]})"_json).isOK());
  }
  EXPECT_FALSE(findById(1));
  restart();
  EXPECT_TRUE(current()->findIndex("a")->multikey());
}

TEST_P(CollectionTest, SetsTheMultikeyFlagOfACollectionMadeInTheSameUnit) {
  const int64_t before = catalog->durable().writes();
  const auto made = [&]() -> Status {
    TROUPE_ASSIGN(auto collection, createCollection(*catalog, *unit, Namespace("test", "c"), {}));
    TROUPE_ASSIGN(const auto specs,
                  newIndexes(*catalog, *collection, {R"({"key": {"a": 1}, "name": "a"})"_json.view()}));
    TROUPE_ASSIGN(collection, createEmptyIndex(*catalog, *unit, collection, specs[0]));
    return collection->insert(*unit, R"({"_id": 1, "a": [1, 2]})"_json).status();
  };
  ASSERT_TRUE(write(made).isOK());
  EXPECT_EQ(catalog->durable().writes() - before, 3) << "create, index, flag: all in the unit";
  restart();
  EXPECT_TRUE(current()->findIndex("a")->multikey());
}

TEST_P(CollectionTest, SetsTheMultikeyFlagNoLaterThanTheWriteThatNeedsIt) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  const int64_t id = current()->catalogId();
  {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(unit->setCommitTimestamp(at(20)).isOK());
    ASSERT_TRUE(current()->insert(*unit, R"({"_id": 1, "a": [1]})"_json).isOK());
    ASSERT_TRUE(work.commit().isOK());
  }
  RecoveryUnit reader(*pool);
  const auto multikeyAt = [&](uint64_t time) {
    reader.abandonSnapshot();
    EXPECT_TRUE(reader.setReadSource(ReadSource::kProvided, at(time)).isOK());
    return catalog->durable().readEntry(reader, id).value()->indexes[1].multikey;
  };
  EXPECT_FALSE(multikeyAt(19));
  EXPECT_TRUE(multikeyAt(20));
}

TEST_P(CollectionTest, KeepsAMultikeyFlagThatWasSetBesideASchemaChange) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
  CatalogEntry stale = current()->toEntry();  // as a schema change reads it before a writer comes between
  ASSERT_TRUE(insert(R"({"_id": 1, "a": [1]})"_json).isOK());
  stale.options.validator = R"({"a": 1})"_json;
  ASSERT_TRUE(write([&] { return catalog->durable().put(*unit, stale); }).isOK());
  restart();
  EXPECT_TRUE(current()->options().validator);
  EXPECT_TRUE(current()->findIndex("a")->multikey());
}

TEST_P(CollectionTest, KeepsOutOfPartialIndexesWhatTheFilterRefuses) {
  create();
  ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a", "unique": true, "partialFilterExpression": {"live": true}})"_json)
                  .isOK());
  ASSERT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 2, "a": 1, "live": true})"_json).isOK());
  EXPECT_EQ(keys("a"), 1);
  EXPECT_EQ(insert(R"({"_id": 3, "a": 1, "live": true})"_json).code(), ErrorCode::kDuplicateKey);
  const auto before = R"({"_id": 2, "a": 1, "live": true})"_json;
  const auto after = R"({"_id": 2, "a": 1, "live": false})"_json;
  ASSERT_TRUE(write([&] { return current()->update(*unit, *findById(2), before, after); }).isOK());
  EXPECT_EQ(keys("a"), 0);
}

TEST_P(CollectionTest, RemovesTheOldestOfACappedCollection) {
  create("test.c", R"({"capped": true, "size": 100000, "max": 3})"_json);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(insert(bson::doc("_id", i)).isOK());
  EXPECT_EQ(current()->records().count(), 3);
  EXPECT_FALSE(findById(1));
  EXPECT_TRUE(findById(2));
  EXPECT_EQ(keys("_id_"), 3);
}

TEST_P(CollectionTest, BoundsACappedCollectionByBytes) {
  create("test.c", R"({"capped": true, "size": 256})"_json);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(insert(bson::doc("_id", i, "text", std::string(60, 'x'))).isOK());
  EXPECT_LE(current()->records().dataBytes(), 256);
  EXPECT_TRUE(findById(49));
}

/// As collMod does.
class CappedLimitsTest : public CatalogFixture {
 protected:
  void limit(std::optional<int64_t> size, std::optional<int64_t> max) {
    CollectionChange change;
    change.cappedSize = size;
    change.cappedMax = max;
    ASSERT_TRUE(write([&] { return modifyCollection(*catalog, *unit, current(), change).status(); }).isOK());
  }
  void insertMany(int first, int count, size_t text) {
    std::vector<bson::Document> documents;
    for (int i = first; i < first + count; ++i)
      documents.push_back(bson::doc("_id", i, "text", std::string(text, 'x')));
    const std::vector<bson::View> views(documents.begin(), documents.end());
    ASSERT_TRUE(write([&] { return current()->insertMany(*unit, views); }).isOK());
  }
  int64_t count() { return current()->records().count(); }
  bool trim() {
    const auto removed = write([&] { return current()->trim(*unit); });
    EXPECT_TRUE(removed.isOK()) << removed.status().toString();
    return removed.isOK() && *removed > 0;
  }
};

TEST_P(CappedLimitsTest, AnInsertRemovesSoManyDocumentsBeyondWhatItAdds) {
  create("test.c", R"({"capped": true, "size": 10000000})"_json);
  insertMany(0, 3000, 1);
  limit({}, 10);
  EXPECT_EQ(count(), 3000) << "the change itself removes nothing";
  insertMany(3000, 2, 1);
  EXPECT_EQ(count(), 2000);
  insertMany(3002, 1, 1);
  EXPECT_EQ(count(), 1000);
  insertMany(3003, 1, 1);
  EXPECT_EQ(count(), 10) << "less than it might";
  insertMany(3004, 20, 1);
  EXPECT_EQ(count(), 10) << "as much as it adds, from then on";
  EXPECT_TRUE(findById(3014) && !findById(3013)) << "the oldest went";
  EXPECT_EQ(keys("_id_"), 10);
}

TEST_P(CappedLimitsTest, ASizeIsRoundedAsThatOfANewCollection) {
  create("test.c", R"({"capped": true, "size": 4096})"_json);
  limit(1000, {});
  EXPECT_EQ(current()->options().cappedSize, 1024);
  unit->abandonSnapshot();
  restart();
  EXPECT_EQ(current()->options().cappedSize, 1024);
}

TEST_P(CappedLimitsTest, AnInsertRemovesSoManyBytesBeyondWhatItAdds) {
  create("test.c", R"({"capped": true, "size": 20000000})"_json);
  for (int i = 0; i < 12; ++i) insertMany(i, 1, 1'000'000);
  limit(1000, {});
  insertMany(12, 1, 1);
  EXPECT_EQ(count(), 8) << "five of a megabyte are the first that have more than 4 MiB";
  insertMany(13, 1, 1);
  EXPECT_EQ(count(), 4);
  insertMany(14, 1, 1);
  EXPECT_EQ(count(), 3) << "the small ones";
  EXPECT_FALSE(current()->exceedsCap());
}

TEST_P(CappedLimitsTest, AnInsertRemovesAsManyDocumentsAsItAddsHoweverLargeTheyAre) {
  create("test.c", R"({"capped": true, "size": 100000000, "max": 100})"_json);
  insertMany(0, 100, 100'000);
  insertMany(100, 60, 1);
  EXPECT_EQ(count(), 100) << "the limit was kept before, and is kept";
  EXPECT_TRUE(findById(60) && !findById(59));
}

TEST_P(CappedLimitsTest, IsTrimmedInBoundedUnitsAndTheNewestDocumentStays) {
  create("test.c", R"({"capped": true, "size": 10000000})"_json);
  EXPECT_FALSE(trim()) << "it is empty";
  insertMany(0, 2500, 300);
  EXPECT_FALSE(trim()) << "it is within its limits";
  limit(256, {});
  EXPECT_TRUE(current()->exceedsCap());
  EXPECT_TRUE(trim());
  EXPECT_EQ(count(), 1500);
  EXPECT_TRUE(trim());
  EXPECT_TRUE(trim());
  EXPECT_EQ(count(), 1) << "a document that is larger than the collection";
  EXPECT_FALSE(trim());
  EXPECT_TRUE(findById(2499));
}

TROUPE_ON_BOTH_ENGINES(CollectionTest);
TROUPE_ON_BOTH_ENGINES(CappedLimitsTest);

}  // namespace
}  // namespace troupe::storage
