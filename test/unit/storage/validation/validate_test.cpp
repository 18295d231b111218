#include "storage/validation/validate.hpp"

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ValidateTest : public CatalogFixture {
 protected:
  ValidateTest() {
    create();
    EXPECT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(insert(bson::doc("_id", i, "a", i)).isOK());
  }
  ValidateResult validate(ValidateSettings settings = {}) {
    unit->abandonSnapshot();
    auto result = validateCollection(*catalog, *unit, current(), settings);
    EXPECT_TRUE(result.isOK()) << result.status().toString();
    return std::move(*result);
  }
  const IndexAccess& access(const char* name) { return *current()->findIndex(name)->access; }
  IndexKey key(int value) {
    KeySet set;
    EXPECT_TRUE(access("a").generator().generate(bson::doc("a", value), set).isOK());
    return set.keys[0];
  }
  void loseKey(int id) {
    const RecordId record = *findById(id);
    ASSERT_TRUE(*write([&] { return access("a").removeRow(*unit, key(id).key, record); }));
  }
  void strayKey(int value, RecordId record) {
    ASSERT_TRUE(write([&] { return access("a").insertRow(*unit, key(value), record); }).isOK());
  }
};

TEST_P(ValidateTest, FindsNothingWrongWithAHealthyCollection) {
  const ValidateResult result = validate({.full = true});
  EXPECT_TRUE(result.valid);
  EXPECT_THAT(result.errors, IsEmpty());
  const auto reply = result.toDocument();
  EXPECT_EQ(reply["nrecords"].toInt64(), 20);
  EXPECT_EQ(reply["nIndexes"].toInt64(), 2);
  EXPECT_EQ(reply.view().at("keysPerIndex.a").toInt64(), 20);
  EXPECT_TRUE(reply.view().at("indexDetails._id_.valid").asBool());
}

TEST_P(ValidateTest, FindsACatalogRowThatDiffersFromMemory) {
  CatalogEntry entry = current()->toEntry();
  entry.options.validationLevel = "moderate";
  ASSERT_TRUE(write([&] { return catalog->durable().put(*unit, entry); }).isOK());
  ValidateResult result = validate();
  EXPECT_FALSE(result.valid);
  EXPECT_THAT(result.errors, Contains(HasSubstr("differs")));
  ASSERT_TRUE(write([&] { return catalog->durable().remove(*unit, entry.ns, entry.catalogId); }).isOK());
  result = validate();
  EXPECT_FALSE(result.valid);
  EXPECT_THAT(result.errors, Contains(HasSubstr("no row")));
}

TEST_P(ValidateTest, TheIdIndexMustHaveExactlyOneEntryForEachRecord) {
  KeySet set;
  const IndexAccess& ids = *current()->idIndex()->access;
  ASSERT_TRUE(ids.generator().generate(bson::doc("_id", 7), set).isOK());
  const RecordId record = *findById(7);
  ASSERT_TRUE(*write([&] { return ids.removeRow(*unit, set.keys[0].key, record); }));
  ValidateResult result = validate({.repair = true});
  EXPECT_EQ(result.indexes["_id_"].keysInserted, 1);
  ASSERT_TRUE(ids.generator().generate(bson::doc("_id", 99), set).isOK());
  ASSERT_TRUE(write([&] { return ids.insertRow(*unit, set.keys[0], record); }).isOK());
  result = validate();
  EXPECT_FALSE(result.valid);
  EXPECT_FALSE(result.indexes["_id_"].valid);
  EXPECT_EQ(result.indexes["_id_"].keys, 21);
}

TEST_P(ValidateTest, OtherIndexesMayHaveMoreOrFewerEntriesThanRecordsWhereTheirKindSaysSo) {
  ASSERT_TRUE(index(R"({"key": {"t": 1}, "name": "many"})"_json).isOK());
  ASSERT_TRUE(index(R"({"key": {"t": -1}, "name": "few", "sparse": true})"_json).isOK());
  ASSERT_TRUE(index(R"({"key": {"a": -1}, "name": "one", "partialFilterExpression": {"a": 3}})"_json).isOK());
  ASSERT_TRUE(insert(R"({"_id": 100, "t": [1, 2, 3]})"_json).isOK());
  const ValidateResult result = validate({.full = true});
  EXPECT_TRUE(result.valid) << bson::toRelaxedJson(result.toDocument());
  const auto keys = result.toDocument();
  EXPECT_EQ(keys.view().at("keysPerIndex.many").toInt64(), 23);
  EXPECT_EQ(keys.view().at("keysPerIndex.few").toInt64(), 3);
  EXPECT_EQ(keys.view().at("keysPerIndex.one").toInt64(), 1);
}

TEST_P(ValidateTest, ComesToTheSameResultInSmallSteps) {
  loseKey(7);
  Validator validator(*catalog, current(), {.fixCount = false});
  unit->abandonSnapshot();
  for (auto done = validator.step(*unit, 3); !*done; done = validator.step(*unit, 3)) ASSERT_TRUE(done.isOK());
  EXPECT_EQ(validator.result().records, 20);
  EXPECT_EQ(validator.result().indexes["a"].keys, 19);
  EXPECT_EQ(validator.result().missingIndexEntries.size(), 1u);
}

