#include "actors/server/arguments.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::server {

using bson::operator""_json;

constexpr Argument kTable[] = {
    numberArg("count").required(),
    stringArg("name"),
    documentArg("filter"),
    eitherArg("either", kStringArg | kDocumentArg),
    flagArg("flag"),
    anyArg("unstable").outsideStableApi(),
};

Status check(const bson::Document& body, bool apiStrict = false) {
  return checkArguments("cmd", kTable, body, apiStrict);
}

TEST(Arguments, AcceptsWhatTheTableNames) {
  EXPECT_TRUE(check(R"({"cmd": 1, "count": 2, "name": "x", "filter": {}, "either": {}, "flag": 1})"_json).isOK());
}

TEST(Arguments, AcceptsAnyNumberForANumber) {
  for (const char* number : {"2", "2.5", R"({"$numberLong": "2"})", R"({"$numberDecimal": "2"})"}) {
    const auto body = bson::fromJson(std::string(R"({"cmd": 1, "count": )") + number + "}");
    EXPECT_TRUE(check(*body).isOK()) << number;
  }
}

TEST(Arguments, RefusesAnUnknownField) {
  const Status status = check(R"({"cmd": 1, "count": 2, "other": 1})"_json);
  EXPECT_EQ(status, ErrorCode::kUnknownField);
  EXPECT_EQ(status.reason(), "BSON field 'cmd.other' is an unknown field.");
}

TEST(Arguments, RefusesAFieldGivenTwice) {
  const Status status = check(bson::doc("cmd", 1, "count", 2, "count", 3));
  EXPECT_EQ(static_cast<int>(status.code()), 40413);
  EXPECT_EQ(status.reason(), "BSON field 'cmd.count' is a duplicate field");
}

TEST(Arguments, NullCountsAsSeenButNotAsGiven) {
  const bson::Null null;
  EXPECT_EQ(check(bson::doc("cmd", 1, "count", null)), ErrorCode::kMissingRequiredField);
  for (const bson::Document& body :
       {bson::doc("cmd", 1, "count", null, "count", 3), bson::doc("cmd", 1, "count", 3, "count", null),
        bson::doc("cmd", 1, "count", 3, "name", null, "name", "x"), bson::doc("cmd", 1, "count", null, "count", null),
        bson::doc("cmd", 1, "count", 3, "lsid", null, "lsid", bson::Document())})
    EXPECT_EQ(static_cast<int>(check(body).code()), 40413) << bson::toRelaxedJson(body);
}

TEST(Arguments, AllFieldsOfADocumentWithinACommandAreChecked) {
  EXPECT_TRUE(checkFields("cmd.part", kTable, R"({"count": 2, "name": "x"})"_json).isOK());
  EXPECT_EQ(checkFields("cmd.part", kTable, R"({"other": 1, "count": 2})"_json).reason(),
            "BSON field 'cmd.part.other' is an unknown field.");
  EXPECT_EQ(static_cast<int>(checkFields("cmd.part", kTable, bson::doc("count", bson::Null{}, "count", 2)).code()),
            40413);
}

TEST(Arguments, RefusesAWrongTypeAndSaysWhichItWants) {
  const Status one = check(R"({"cmd": 1, "count": 2, "name": 5})"_json);
  EXPECT_EQ(one, ErrorCode::kTypeMismatch);
  EXPECT_EQ(one.reason(), "BSON field 'cmd.name' is the wrong type 'int', expected type 'string'");
  const Status several = check(R"({"cmd": 1, "count": 2, "either": 5})"_json);
  EXPECT_EQ(several.reason(), "BSON field 'cmd.either' is the wrong type 'int', expected types '[string, object]'");
}

TEST(Arguments, AnArrayIsNoDocument) {
  EXPECT_EQ(check(R"({"cmd": 1, "count": 2, "filter": []})"_json), ErrorCode::kTypeMismatch);
}

TEST(Arguments, RefusesToDoWithoutARequiredField) {
  const Status status = check(R"({"cmd": 1, "name": "x"})"_json);
  EXPECT_EQ(status, ErrorCode::kMissingRequiredField);
  EXPECT_EQ(status.reason(), "BSON field 'cmd.count' is missing but a required field");
}

TEST(Arguments, NullMeansNotGiven) { EXPECT_TRUE(check(R"({"cmd": 1, "count": 2, "name": null})"_json).isOK()); }

TEST(Arguments, EveryCommandTakesTheGenericFields) {
  EXPECT_TRUE(check(R"({"cmd": 1, "count": 2, "$db": "test", "lsid": {}, "maxTimeMS": 5, "comment": [1],
                        "$readPreference": {"mode": "primary"}, "readConcern": {}, "writeConcern": {}})"_json)
                  .isOK());
  EXPECT_EQ(check(R"({"cmd": 1, "count": 2, "maxTimeMS": "5"})"_json), ErrorCode::kTypeMismatch);
}

TEST(Arguments, TheCommandsOwnFieldIsNotChecked) { EXPECT_TRUE(check(R"({"name": 7, "count": 1})"_json).isOK()); }

TEST(Arguments, StrictUseOfTheApiRefusesWhatIsOutsideIt) {
  const auto body = R"({"cmd": 1, "count": 2, "unstable": 1})"_json;
  EXPECT_TRUE(check(body).isOK());
  EXPECT_EQ(check(body, true), ErrorCode::kAPIStrictError);
}

TEST(Arguments, FreelyNamedFieldsAreLeftToTheBody) {
  EXPECT_TRUE(checkArguments("cmd", kNamedFreely, R"({"cmd": 1, "anything": 1})"_json).isOK());
}

}  // namespace troupe::server
