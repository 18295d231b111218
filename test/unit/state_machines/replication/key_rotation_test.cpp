#include "state_machines/replication/key_rotation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 100s;

TEST(KeyRotation, ANewSetGetsTheKeyOfTheDayAndTheNext) {  // CLK-008
  const KeyPlan plan = planKeys({}, {1000, 7}, kInterval);
  const auto id = static_cast<int64_t>(bson::Timestamp{1000, 7}.asUint64());
  EXPECT_EQ(plan.lacking, (std::vector<KeyLifetime>{{id, {1100, 0}}, {id + 1, {1200, 0}}}));
  EXPECT_EQ(plan.lookAgainAfter, 100s) << "when one of the two expires";
}

TEST(KeyRotation, NothingIsLackingWhileTwoAreLeft) {
  const KeyLifetime present[] = {{1, {500, 0}}, {2, {1100, 0}}, {3, {1200, 0}}};
  EXPECT_TRUE(planKeys(present, {1000, 1}, kInterval).lacking.empty());
  EXPECT_EQ(planKeys(present, {1060, 1}, kInterval).lookAgainAfter, 40s);
}

TEST(KeyRotation, TheNextOneIsMadeWhenOneExpires) {
  const KeyLifetime present[] = {{1, {1100, 0}}, {2, {1200, 0}}};
  const auto before = planKeys(present, {1099, 9}, kInterval);
  EXPECT_TRUE(before.lacking.empty());
  EXPECT_EQ(before.lookAgainAfter, 1s);
  const auto after = planKeys(present, {1100, 0}, kInterval);
  ASSERT_EQ(after.lacking.size(), 1u);
  EXPECT_EQ(after.lacking[0].expiresAt, (bson::Timestamp{1300, 0})) << "it goes on where the others end";
}

TEST(KeyRotation, AfterALongRestBothAreMadeAnew) {
  const KeyLifetime present[] = {{1, {1100, 0}}, {2, {1200, 0}}};
  const auto plan = planKeys(present, {5000, 0}, kInterval);
  ASSERT_EQ(plan.lacking.size(), 2u);
  EXPECT_EQ(plan.lacking[0].expiresAt, (bson::Timestamp{5100, 0}));
}

TEST(KeyRotation, NoIdIsGivenTwice) {
  const auto taken = static_cast<int64_t>(bson::Timestamp{2000, 0}.asUint64());
  const KeyLifetime present[] = {{taken, {1050, 0}}};
  const auto plan = planKeys(present, {1000, 1}, kInterval);
  ASSERT_EQ(plan.lacking.size(), 1u);
  EXPECT_EQ(plan.lacking[0].id, taken + 1) << "a primary whose clock was ahead has given it out";
}

TEST(KeyRotation, ThePlanIsNeverLeftAloneForLong) {
  EXPECT_EQ(planKeys({}, {1000, 0}, 24h * 90).lookAgainAfter, 1h);
  EXPECT_EQ(planKeys({}, {1000, 0}, 1s).lookAgainAfter, 1s);
}

TEST(KeyRotation, AtTheEndOfTimeThereIsNoKey) {
  const uint32_t last = 0xffffffff;
  EXPECT_TRUE(planKeys({}, {last, 0}, kInterval).lacking.empty());
  const auto plan = planKeys({}, {last - 10, 0}, kInterval);
  ASSERT_EQ(plan.lacking.size(), 1u);
  EXPECT_EQ(plan.lacking[0].expiresAt, (bson::Timestamp{last, 0}));
}

/// Whatever the clock does, a time of now is signed and the key of the next interval is there before.
TEST(KeyRotation, WhoeverFollowsThePlanAlwaysHasAKey) {
  std::vector<KeyLifetime> keys;
  for (uint32_t now = 1000; now < 3000;) {
    const KeyPlan plan = planKeys(keys, {now, 0}, kInterval);
    keys.insert(keys.end(), plan.lacking.begin(), plan.lacking.end());
    const auto valid = std::ranges::count_if(keys, [&](const auto& key) { return key.expiresAt.seconds > now; });
    EXPECT_EQ(valid, 2) << now;
    now += static_cast<uint32_t>(plan.lookAgainAfter.count());
  }
  EXPECT_LE(keys.size(), 22u);
}

}  // namespace
}  // namespace troupe::replication
