#include "messaging/log/verbosity.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "messaging/log/log.hpp"

namespace troupe::log {
namespace {

using bson::operator""_json;

TEST(Verbosity, ComponentsFollowTheBaseUntilTheyHaveALevelOfTheirOwn) {
  Verbosity verbosity;
  EXPECT_EQ(verbosity.of(Component::kCommand), 0);
  verbosity.setBase(2);
  EXPECT_EQ(verbosity.of(Component::kCommand), 2);
  ASSERT_TRUE(verbosity.set(R"({"command": {"verbosity": 0}})"_json).isOK());
  EXPECT_EQ(verbosity.of(Component::kCommand), 0);
  EXPECT_EQ(verbosity.of(Component::kNetwork), 2);
  ASSERT_TRUE(verbosity.set(R"({"command": {"verbosity": -1}})"_json).isOK());
  EXPECT_EQ(verbosity.of(Component::kCommand), 2);
}

TEST(Verbosity, AComponentWithinAnotherFollowsThatOneFirst) {
  Verbosity verbosity;
  ASSERT_TRUE(verbosity.set(R"({"verbosity": 1, "storage": {"verbosity": 3}})"_json).isOK());
  EXPECT_EQ(verbosity.of(Component::kRecovery), 3);
  ASSERT_TRUE(verbosity.set(R"({"storage": {"recovery": {"verbosity": 5}}})"_json).isOK());
  EXPECT_EQ(verbosity.of(Component::kRecovery), 5);
  EXPECT_EQ(verbosity.of(Component::kStorage), 3);
}

TEST(Verbosity, TellsItsLevelsInTheShapeInWhichTheyAreSet) {
  Verbosity verbosity;
  ASSERT_TRUE(verbosity.set(R"({"verbosity": 1, "storage": {"recovery": {"verbosity": 4}}})"_json).isOK());
  const bson::Document levels = verbosity.describe();
  EXPECT_EQ(levels["verbosity"].toInt64(), 1);
  EXPECT_EQ(levels["command"].asDocument()["verbosity"].toInt64(), -1);
  EXPECT_EQ(levels["storage"].asDocument()["recovery"].asDocument()["verbosity"].toInt64(), 4);
  Verbosity other;
  ASSERT_TRUE(other.set(levels).isOK());
  EXPECT_EQ(other.describe(), levels);
}

TEST(Verbosity, AWrongDocumentNamesItsPlaceAndChangesNothing) {
  Verbosity verbosity;
  const Status unknown = verbosity.set(R"({"verbosity": 3, "storage": {"cellar": {"verbosity": 1}}})"_json);
  EXPECT_EQ(unknown, ErrorCode::kBadValue);
  EXPECT_NE(unknown.reason().find("storage.cellar"), std::string::npos) << unknown.reason();
  EXPECT_EQ(verbosity.set(R"({"recovery": {"verbosity": 1}})"_json), ErrorCode::kBadValue) << "it lies in storage";
  EXPECT_EQ(verbosity.set(R"({"command": {"verbosity": 6}})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(verbosity.set(R"({"verbosity": -1})"_json), ErrorCode::kBadValue) << "the base has nothing to follow";
  EXPECT_EQ(verbosity.set(R"({"command": {"verbosity": "much"}})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(verbosity.set(R"({"command": 1})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(verbosity.base(), 0);
}

TEST(Log, KeepsDebugLinesUpToTheVerbosityOfTheirComponentWhileItRuns) {
  Log log({.file = "/dev/null"}, [] { return int64_t{0}; });
  log.debug(1, Component::kCommand, 1, "test", "too early");
  log.verbosity()->setBase(2);
  log.debug(2, Component::kCommand, 2, "test", "kept");
  log.debug(3, Component::kCommand, 3, "test", "too deep");
  ASSERT_TRUE(log.verbosity()->set(R"({"command": {"verbosity": 0}})"_json).isOK());
  log.debug(1, Component::kCommand, 4, "test", "silenced");
  log.debug(1, Component::kNetwork, 5, "test", "another component");
  const auto lines = log.recentLines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find(R"("s" : "D2")"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(R"("c" : "NETWORK")"), std::string::npos) << lines[1];
}

}  // namespace
}  // namespace troupe::log
