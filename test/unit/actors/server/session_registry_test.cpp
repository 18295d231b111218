#include "actors/server/session_registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "messaging/bson/json.hpp"

namespace troupe::server {

using namespace std::chrono_literals;
using bson::operator""_json;

bson::Document lsid(char byte) { return bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, byte)}); }

class SessionRegistryTest : public ::testing::Test {
 protected:
  std::atomic<int64_t> most{3};
  SessionRegistry sessions{most};
  const TimePoint start = TimePoint() + 1h;
};

TEST_F(SessionRegistryTest, UsingASessionBeginsIt) {
  const auto a = lsid('a');
  EXPECT_TRUE(sessions.touch(a, start).isOK());
  EXPECT_TRUE(sessions.touch(a, start + 1s).isOK());
  EXPECT_EQ(sessions.keys(), std::vector<std::string>{std::string(16, 'a')});
}

TEST_F(SessionRegistryTest, TheSameIdOfOthersIsAnotherSession) {
  const auto a = lsid('a');
  const auto ann = SessionRegistry::ownerOf("ann@admin"), bob = SessionRegistry::ownerOf("bob@admin");
  ASSERT_TRUE(sessions.touch(a, start, ann).isOK());
  ASSERT_TRUE(sessions.touch(a, start, bob).isOK());
  EXPECT_EQ(sessions.size(), 2u);
  sessions.end(*SessionRegistry::keyOf(a, ann));
  EXPECT_EQ(sessions.keys(), std::vector{*SessionRegistry::keyOf(a, bob)});
}

TEST_F(SessionRegistryTest, NoSessionIsNone) {
  EXPECT_TRUE(sessions.touch({}, start).isOK());
  EXPECT_EQ(sessions.size(), 0u);
}

TEST_F(SessionRegistryTest, AnIdMustBeAUuid) {
  EXPECT_EQ(sessions.touch(R"({"uid": 1})"_json, start), ErrorCode::kMissingRequiredField);
  EXPECT_EQ(sessions.touch(R"({"id": "abc"})"_json, start), ErrorCode::kTypeMismatch);
  const auto shortId = bson::doc("id", bson::Binary{bson::kBinaryUuid, "abc"});
  EXPECT_EQ(sessions.touch(shortId, start), ErrorCode::kInvalidUUID);
}

TEST_F(SessionRegistryTest, EndsIdleSessionsAndKeepsTheOthers) {
  const auto idle = lsid('a');
  const auto busy = lsid('b');
  ASSERT_TRUE(sessions.touch(idle, start).isOK());
  ASSERT_TRUE(sessions.touch(busy, start).isOK());
  ASSERT_TRUE(sessions.touch(busy, start + 20min).isOK());
  EXPECT_EQ(sessions.endIdle(start + 10min), std::vector<std::string>{std::string(16, 'a')});
  EXPECT_EQ(sessions.size(), 1u);
}

TEST_F(SessionRegistryTest, EndsASessionWhenItsClientSaysSo) {
  const auto a = lsid('a');
  ASSERT_TRUE(sessions.touch(a, start).isOK());
  sessions.end(std::string(16, 'a'));
  EXPECT_EQ(sessions.size(), 0u);
}

TEST_F(SessionRegistryTest, TheOneUnusedForLongestGivesItsPlaceToANewOne) {
  for (const char name : {'a', 'b', 'c'}) EXPECT_TRUE(sessions.touch(lsid(name), start).isOK());
  EXPECT_TRUE(sessions.touch(lsid('a'), start + 1s).isOK());
  EXPECT_TRUE(sessions.touch(lsid('d'), start + 2s).isOK());
  EXPECT_EQ(sessions.size(), 3u);
  EXPECT_EQ(sessions.displaced(), 1);
  const auto keys = sessions.keys();
  EXPECT_EQ(std::ranges::count(keys, std::string(16, 'b')), 0);
  EXPECT_EQ(std::ranges::count(keys, std::string(16, 'a')), 1);
  EXPECT_TRUE(sessions.touch(lsid('b'), start + 3s).isOK()) << "it is noted again at its next use";
  EXPECT_EQ(sessions.endIdle(start + 2s).size(), 1u) << "a, since c went for b";
}

}  // namespace troupe::server
