#include "state_machines/replication/positions.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::replication::test {
namespace {

OpTime at(int64_t term, uint32_t seconds) { return {term, {seconds, 1}}; }
Position everywhere(OpTime time) { return {time, time}; }

ReplicaSetConfig setOf(const std::string& members, const std::string& more = "") {
  auto config = ReplicaSetConfig::parse(*bson::fromJson(R"({"_id": "rs", "members": [)" + members + "]" + more + "}"));
  EXPECT_TRUE(config.isOK()) << config.status().toString();
  return *config;
}
/// a, b and c.
ReplicaSetConfig ofThree(const std::string& more = "") {
  return setOf(R"({"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"}, {"_id": 2, "host": "c:1"})", more);
}

TEST(CommitPoint, IsWhatAMajorityHasMadeDurable) {  // REP-043
  const Positions positions{
      {"a:1", everywhere(at(2, 9))}, {"b:1", everywhere(at(2, 7))}, {"c:1", {at(2, 8), at(2, 5)}}};
  EXPECT_EQ(commitPoint(ofThree(), positions, 2, {}), at(2, 7));
}

TEST(CommitPoint, CountsWhatIsAppliedWhereTheConfigSaysSo) {  // REP-044
  const auto config = ofThree(R"(, "writeConcernMajorityJournalDefault": false)");
  const Positions positions{{"a:1", {at(2, 9), at(2, 1)}}, {"c:1", {at(2, 8), at(2, 1)}}};
  EXPECT_EQ(commitPoint(config, positions, 2, {}), at(2, 8));
}

TEST(CommitPoint, NeverGoesBack) {
  const Positions positions{{"a:1", everywhere(at(2, 9))}, {"b:1", everywhere(at(2, 7))}};
  EXPECT_EQ(commitPoint(ofThree(), positions, 2, at(2, 8)), at(2, 8));
}

/// A majority has entries of the last term, but a member with a later one could still win an election and undo them.
TEST(CommitPoint, OfAnEarlierTermIsNotCommittedByCounting) {
  const Positions old{{"a:1", everywhere(at(2, 9))}, {"b:1", everywhere(at(2, 9))}, {"c:1", everywhere(at(2, 9))}};
  EXPECT_EQ(commitPoint(ofThree(), old, 3, at(1, 4)), at(1, 4));
  const Positions oneOfOurs{{"a:1", everywhere(at(3, 10))}, {"b:1", everywhere(at(3, 10))}};
  EXPECT_EQ(commitPoint(ofThree(), oneOfOurs, 3, at(1, 4)), at(3, 10));
}

TEST(CommitPoint, CountsVotersWithDataOnly) {
  const auto config = setOf(R"({"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"},
    {"_id": 2, "host": "arbiter:1", "arbiterOnly": true}, {"_id": 3, "host": "x:1", "votes": 0, "priority": 0},
    {"_id": 4, "host": "y:1", "votes": 0, "priority": 0})");
  Positions positions{{"a:1", everywhere(at(1, 9))}, {"x:1", everywhere(at(1, 9))}, {"y:1", everywhere(at(1, 9))}};
  EXPECT_EQ(commitPoint(config, positions, 1, {}), OpTime{});
  positions["b:1"] = everywhere(at(1, 3));
  EXPECT_EQ(commitPoint(config, positions, 1, {}), at(1, 3));
}

TEST(CommitPoint, OfASetOfOneFollowsItsOwnJournal) {
  const auto config = setOf(R"({"_id": 0, "host": "a:1"})");
  EXPECT_EQ(commitPoint(config, {{"a:1", {at(1, 9), at(1, 4)}}}, 1, {}), at(1, 4));
  EXPECT_EQ(commitPoint(ReplicaSetConfig{}, {}, 1, at(1, 2)), at(1, 2));  // before there is a config
}

TEST(CommitPoint, IsTakenOverFromTheSourceUpToWhatIsApplied) {  // REP-047
  EXPECT_EQ(learnedFromSource(at(2, 9), at(2, 7), at(2, 1)), at(2, 7));
  EXPECT_EQ(learnedFromSource(at(2, 5), at(2, 7), at(2, 1)), at(2, 5));
  EXPECT_EQ(learnedFromSource(at(2, 5), at(2, 7), at(2, 6)), at(2, 6));
  EXPECT_EQ(learnedFromSource(at(1, 5), at(2, 7), {}), at(1, 5));
}

/// The source has rolled back the entry that is the newest here: it must not count as committed.
TEST(CommitPoint, OfALaterTermSaysNothingAboutAnEntryOfAnEarlierOne) {
  EXPECT_EQ(learnedFromSource(at(3, 6), at(2, 7), at(2, 1)), at(2, 1));
}

TEST(CommitPoint, IsTakenOverFromAHeartbeatOfTheOwnBranchOnly) {  // REP-046
  EXPECT_EQ(learnedFromHeartbeat(at(3, 9), at(2, 7), at(2, 1)), at(2, 1));
  EXPECT_EQ(learnedFromHeartbeat(at(2, 9), at(2, 7), at(2, 1)), at(2, 9));
  EXPECT_EQ(learnedFromHeartbeat(at(2, 4), at(2, 7), at(2, 6)), at(2, 6));
}

TEST(Acknowledgement, OfANumberCountsMembersThatHaveTheWrite) {
  const auto config = ofThree();
  const Positions positions{{"a:1", everywhere(at(1, 9))}, {"b:1", {at(1, 9), at(1, 8)}}};
  EXPECT_TRUE(isSatisfied(config, positions, {}, at(1, 9), {.members = 2}));
  EXPECT_FALSE(isSatisfied(config, positions, {}, at(1, 9), {.members = 2, .journaled = true}));
  EXPECT_TRUE(isSatisfied(config, positions, {}, at(1, 8), {.members = 2, .journaled = true}));
  EXPECT_FALSE(isSatisfied(config, positions, {}, at(1, 8), {.members = 3}));
}

TEST(Acknowledgement, OfAMajorityIsTheCommitPoint) {
  const Positions all{{"a:1", everywhere(at(1, 9))}, {"b:1", everywhere(at(1, 9))}, {"c:1", everywhere(at(1, 9))}};
  EXPECT_FALSE(isSatisfied(ofThree(), all, at(1, 8), at(1, 9), {.majority = true}));
  EXPECT_TRUE(isSatisfied(ofThree(), {}, at(1, 9), at(1, 9), {.majority = true}));
}

TEST(Acknowledgement, OfAJournaledMajorityCountsVotersWithDataOnTheirDisks) {  // REP-044
  const auto lax = ofThree(R"(, "writeConcernMajorityJournalDefault": false)");
  Positions positions{{"a:1", everywhere(at(1, 9))}, {"b:1", {at(1, 9), at(1, 8)}}};
  EXPECT_TRUE(isSatisfied(lax, positions, at(1, 9), at(1, 9), {.majority = true}));
  EXPECT_FALSE(isSatisfied(lax, positions, at(1, 9), at(1, 9), {.majority = true, .journaled = true}));
  positions["b:1"] = everywhere(at(1, 9));
  EXPECT_TRUE(isSatisfied(lax, positions, at(1, 9), at(1, 9), {.majority = true, .journaled = true}));
  EXPECT_FALSE(isSatisfied(lax, positions, at(1, 8), at(1, 9), {.majority = true, .journaled = true}));
}

TEST(Acknowledgement, OfAModeWithoutANameIsUnknown) {
  EXPECT_EQ(checkSatisfiable(ofThree(), {.mode = ""}).code(), ErrorCode::kUnknownReplWriteConcern);
}

TEST(Acknowledgement, OfAModeCountsTheValuesOfEachTag) {
  const auto config = setOf(R"({"_id": 0, "host": "a:1", "tags": {"dc": "east", "disk": "ssd"}},
    {"_id": 1, "host": "b:1", "tags": {"dc": "east"}}, {"_id": 2, "host": "c:1", "tags": {"dc": "west"}})",
                            R"(, "settings": {"getLastErrorModes": {"two": {"dc": 2}, "fast": {"disk": 1, "dc": 1},
    "three": {"dc": 3}}})");
  Positions positions{{"a:1", everywhere(at(1, 9))}, {"b:1", everywhere(at(1, 9))}};
  EXPECT_FALSE(isSatisfied(config, positions, {}, at(1, 9), {.mode = "two"}));
  EXPECT_TRUE(isSatisfied(config, positions, {}, at(1, 9), {.mode = "fast"}));
  positions["c:1"] = everywhere(at(1, 9));
  EXPECT_TRUE(isSatisfied(config, positions, {}, at(1, 9), {.mode = "two"}));
  EXPECT_TRUE(checkSatisfiable(config, {.mode = "two"}).isOK());
  EXPECT_EQ(checkSatisfiable(config, {.mode = "three"}).code(), ErrorCode::kUnsatisfiableWriteConcern);
  EXPECT_EQ(checkSatisfiable(config, {.mode = "none"}).code(), ErrorCode::kUnknownReplWriteConcern);
}

