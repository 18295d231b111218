#include "storage/records/record_store.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;

class RecordStoreTest : public CatalogFixture {
 protected:
  RecordStoreTest() { create(); }
  RecordStore& records() { return current()->records(); }
  RecordId add(int value) {
    const auto document = bson::doc("_id", value);
    auto id = write([&] { return records().insert(*unit, document.bytes()); });
    EXPECT_TRUE(id.isOK());
    return *id;
  }
  std::vector<int64_t> walk(bool forward) {
    unit->abandonSnapshot();
    std::vector<int64_t> values;
    auto cursor = records().cursor(*unit, forward);
    for (auto found = cursor->next(); found.isOK() && *found; found = cursor->next())
      values.push_back(cursor->document()["_id"].toInt64());
    return values;
  }
};

TEST_P(RecordStoreTest, NumbersRecordsInTheOrderOfInsertion) {
  const RecordId first = add(1);
  EXPECT_LT(first, add(2));
  add(3);
  EXPECT_THAT(walk(true), ElementsAre(1, 2, 3));
  EXPECT_THAT(walk(false), ElementsAre(3, 2, 1));
}

/// What stands in a table and is no document must not reach a plan, which would read beyond its end.
TEST_P(RecordStoreTest, ARecordThatIsNoDocumentIsAnError) {
  const RecordId good = add(1);
  const std::string document(bson::doc("_id", 2).bytes());
  std::string tooLong = document, notEnded = document;
  tooLong[0] = 127;
  notEnded.back() = 'x';
  int64_t id = 100;
  for (const std::string& bytes : {std::string(), std::string("abc"), document + "x", tooLong, notEnded}) {
    const RecordId damaged(++id);
    ASSERT_TRUE(write([&] { return records().insertAt(*unit, damaged, bytes); }).isOK());
    auto cursor = records().cursor(*unit);
    ASSERT_TRUE(*cursor->seekExact(good));
    EXPECT_EQ(cursor->next().status().code(), ErrorCode::kDataCorruptionDetected) << bytes;
    EXPECT_EQ(cursor->seekExact(damaged).status().code(), ErrorCode::kDataCorruptionDetected) << bytes;
    const auto found = records().find(*unit, damaged, [](bson::View) { FAIL(); });
    EXPECT_EQ(found.status().code(), ErrorCode::kDataCorruptionDetected) << bytes;
    cursor->acceptDamaged();
    EXPECT_TRUE(*cursor->seekExact(damaged));
    EXPECT_EQ(cursor->bytes(), bytes);
    cursor->save();
    ASSERT_TRUE(write([&] { return records().remove(*unit, damaged, static_cast<int64_t>(bytes.size())); }).isOK());
  }
}

TEST_P(RecordStoreTest, GoesOnNumberingAfterARestart) {
  const RecordId before = add(1);
  restart();
  EXPECT_GT(add(2), before);
  EXPECT_EQ(records().count(), 2);
}

TEST_P(RecordStoreTest, CountsWhatWasCommittedOnly) {
  const RecordId id = add(1);
  const int64_t bytes = records().dataBytes();
  {
    WriteUnitOfWork work(*unit);
    ASSERT_TRUE(records().insert(*unit, bson::doc("_id", 2).bytes()).isOK());
    EXPECT_EQ(records().count(), 2);
  }
  EXPECT_EQ(records().count(), 1);
  EXPECT_EQ(records().dataBytes(), bytes);
  ASSERT_TRUE(write([&] { return records().remove(*unit, id, bytes); }).isOK());
  EXPECT_EQ(records().count(), 0);
  EXPECT_EQ(records().dataBytes(), 0);
}

TEST_P(RecordStoreTest, KeepsItsPlaceOverAYield) {
  add(1), add(2), add(3);
  auto cursor = records().cursor(*unit);
  ASSERT_TRUE(*cursor->next());
  ASSERT_TRUE(*cursor->next());
  const RecordId second = cursor->id();
  cursor->save();
  unit->abandonSnapshot();
  EXPECT_TRUE(*cursor->restore(*unit));
  EXPECT_EQ(cursor->document()["_id"].toInt64(), 2);
  cursor->save();
  unit->abandonSnapshot();
  ASSERT_TRUE(write([&] { return records().remove(*unit, second, 0); }).isOK());
  EXPECT_FALSE(*cursor->restore(*unit)) << "the record is gone";
  ASSERT_TRUE(*cursor->next());
  EXPECT_EQ(cursor->document()["_id"].toInt64(), 3);
}

TEST_P(RecordStoreTest, SeesAtTheEndWhatWasAddedMeanwhile) {
  add(1);
  auto cursor = records().cursor(*unit);
  EXPECT_TRUE(*cursor->next());
  EXPECT_FALSE(*cursor->next());
  EXPECT_FALSE(*cursor->next()) << "the end is not a new beginning";
  cursor->save();
  unit->abandonSnapshot();
  add(2);
  ASSERT_TRUE(cursor->restore(*unit).isOK());
  ASSERT_TRUE(*cursor->next());
  EXPECT_EQ(cursor->document()["_id"].toInt64(), 2);
}

TEST_P(RecordStoreTest, EmptiesAtOnce) {
  add(1), add(2);
  ASSERT_TRUE(write([&] { return current()->truncate(*unit); }).isOK());
  EXPECT_THAT(walk(true), ElementsAre());
  EXPECT_EQ(records().count(), 0);
  EXPECT_EQ(keys("_id_"), 0);
}

TROUPE_ON_BOTH_ENGINES(RecordStoreTest);

}  // namespace
}  // namespace troupe::storage
