#include "supervisors/cli/replica_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

using bson::operator""_json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

bson::View memberOf(const bson::Document& status, size_t at) {
  auto each = status["members"].asArray().begin();
  for (; at > 0; --at) ++each;
  return (*each).asDocument();
}

const bson::Document kStatus = R"x({"set": "rs", "term": 3, "date": {"$date": "2026-01-01T00:00:10Z"},
  "majorityVoteCount": 2, "votingMembersCount": 3, "members": [
  {"name": "a:1", "state": 1, "stateStr": "PRIMARY", "health": 1, "self": true, "optimeDate": {"$date": "2026-01-01T00:00:09Z"}},
  {"name": "b:1", "state": 2, "stateStr": "SECONDARY", "health": 1, "pingMs": 4, "optimeDate": {"$date": "2026-01-01T00:00:05Z"},
   "lastHeartbeatRecv": {"$date": "2026-01-01T00:00:08Z"}, "lastHeartbeatMessage": ""},
  {"name": "c:1", "state": 7, "stateStr": "ARBITER", "health": 1, "lastHeartbeatRecv": {"$date": "2026-01-01T00:00:08Z"}},
  {"name": "d:1", "state": 8, "stateStr": "(not reachable/healthy)", "health": 0, "lastHeartbeatMessage": "silent"}]})x"_json;

TEST(ReplicaRows, LagIsCountedFromThePrimaryWhereBothAreKnown) {
  EXPECT_EQ(lagOf(kStatus, memberOf(kStatus, 0)), std::nullopt);
  EXPECT_EQ(lagOf(kStatus, memberOf(kStatus, 1)), 4.0);
  EXPECT_EQ(lagOf(kStatus, memberOf(kStatus, 2)), std::nullopt) << "arbiters hold no data";
  const auto unknown = R"({"members": [{"state": 1, "optimeDate": {"$date": "2026-01-01T00:00:05Z"}},
    {"state": 8, "optimeDate": {"$date": "1970-01-01T00:00:00Z"}}]})"_json;
  EXPECT_EQ(lagOf(unknown, memberOf(unknown, 1)), std::nullopt) << "nothing is known of what it has";
  const auto fresh = R"({"members": [{"state": 1, "optimeDate": {"$date": "1970-01-01T00:00:00Z"}},
    {"state": 2, "optimeDate": {"$date": "2026-01-01T00:00:05Z"}}]})"_json;
  EXPECT_EQ(lagOf(fresh, memberOf(fresh, 1)), std::nullopt) << "nothing is known of what the primary has";
  const auto headless = R"({"members": [{"state": 2, "optimeDate": {"$date": "2026-01-01T00:00:05Z"}}]})"_json;
  EXPECT_EQ(lagOf(headless, memberOf(headless, 0)), std::nullopt);
}

TEST(ReplicaRows, ShowALagInSeconds) {
  EXPECT_EQ(formatLag(0), "0 s");
  EXPECT_EQ(formatLag(4), "4.0 s");
}

TEST(ReplicaRows, ShowTheSetAndALineForEachMember) {
  const std::string text = renderReplicaSet(kStatus, 200, Paint(false));
  EXPECT_THAT(text, ContainsRegex("term +3\n"));
  EXPECT_THAT(text, ContainsRegex("primary +a:1\n"));
  EXPECT_THAT(text, HasSubstr("2 of 3 voting members"));
  EXPECT_THAT(text, ContainsRegex("a:1 +PRIMARY +this one"));
  EXPECT_THAT(text, ContainsRegex("b:1 +SECONDARY +2.0 s ago +4 ms +4.0 s"));
  EXPECT_THAT(text, ContainsRegex("d:1 +.not reachable/healthy. +never +silent"));
}

TEST(ReplicaRows, OfTwoPrimariesTheOneThatWasElectedLastCounts) {
  const auto two = R"({"members": [
    {"name": "a:1", "state": 1, "electionDate": {"$date": "2026-01-01T00:00:01Z"}},
    {"name": "b:1", "state": 1, "electionDate": {"$date": "2026-01-01T00:00:09Z"}}, {"name": "c:1", "state": 2}]})"_json;
  EXPECT_THAT(renderReplicaSet(two, 200, Paint(false)), ContainsRegex("primary +b:1\n"));
  const auto own = R"({"members": [
    {"name": "a:1", "state": 1, "self": true}, {"name": "b:1", "state": 1, "electionDate": {"$date": "2026-01-01T00:00:09Z"}}]})"_json;
  EXPECT_THAT(renderReplicaSet(own, 200, Paint(false)), ContainsRegex("primary +a:1\n"));
}

TEST(ReplicaRows, AMemberThatIsHeldUpSaysWhy) {
  const auto stale = R"({"members": [{"name": "a:1", "state": 3, "stateStr": "RECOVERING", "self": true,
    "lastHeartbeatMessage": "", "infoMessage": "too stale to catch up: see resync"}]})"_json;
  EXPECT_THAT(renderReplicaSet(stale, 200, Paint(false)), ContainsRegex("a:1 +RECOVERING .*too stale to catch up"));
}

TEST(ReplicaRows, ASetWithoutPrimarySaysSo) {
  EXPECT_THAT(renderReplicaSet(R"({"set": "rs", "members": []})"_json, 80, Paint(false)),
              ContainsRegex("primary +none"));
}

}  // namespace
}  // namespace troupe::supervisors
