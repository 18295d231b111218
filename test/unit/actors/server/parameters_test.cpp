#include "actors/server/parameters.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::server {

using bson::operator""_json;

class ParametersTest : public ::testing::Test {
 protected:
  Parameters parameters;
  Status set(std::string_view name, const bson::Value& value, bool startup = false) {
    return parameters.set(name, value.element(), startup).status();
  }
};

TEST_F(ParametersTest, SettingOneGivesTheOldValue) {
  const bson::Value wanted(250);
  const auto old = parameters.set("slowOpThresholdMs", wanted.element(), false);
  ASSERT_TRUE(old.isOK());
  EXPECT_EQ(old->element().toInt64(), 100);
  EXPECT_EQ(parameters.slowOperationMillis, 250);
  EXPECT_EQ(parameters.get("slowOpThresholdMs").element().toInt64(), 250);
}

TEST_F(ParametersTest, ValuesOutOfRangeAreRefusedAndChangeNothing) {
  EXPECT_EQ(set("journalCommitInterval", bson::Value(0)), ErrorCode::kBadValue);
  EXPECT_EQ(set("journalCommitInterval", bson::Value(501)), ErrorCode::kBadValue);
  EXPECT_EQ(set("transactionTooLargeForCacheThreshold", bson::Value(1.1)), ErrorCode::kBadValue);
  EXPECT_EQ(parameters.journalCommitIntervalMillis, 100);
}

TEST_F(ParametersTest, ValuesOfAnotherTypeAreRefused) {
  EXPECT_EQ(set("logLevel", bson::Value("2")), ErrorCode::kTypeMismatch);
  EXPECT_EQ(set("notablescan", bson::Value("yes")), ErrorCode::kTypeMismatch);
}

TEST_F(ParametersTest, LogLevelIsTheVerbosityThatComponentsFollow) {
  EXPECT_TRUE(set("logLevel", bson::Value(2)).isOK());
  EXPECT_EQ(parameters.get("logComponentVerbosity").element().asDocument()["verbosity"].toInt64(), 2);
  EXPECT_EQ(set("logLevel", bson::Value(6)), ErrorCode::kBadValue);
  EXPECT_EQ(parameters.get("logLevel").element().toInt64(), 2);
}

TEST_F(ParametersTest, SingleComponentsAreMadeMoreVerbose) {
  EXPECT_TRUE(set("logComponentVerbosity", bson::Value(R"({"command": {"verbosity": 3}})"_json)).isOK());
  EXPECT_TRUE(parameters.setFromText("logComponentVerbosity", R"({"storage": {"recovery": {"verbosity": 1}}})").isOK());
  const bson::Value levels = parameters.get("logComponentVerbosity");
  EXPECT_EQ(levels.element().asDocument()["command"].asDocument()["verbosity"].toInt64(), 3);
  EXPECT_EQ(levels.element().asDocument()["storage"].asDocument()["recovery"].asDocument()["verbosity"].toInt64(), 1);
  EXPECT_EQ(set("logComponentVerbosity", bson::Value(3)), ErrorCode::kTypeMismatch);
  EXPECT_EQ(set("logComponentVerbosity", bson::Value(R"({"nobody": {"verbosity": 3}})"_json)), ErrorCode::kBadValue);
}

TEST_F(ParametersTest, SwitchesTakeNumbersToo) {
  EXPECT_TRUE(set("notablescan", bson::Value(1)).isOK());
  EXPECT_TRUE(parameters.notablescan);
}

TEST_F(ParametersTest, UnknownNamesAreRefused) {
  EXPECT_EQ(set("noSuchParameter", bson::Value(1)), ErrorCode::kInvalidOptions);
  EXPECT_FALSE(parameters.get("noSuchParameter").ok());
}

TEST_F(ParametersTest, SomeCanBeSetAtStartOnly) {
  EXPECT_EQ(set("enableTestCommands", bson::Value(true)), ErrorCode::kIllegalOperation);
  EXPECT_FALSE(parameters.settableAtRuntime("enableTestCommands"));
  EXPECT_TRUE(set("enableTestCommands", bson::Value(true), true).isOK());
  EXPECT_TRUE(parameters.enableTestCommands);
}

TEST_F(ParametersTest, SeveralArbitersAreAllowedAtStartOnly) {
  const auto allowed = [this] { return parameters.get("allowMultipleArbiters").element().truthy(); };
  EXPECT_FALSE(allowed());
  EXPECT_EQ(set("allowMultipleArbiters", bson::Value(true)), ErrorCode::kIllegalOperation);
  EXPECT_EQ(set("allowMultipleArbiters", bson::Value("yes"), true), ErrorCode::kTypeMismatch);
  EXPECT_FALSE(allowed());
  EXPECT_TRUE(parameters.setFromText("allowMultipleArbiters", "true").isOK());
  EXPECT_TRUE(allowed());
  EXPECT_FALSE(Parameters().get("allowMultipleArbiters").element().truthy()) << "each server has its own";
}

TEST_F(ParametersTest, SomeCanOnlyBeRead) {
  EXPECT_EQ(set("featureCompatibilityVersion", bson::Value("6.0"), true), ErrorCode::kIllegalOperation);
  EXPECT_EQ(parameters.get("featureCompatibilityVersion").element().asDocument()["version"].toStringOr(), "7.0");
}

TEST_F(ParametersTest, TextOfAnOptionIsReadAsNumberOrSwitch) {
  EXPECT_TRUE(parameters.setFromText("cursorTimeoutMillis", "1500").isOK());
  EXPECT_EQ(parameters.cursorTimeoutMillis, 1500);
  EXPECT_TRUE(parameters.setFromText("enableTestCommands", "1").isOK());
  EXPECT_TRUE(parameters.enableTestCommands);
  EXPECT_TRUE(parameters.setFromText("requireApiVersion", "true").isOK());
  EXPECT_TRUE(parameters.requireApiVersion);
  EXPECT_EQ(parameters.setFromText("cursorTimeoutMillis", "soon"), ErrorCode::kTypeMismatch);
}

TEST_F(ParametersTest, EveryNameHasAValue) {
  for (const auto name : parameters.names()) EXPECT_TRUE(parameters.get(name).ok()) << name;
}

}  // namespace troupe::server