/// As a config of an earlier server may have it; a new one is refused.
TEST(Acknowledgement, OfAModeThatAsksForNobodyIsNeverSatisfied) {
  auto config = setOf(R"({"_id": 0, "host": "a:1", "tags": {"dc": "east"}})");
  config.settings.getLastErrorModes =
      *bson::fromJson(R"({"none": {}, "zero": {"dc": 0}, "less": {"dc": -1}, "text": {"dc": "1"}, "part": {"dc": 0.5},
                          "also": {"dc": 1, "rack": null}, "good": {"dc": 1}})");
  const Positions positions{{"a:1", everywhere(at(1, 9))}};
  for (const char* mode : {"none", "zero", "less", "text", "part", "also"}) {
    EXPECT_FALSE(isSatisfied(config, positions, at(1, 9), at(1, 9), {.mode = mode})) << mode;
    EXPECT_EQ(checkSatisfiable(config, {.mode = mode}), ErrorCode::kUnsatisfiableWriteConcern) << mode;
  }
  EXPECT_TRUE(isSatisfied(config, positions, {}, at(1, 9), {.mode = "good"}));
}

TEST(Acknowledgement, OfMoreMembersThanHaveDataCannotBeSatisfied) {
  const auto config = setOf(R"({"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"},
    {"_id": 2, "host": "c:1", "arbiterOnly": true})");
  EXPECT_TRUE(checkSatisfiable(config, {.members = 2}).isOK());
  EXPECT_EQ(checkSatisfiable(config, {.members = 3}).code(), ErrorCode::kUnsatisfiableWriteConcern);
  EXPECT_TRUE(checkSatisfiable(config, {.majority = true}).isOK());
}

}  // namespace
}  // namespace troupe::replication::test