TEST_P(ValidateTest, NamesMissingAndExtraEntries) {
  loseKey(7);
  strayKey(100, *findById(3));
  const ValidateResult result = validate();
  EXPECT_FALSE(result.valid);
  EXPECT_FALSE(result.indexes.at("a").valid);
  EXPECT_TRUE(result.indexes.at("_id_").valid);
  ASSERT_EQ(result.missingIndexEntries.size(), 1u);
  EXPECT_EQ(result.missingIndexEntries[0]["idKey"].toInt64(), 7);
  ASSERT_EQ(result.extraIndexEntries.size(), 1u);
  EXPECT_EQ(result.extraIndexEntries[0].view().at("indexKey.a").toInt64(), 100);
}

TEST_P(ValidateTest, RepairsEntries) {
  loseKey(7);
  strayKey(100, *findById(3));
  const ValidateResult repaired = validate({.repair = true});
  EXPECT_TRUE(repaired.repaired);
  EXPECT_TRUE(repaired.valid);
  EXPECT_EQ(repaired.missingEntriesInserted, 1);
  EXPECT_EQ(repaired.extraEntriesRemoved, 1);
  EXPECT_TRUE(validate().valid);
  EXPECT_EQ(keys("a"), 20);
}

TEST_P(ValidateTest, FindsAndRemovesDocumentsThatAreNone) {
  ASSERT_TRUE(write([&] { return current()->records().insertAt(*unit, RecordId(1000), "not a document"); }).isOK());
  const ValidateResult result = validate();
  EXPECT_FALSE(result.valid);
  EXPECT_THAT(result.corruptRecords, ElementsAre(RecordId(1000)));
  EXPECT_EQ(result.invalidDocuments, 1);
  EXPECT_EQ(validate({.repair = true}).corruptRecordsRemoved, 1);
  EXPECT_TRUE(validate().valid);
  EXPECT_EQ(current()->records().count(), 20);
}

TEST_P(ValidateTest, FindsDuplicatesInAUniqueIndexAndDoesNotClaimToRepairThem) {
  ASSERT_TRUE(index(R"({"key": {"b": 1}, "name": "b", "unique": true, "sparse": true})"_json).isOK());
  const auto rogue = bson::doc("_id", 50, "a", 50, "b", 1);
  ASSERT_TRUE(insert(bson::doc("_id", 51, "a", 51, "b", 1)).isOK());
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_ASSIGN(const RecordId id, current()->records().insert(*unit, rogue.bytes()));
                KeySet keys;
                for (const auto& index : current()->indexes()) {
                  TROUPE_TRY(index->access->generator().generate(rogue, keys));
                  TROUPE_TRY(index->access->insertRow(*unit, keys.keys[0], id));
                }
                return Status::OK();
              }).isOK());
  const ValidateResult result = validate({.repair = true});
  EXPECT_FALSE(result.valid);
  EXPECT_THAT(result.indexes.at("b").errors, Contains(HasSubstr("has duplicate key: { b: 1 }")));
}

TEST_P(ValidateTest, FindsAndCorrectsAMissingMultikeyFlag) {
  const auto rogue = R"({"_id": 50, "a": [1]})"_json;
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_ASSIGN(const RecordId id, current()->records().insert(*unit, rogue.bytes()));
                KeySet keys;
                for (const auto& index : current()->indexes()) {
                  TROUPE_TRY(index->access->generator().generate(rogue, keys));
                  TROUPE_TRY(index->access->insertKeys(*unit, keys, id, {}));
                }
                return Status::OK();
              }).isOK());
  EXPECT_FALSE(validate().valid);
  EXPECT_TRUE(validate({.repair = true}).valid);
  EXPECT_TRUE(current()->findIndex("a")->multikey());
  restart();
  EXPECT_TRUE(current()->findIndex("a")->multikey());
}

TEST_P(ValidateTest, CorrectsTheFastCount) {
  current()->records().correctSize(5, 5);
  validate({.fixCount = false});
  EXPECT_EQ(current()->records().count(), 5);
  validate();
  EXPECT_EQ(current()->records().count(), 20);
}

TEST_P(ValidateTest, WarnsOfDuplicateNamesWhenAskedTo) {
  bson::Builder twice;
  twice.append("_id", 60).append("a", 1).append("x", 1).append("x", 2);
  ASSERT_TRUE(insert(twice.finish()).isOK());
  EXPECT_EQ(validate().nonCompliantDocuments, 0);
  const ValidateResult result = validate({.checkDocuments = true});
  EXPECT_EQ(result.nonCompliantDocuments, 1);
  EXPECT_TRUE(result.valid);
}

TEST_P(ValidateTest, AgreesAfterACrash) {
  crash();
  EXPECT_TRUE(validate().valid);
}

TROUPE_ON_BOTH_ENGINES(ValidateTest);

}  // namespace
}  // namespace troupe::storage
