// DocumentValidator: what a collection's rule lets in.
#include "actors/commands/write_support.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class DocumentValidatorTest : public CommandTest {
 protected:
  DocumentValidator of(std::string_view create, bool bypass = false) {
    EXPECT_TRUE(succeeds(create));
    const auto collection = server.catalog->find(storage::Namespace("test", "c"));
    auto validator = DocumentValidator::of(*server.server, *collection, bypass, work);
    EXPECT_TRUE(validator.isOK()) << validator.status().toString();
    return std::move(*validator);
  }
  class : public query::QueryWork {
    std::chrono::steady_clock::time_point coarseNow() const override { return {}; }
  } work;
};

TEST_F(DocumentValidatorTest, WithoutARuleEverythingPasses) {
  EXPECT_TRUE(of(R"({"create": "c"})").check(R"({"a": 1})"_json).isOK());
}

TEST_F(DocumentValidatorTest, SaysWhichDocumentFailedWhichRule) {
  const auto validator = of(R"({"create": "c", "validator": {"a": {"$gt": 5}}})");
  EXPECT_TRUE(validator.check(R"({"_id": 1, "a": 6})"_json).isOK());
  const Status status = validator.check(R"({"_id": 1, "a": 5})"_json);
  EXPECT_EQ(status, ErrorCode::kDocumentValidationFailure);
  ASSERT_TRUE(status.extra());
  EXPECT_TRUE(
      holds(*status.extra(),
            R"({"errInfo": {"failingDocumentId": 1, "details": {"operatorName": "$gt", "specifiedAs": {"a": {"$gt": 5}},
                        "reason": "comparison failed", "consideredValue": 5}}})"_json));
}

TEST_F(DocumentValidatorTest, UnderstandsSchemas) {
  const auto validator = of(
      R"({"create": "c", "validator": {"$jsonSchema": {"required": ["a"], "properties": {"a": {"bsonType": "string"}}}}})");
  EXPECT_TRUE(validator.check(R"({"a": "x"})"_json).isOK());
  EXPECT_FALSE(validator.check(R"({"a": 1})"_json).isOK());
  EXPECT_FALSE(validator.check(R"({"b": "x"})"_json).isOK());
}

TEST_F(DocumentValidatorTest, TheModerateLevelSparesDocumentsThatWereInvalidBefore) {
  const auto validator = of(R"({"create": "c", "validator": {"a": 1}, "validationLevel": "moderate"})");
  const auto bad = R"({"a": 2})"_json, worse = R"({"a": 3})"_json, good = R"({"a": 1})"_json;
  const bson::View wasBad = bad, wasGood = good;
  EXPECT_TRUE(validator.check(worse, &wasBad).isOK());
  EXPECT_FALSE(validator.check(worse, &wasGood).isOK());
  EXPECT_FALSE(validator.check(worse).isOK());
}

TEST_F(DocumentValidatorTest, ItsExpressionsKnowThePresent) {
  const auto validator = of(R"({"create": "c", "validator": {"$expr": {"$lte": ["$since", "$$NOW"]}}})");
  EXPECT_TRUE(validator.check(bson::doc("since", bson::Date{server.wallMillis() - 1000})).isOK());
  EXPECT_FALSE(validator.check(bson::doc("since", bson::Date{server.wallMillis() + 86'400'000})).isOK());
}

TEST_F(DocumentValidatorTest, OutlivesTheCollectionWhoseCollationItComparesBy) {
  const auto validator =
      of(R"({"create": "c", "collation": {"locale": "en", "strength": 2}, "validator": {"a": "yes"}})");
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  EXPECT_TRUE(validator.check(R"({"a": "YES"})"_json).isOK());
  EXPECT_FALSE(validator.check(R"({"a": "no"})"_json).isOK());
}

TEST_F(DocumentValidatorTest, ARuleThatOnlyWarnsLetsAllIn) {
  EXPECT_TRUE(of(R"({"create": "c", "validator": {"a": 1}, "validationAction": "warn"})").check(R"({})"_json).isOK());
}

TEST_F(DocumentValidatorTest, CanBeSwitchedOffOrBypassed) {
  EXPECT_TRUE(of(R"({"create": "c", "validator": {"a": 1}, "validationLevel": "off"})").check(R"({})"_json).isOK());
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  EXPECT_TRUE(of(R"({"create": "c", "validator": {"a": 1}})", true).check(R"({})"_json).isOK());
}

}  // namespace troupe::commands
