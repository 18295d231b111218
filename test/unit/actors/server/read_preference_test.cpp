#include "actors/server/read_preference.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

class ReadPreferenceTest : public CommandTest {
 protected:
  /// Of a preference: its error, or OK.
  static ErrorCode errorOf(std::string_view preference) {
    return parseReadPreference(parse(preference)).status().code();
  }
};

TEST_F(ReadPreferenceTest, HasOneOfFiveModes) {
  const std::pair<const char*, ReadMode> modes[] = {{"primary", ReadMode::kPrimary},
                                                    {"primaryPreferred", ReadMode::kPrimaryPreferred},
                                                    {"secondary", ReadMode::kSecondary},
                                                    {"secondaryPreferred", ReadMode::kSecondaryPreferred},
                                                    {"nearest", ReadMode::kNearest}};
  for (const auto& [name, mode] : modes) {
    const auto parsed = parseReadPreference(bson::doc("mode", name));
    ASSERT_TRUE(parsed.isOK()) << name;
    EXPECT_EQ(*parsed, mode) << name;
  }
  for (const char* other : {"", "Primary", "secondaryprefered", "any"}) {
    const Status refused = parseReadPreference(bson::doc("mode", other)).status();
    EXPECT_EQ(refused.code(), ErrorCode::kFailedToParse) << other;
    EXPECT_NE(refused.reason().find("'" + std::string(other) + "' is no mode"), std::string::npos) << refused.reason();
  }
  EXPECT_EQ(errorOf(R"({"mode": 1})"), ErrorCode::kTypeMismatch);
  EXPECT_EQ(errorOf(R"({"tags": []})"), ErrorCode::kMissingRequiredField);
}

TEST_F(ReadPreferenceTest, TakesTagsBesideOtherModesThanPrimary) {
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "tags": [{"dc": "east", "use": "reporting"}, {}]})"), ErrorCode::kOK);
  EXPECT_EQ(errorOf(R"({"mode": "primary", "tags": [{"dc": "east"}]})"), ErrorCode::kFailedToParse);
  for (const char* none : {R"({"mode": "primary", "tags": []})", R"({"mode": "primary", "tags": [{}]})",
                           R"({"mode": "primary", "tags": null})"})
    EXPECT_EQ(errorOf(none), ErrorCode::kOK) << none;
  for (const char* wrong : {R"({"mode": "nearest", "tags": {"dc": "east"}})",
                            R"({"mode": "nearest", "tags": ["east"]})", R"({"mode": "nearest", "tags": [{"dc": 1}]})"})
    EXPECT_EQ(errorOf(wrong), ErrorCode::kTypeMismatch) << wrong;
}

TEST_F(ReadPreferenceTest, TakesAMaxStalenessOfNinetySecondsOrMore) {
  for (const char* mode : {"primaryPreferred", "secondary", "secondaryPreferred", "nearest"}) {
    for (const int seconds : {-1, 0, 90, 100'000})
      EXPECT_TRUE(parseReadPreference(bson::doc("mode", mode, "maxStalenessSeconds", seconds)).isOK()) << seconds;
    for (const int seconds : {-2, 1, 89})
      EXPECT_EQ(parseReadPreference(bson::doc("mode", mode, "maxStalenessSeconds", seconds)).status().code(),
                ErrorCode::kMaxStalenessOutOfRange)
          << seconds;
  }
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "maxStalenessSeconds": "120"})"), ErrorCode::kTypeMismatch);
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "maxStalenessSeconds": 120.5})"), ErrorCode::kFailedToParse);
  EXPECT_EQ(errorOf(R"({"mode": "primary", "maxStalenessSeconds": 120})"), ErrorCode::kFailedToParse);
  EXPECT_EQ(errorOf(R"({"mode": "primary", "maxStalenessSeconds": -1})"), ErrorCode::kOK);
}

TEST_F(ReadPreferenceTest, TakesAHedgeWithoutUsingIt) {
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "hedge": {"enabled": true}})"), ErrorCode::kOK);
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "hedge": {}})"), ErrorCode::kOK);
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "hedge": true})"), ErrorCode::kTypeMismatch);
  EXPECT_EQ(errorOf(R"({"mode": "nearest", "hedge": {"enabled": 1}})"), ErrorCode::kTypeMismatch);
}

TEST_F(ReadPreferenceTest, IsCheckedForEveryCommand) {
  for (const char* command :
       {R"({"find": "c", "$readPreference": )", R"({"ping": 1, "$readPreference": )",
        R"({"insert": "c", "documents": [{}], "$readPreference": )", R"({"hello": 1, "$readPreference": )"}) {
    EXPECT_EQ(code(std::string(command) + R"({"mode": "secondary"}})"), 0) << command;
    EXPECT_EQ(code(std::string(command) + R"({"mode": "somewhere"}})"), 9) << command;
    EXPECT_EQ(code(std::string(command) + R"({"mode": "nearest", "maxStalenessSeconds": 10}})"), 160) << command;
    EXPECT_EQ(code(std::string(command) + R"("secondary"})"), 14) << command;
    EXPECT_EQ(code(std::string(command) + "null}"), 0) << command;
  }
  EXPECT_EQ(code(R"({"getParameter": 1, "quiet": 1, "$readPreference": [{"mode": "primary"}]})", "admin"), 14)
      << "also where fields are named freely";
}

TEST_F(ReadPreferenceTest, IsReadFromQueryOptionsWhereTheCommandHasNoneItself) {
  EXPECT_EQ(code(R"({"find": "c", "$queryOptions": {"$readPreference": {"mode": "somewhere"}}})"), 9);
  EXPECT_EQ(code(R"({"find": "c", "$queryOptions": {"$readPreference": {"mode": "nearest"}}})"), 0);
  EXPECT_EQ(code(R"({"find": "c", "$queryOptions": {}})"), 0);
}

}  // namespace troupe::server
