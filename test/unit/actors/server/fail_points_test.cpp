#include "actors/server/fail_points.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::server {

using bson::operator""_json;

class FailPointsTest : public ::testing::Test {
 protected:
  double chance = 0.5;
  FailPoints points{[this] { return chance; }};

  Status arm(const bson::Document& command) {
    const auto data = command["data"];
    return points
        .configure("failCommand", command["mode"], data.is(bson::Type::kDocument) ? data.asDocument() : bson::View())
        .status();
  }
  /// How the point behaves when it is met `times` times: "x" fires, "." does not.
  std::string met(int times) {
    std::string pattern;
    for (int i = 0; i < times; ++i) pattern += points.fires("failCommand") ? 'x' : '.';
    return pattern;
  }
  int64_t entered() { return points.describe()["failCommand"].asDocument()["timesEntered"].toInt64(); }
};

TEST_F(FailPointsTest, AreOffUntilArmed) { EXPECT_EQ(met(3), "..."); }

TEST_F(FailPointsTest, AlwaysOnFiresUntilSwitchedOff) {
  ASSERT_TRUE(arm(R"({"mode": "alwaysOn", "data": {"errorCode": 7}})"_json).isOK());
  EXPECT_EQ(points.fires("failCommand")->view()["errorCode"].toInt64(), 7);
  EXPECT_EQ(met(2), "xx");
  ASSERT_TRUE(arm(R"({"mode": "off"})"_json).isOK());
  EXPECT_EQ(met(2), "..");
}

TEST_F(FailPointsTest, TimesFiresSoOftenAndIsOffAfterwards) {
  ASSERT_TRUE(arm(R"({"mode": {"times": 2}})"_json).isOK());
  EXPECT_EQ(met(4), "xx..");
  EXPECT_EQ(points.describe()["failCommand"].asDocument()["mode"].toStringOr(), "off");
}

TEST_F(FailPointsTest, TimesZeroNeverFires) {
  ASSERT_TRUE(arm(R"({"mode": {"times": 0}})"_json).isOK());
  EXPECT_EQ(met(2), "..");
}

TEST_F(FailPointsTest, SkipLetsTheFirstPassAndThenAlwaysFires) {
  ASSERT_TRUE(arm(R"({"mode": {"skip": 2}})"_json).isOK());
  EXPECT_EQ(met(5), "..xxx");
}

TEST_F(FailPointsTest, ActivationProbabilityComparesWithChance) {
  ASSERT_TRUE(arm(R"({"mode": {"activationProbability": 0.4}})"_json).isOK());
  EXPECT_EQ(met(1), ".");
  chance = 0.39;
  EXPECT_EQ(met(1), "x");
}

TEST_F(FailPointsTest, ThatDoNotApplyNeitherFireNorCount) {
  ASSERT_TRUE(arm(R"({"mode": {"times": 1}, "data": {"for": "b"}})"_json).isOK());
  const auto meets = [&](std::string_view who) {
    return points.fires("failCommand", [&](bson::View data) { return data["for"].toStringOr() == who; }).has_value();
  };
  EXPECT_FALSE(meets("a"));
  EXPECT_TRUE(meets("b"));
  EXPECT_FALSE(meets("b"));
  EXPECT_EQ(entered(), 1);
}

TEST_F(FailPointsTest, TellHowOftenTheyWereEntered) {
  ASSERT_TRUE(arm(R"({"mode": "alwaysOn"})"_json).isOK());
  met(3);
  const auto again = points.configure("failCommand", R"({"mode": "off"})"_json ["mode"], {});
  EXPECT_EQ(*again, 3);
}

TEST_F(FailPointsTest, ArmingOneAgainReplacesItsModeAndData) {
  ASSERT_TRUE(arm(R"({"mode": {"skip": 5}, "data": {"errorCode": 1}})"_json).isOK());
  ASSERT_TRUE(arm(R"({"mode": {"times": 1}})"_json).isOK());
  EXPECT_TRUE(points.fires("failCommand")->empty());
  EXPECT_EQ(met(1), ".");
}

TEST_F(FailPointsTest, RefuseUnknownNamesAndModes) {
  EXPECT_EQ(points.configure("noSuchPoint", R"({"mode": "off"})"_json ["mode"], {}).status(),
            ErrorCode::kCommandFailed);
  EXPECT_EQ(arm(R"({"mode": "sometimes"})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(arm(R"({"mode": 1})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(arm(R"({"mode": {"times": -1}})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(arm(R"({"mode": {"times": "2"}})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(arm(R"({"mode": {"activationProbability": 1.5}})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(arm(R"({"mode": {"whenever": 1}})"_json), ErrorCode::kBadValue);
  EXPECT_EQ(met(1), ".");
}

TEST_F(FailPointsTest, KnowOnlyWhatTheServerAsksFor) {
  EXPECT_TRUE(FailPoints::known("failCommand"));
  EXPECT_TRUE(FailPoints::known("failGetMoreAfterCursorCheckout"));
  EXPECT_FALSE(FailPoints::known("somethingElse"));
}

}  // namespace troupe::server
