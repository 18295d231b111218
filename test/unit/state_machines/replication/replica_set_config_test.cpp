#include "state_machines/replication/replica_set_config.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "messaging/bson/json.hpp"
#include "messaging/description/bson_archive.hpp"

namespace troupe::replication::test {
namespace {

using bson::operator""_json;

ReplicaSetConfig parsed(const bson::Document& document) {
  auto config = ReplicaSetConfig::parse(document);
  EXPECT_TRUE(config.isOK()) << config.status().toString();
  return config.isOK() ? *config : ReplicaSetConfig{};
}
ErrorCode failure(const bson::Document& document) { return ReplicaSetConfig::parse(document).status().code(); }
/// Members as text, in an otherwise good config.
bson::Document withMembers(const std::string& members, const std::string& more = "") {
  return *bson::fromJson(R"({"_id": "rs", "version": 1, "members": [)" + members + "]" + more + "}");
}
ErrorCode failureOf(const std::string& members, const std::string& more = "") {
  return failure(withMembers(members, more));
}
constexpr const char* kA = R"({"_id": 0, "host": "a:1"})";
std::string andA(const std::string& member) { return std::string(kA) + ", " + member; }
/// So many members.
bson::Document many(int members, int voters) {
  std::string text;
  for (int i = 0; i < members; ++i)
    text += (i ? "," : "") + std::string(R"({"_id":)") + std::to_string(i) + R"(,"host":"h)" + std::to_string(i) +
            ":1\"" + (i < voters ? "}" : R"(,"votes":0,"priority":0})");
  return withMembers(text);
}
constexpr auto kInvalid = ErrorCode::kInvalidReplicaSetConfig;

TEST(ReplicaSetConfig, FillsInWhatIsLeftOut) {
  const auto config = parsed(R"({"_id": "rs", "members": [{"_id": 0, "host": "a"}]})"_json);
  EXPECT_EQ(config.version, 1);
  EXPECT_EQ(config.members.at(0).host, "a:27017");
  EXPECT_EQ(config.members[0].priority, 1);
  EXPECT_EQ(config.members[0].votes, 1);
  EXPECT_TRUE(config.members[0].buildIndexes);
  EXPECT_EQ(config.settings.heartbeatIntervalMillis, Millis(2000));
  EXPECT_EQ(config.settings.electionTimeoutMillis, Millis(10'000));
  EXPECT_EQ(config.settings.catchUpTimeoutMillis, Millis(-1));
  EXPECT_EQ(config.settings.catchUpTakeoverDelayMillis, Millis(30'000));
  EXPECT_TRUE(config.settings.chainingAllowed);
}

TEST(ReplicaSetConfig, IsShownAsItWasGiven) {  // ELE-037
  const auto given =
      R"({"_id": "rs", "version": {"$numberLong": "4"}, "term": {"$numberLong": "2"}, "protocolVersion": 1,
    "writeConcernMajorityJournalDefault": false, "members": [
      {"_id": 3, "host": "a:1", "priority": 2.5, "tags": {"dc": "east"}},
      {"_id": 4, "host": "b:1", "priority": 0, "hidden": true, "votes": 0, "secondaryDelaySecs": 60},
      {"_id": 5, "host": "c:1", "arbiterOnly": true}],
    "settings": {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200, "chainingAllowed": false,
      "getLastErrorModes": {"east": {"dc": 1}}, "replicaSetId": {"$oid": "0123456789abcdef01234567"}}})"_json;
  const auto config = parsed(given);
  const bson::Document shown = machines::toBson(config);
  EXPECT_EQ(shown.view().at("members.0.priority").asDouble(), 2.5);
  EXPECT_EQ(shown.view().at("members.2.priority").asDouble(), 0) << "arbiters have none";
  EXPECT_EQ(shown.view().at("settings.electionTimeoutMillis").asInt32(), 1000);
  EXPECT_EQ(shown.view().at("protocolVersion").asInt64(), 1);
  EXPECT_EQ(shown["writeConcernMajorityJournalDefault"].asBool(), false);
  EXPECT_FALSE(shown.view().has("configsvr"));
  EXPECT_EQ(parsed(shown), config);
  EXPECT_EQ(*machines::fromBson<ReplicaSetConfig>(shown), config) << "as local.system.replset holds it";
}

TEST(ReplicaSetConfig, NamesUnknownFieldsAndWrongTypes) {
  EXPECT_EQ(failureOf(kA, R"(, "colour": 1)"), ErrorCode::kUnknownField);
  EXPECT_EQ(failureOf(R"({"_id": 0, "host": "a:1", "prio": 1})"), ErrorCode::kUnknownField);
  const auto status = ReplicaSetConfig::parse(withMembers(R"({"_id": 0, "host": 5})")).status();
  EXPECT_EQ(status.code(), ErrorCode::kTypeMismatch);
  EXPECT_NE(status.reason().find("members.0.host"), std::string::npos) << status.reason();
  EXPECT_EQ(failureOf(R"({"host": "a:1"})"), ErrorCode::kMissingRequiredField);
  EXPECT_EQ(failure(R"({"members": []})"_json), ErrorCode::kMissingRequiredField);
  EXPECT_EQ(failureOf(R"({"_id": 0.5, "host": "a:1"})"), ErrorCode::kTypeMismatch);
  EXPECT_EQ(failureOf(R"({"_id": 1e10, "host": "a:1"})"), kInvalid);
  EXPECT_EQ(failureOf(kA, R"(, "settings": {"electionTimeoutMillis": "1"})"), ErrorCode::kTypeMismatch);
}

TEST(ReplicaSetConfig, HasAtMostFiftyMembersAndSevenVoters) {  // REP-035
  EXPECT_TRUE(ReplicaSetConfig::parse(many(50, 7)).isOK());
  EXPECT_EQ(failure(many(51, 7)), kInvalid);
  EXPECT_EQ(failure(many(8, 8)), kInvalid);
  EXPECT_EQ(failureOf(""), kInvalid) << "nor none";
}

TEST(ReplicaSetConfig, RefusesWhatCannotWork) {
  EXPECT_EQ(failureOf(andA(R"({"_id": 0, "host": "b:1"})")), kInvalid) << "two with one _id";
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "a:1"})")), kInvalid) << "two with one host";
  EXPECT_EQ(failureOf(R"({"_id": 256, "host": "a:1"})"), kInvalid);
  EXPECT_EQ(failureOf(R"({"_id": 0, "host": "a:70000"})"), kInvalid);
  EXPECT_EQ(failureOf(R"({"_id": 0, "host": "a:1", "priority": 1001})"), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "votes": 2})")), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "votes": 0})")), kInvalid) << "priority without vote";
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "hidden": true})")), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "buildIndexes": false})")), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "secondaryDelaySecs": 5})")), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "arbiterOnly": true, "votes": 0})")), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "b:1", "arbiterOnly": true, "priority": 2})")), kInvalid);
  EXPECT_EQ(failureOf(andA(R"({"_id": 1, "host": "localhost:1"})")), kInvalid) << "local and other names";
  EXPECT_EQ(failureOf(R"({"_id": 0, "host": "a:1", "priority": 0})"), kInvalid) << "nobody can be primary";
  EXPECT_EQ(failureOf(kA, R"(, "protocolVersion": 0)"), kInvalid);
  EXPECT_EQ(failureOf(kA, R"(, "settings": {"electionTimeoutMillis": 0})"), kInvalid);
  EXPECT_EQ(failureOf(kA, R"(, "settings": {"catchUpTimeoutMillis": -2})"), kInvalid);
}

TEST(ReplicaSetConfig, AnArbiterIsNeitherLateNorWithoutIndexes) {
  const auto arbiterWith = [](const std::string& field) {
    return withMembers(andA(R"({"_id": 1, "host": "b:1", "arbiterOnly": true, )" + field + "}"));
  };
  for (const char* nonsense : {R"("secondaryDelaySecs": 5)", R"("buildIndexes": false)"}) {
    EXPECT_EQ(failure(arbiterWith(nonsense)), kInvalid) << nonsense;
    const Status refused = ReplicaSetConfig::parseSuccessor(arbiterWith(nonsense)).status();
    EXPECT_EQ(refused, kInvalid) << nonsense;
    EXPECT_NE(refused.reason().find("b:1"), std::string::npos) << refused.reason();
    EXPECT_NE(refused.reason().find("an arbiter holds no data"), std::string::npos) << refused.reason();
  }
  EXPECT_EQ(failure(arbiterWith(R"("secondaryDelaySecs": 0, "buildIndexes": true)")), ErrorCode::kOK);
  EXPECT_EQ(failure(arbiterWith(R"("hidden": true)")), ErrorCode::kOK);
  ReplicaSetConfig stored = parsed(arbiterWith(R"("priority": 0)"));
  stored.members[1].buildIndexes = false;
  stored.members[1].secondaryDelaySecs = 5;
  EXPECT_TRUE(stored.validate().isOK()) << "a member starts with the config that it has";
}

/// What would overflow, or keep a member from starting again.
TEST(ReplicaSetConfig, RefusesNumbersThatAreTooLarge) {
  const auto memberWith = [](const std::string& field) {
    return failureOf(R"({"_id": 0, "host": "a:1", )" + field + "}");
  };
  EXPECT_EQ(memberWith(R"("priority": {"$numberDouble": "NaN"})"), kInvalid);
  EXPECT_EQ(memberWith(R"("priority": {"$numberDouble": "Infinity"})"), kInvalid);
  EXPECT_EQ(memberWith(R"("priority": 1000)"), ErrorCode::kOK);
  EXPECT_EQ(failureOf(R"({"_id": -1, "host": "a:1"})"), kInvalid);
  const auto delayed = [](const std::string& seconds) {
    return failureOf(andA(R"({"_id": 1, "host": "b:1", "priority": 0, "secondaryDelaySecs": )" + seconds + "}"));
  };
  EXPECT_EQ(delayed("31622400"), ErrorCode::kOK) << "a year";
  EXPECT_EQ(delayed("31622401"), kInvalid);
  EXPECT_EQ(delayed("-1"), kInvalid);
  for (const std::string name : {"heartbeatTimeoutSecs", "heartbeatIntervalMillis", "electionTimeoutMillis",
                                 "catchUpTimeoutMillis", "catchUpTakeoverDelayMillis"}) {
    const auto withSetting = [&name](const std::string& value) {
      return failureOf(kA, R"(, "settings": {")" + name + "\": " + value + "}");
    };
    EXPECT_EQ(withSetting("2147483647"), ErrorCode::kOK) << name;
    EXPECT_EQ(withSetting("2147483648"), kInvalid) << name;
    EXPECT_EQ(withSetting("-2"), kInvalid) << name;
  }
}

TEST(ReplicaSetConfig, CountsMajorities) {
  EXPECT_EQ(parsed(many(1, 1)).majority(), 1);
  EXPECT_EQ(parsed(many(4, 4)).majority(), 3);
  EXPECT_EQ(parsed(many(9, 7)).majority(), 4);
  auto config = parsed(many(3, 3));
  EXPECT_EQ(config.writeMajority(), 2);
  config.members[1].arbiterOnly = config.members[2].arbiterOnly = true;
  EXPECT_EQ(config.writeMajority(), 1) << "arbiters hold no data";
  EXPECT_FALSE(config.isOnlyVoter("h0:1"));
  EXPECT_TRUE(parsed(many(3, 1)).isOnlyVoter("h0:1"));
}

TEST(ReplicaSetConfig, RanksPriorities) {  // ELE-002
  auto config = parsed(many(3, 3));
  config.members[1].priority = 3;
  config.members[2].priority = 2;
  EXPECT_EQ(config.priorityRank("h1:1"), 0);
  EXPECT_EQ(config.priorityRank("h2:1"), 1);
  EXPECT_EQ(config.priorityRank("h0:1"), 2);
}

TEST(ReplicaSetConfig, TheNewerOfTwoHasTheLaterTermThenTheHigherVersion) {
  EXPECT_TRUE((ConfigVersion{1, 5}.isNewerThan({9, 4})));
  EXPECT_FALSE((ConfigVersion{9, 4}.isNewerThan({1, 5})));
  EXPECT_TRUE((ConfigVersion{2, 5}.isNewerThan({1, 5})));
  EXPECT_TRUE((ConfigVersion{9, ConfigVersion::kNoTerm}.isNewerThan({8, 5}))) << "a forced one counts by its version";
  EXPECT_FALSE((ConfigVersion{2, 5}.isNewerThan({2, 5})));
  EXPECT_TRUE((ConfigVersion{1, 0}.isNewerThan(ConfigVersion{}))) << "any is newer than none";
}

TEST(ReplicaSetConfig, IsFollowedByAHigherVersionOfTheSameSet) {  // ELE-037
  const auto now = parsed(many(3, 3));
  const auto code = [&](auto change, bool force = false) {
    auto next = now;
    next.version = 2;
    change(next);
    return checkSuccessor(now, next, force).code();
  };
  constexpr auto kIncompatible = ErrorCode::kNewReplicaSetConfigurationIncompatible;
  EXPECT_EQ(code([](auto&) {}), ErrorCode::kOK);
  EXPECT_EQ(code([](auto& c) { c.version = 1; }), kIncompatible);
  EXPECT_EQ(code([](auto& c) { c.id = "other"; }), kIncompatible);
  EXPECT_EQ(code([](auto& c) { c.settings.replicaSetId = bson::ObjectId{{7}}; }), kIncompatible) << "it has none";
  EXPECT_EQ(code([](auto& c) { c.members[1].id = 77; }), kIncompatible);
  EXPECT_EQ(code([](auto& c) { c.members[1].arbiterOnly = true; }), kIncompatible);
  EXPECT_EQ(code([](auto& c) { c.members[1].buildIndexes = false; }), kIncompatible);
  EXPECT_EQ(code([](auto& c) { c.members[1].buildIndexes = false; }, true), kIncompatible) << "not by force either";
  EXPECT_EQ(code([](auto& c) { c.members[1].host = "new:1"; }), kInvalid) << "one voter goes and another comes";
  EXPECT_EQ(code([](auto& c) { c.members.pop_back(); }), ErrorCode::kOK);
  EXPECT_EQ(code([](auto& c) {
              c.members.pop_back();
              c.members.pop_back();
            }),
            kInvalid);
  EXPECT_EQ(code(
                [](auto& c) {
                  c.members.pop_back();
                  c.members.pop_back();
                },
                true),
            ErrorCode::kOK)
      << "by force";
  EXPECT_EQ(code([](auto& c) { c.members[1].votes = c.members[2].votes = 0; }), kInvalid);
}

TEST(ReplicaSetConfig, AVersionLeavesRoomForMore) {
  const auto following = [](int64_t present, int64_t next) {
    ReplicaSetConfig before = parsed(many(3, 3)), after = before;
    before.version = present;
    after.version = next;
    EXPECT_TRUE(before.validate().isOK()) << "a member starts with the config that it has";
    return checkSuccessor(before, after, false);
  };
  constexpr int64_t kChosen = ReplicaSetConfig::kMaxChosenVersion, kMost = ReplicaSetConfig::kMaxVersion;
  EXPECT_TRUE(following(1, kChosen).isOK());
  EXPECT_EQ(following(1, kChosen + 1), kInvalid);
  EXPECT_EQ(following(1, std::numeric_limits<int64_t>::max()), kInvalid);
  EXPECT_TRUE(following(kChosen, kChosen + 1).isOK()) << "it is not the last config of its set";
  EXPECT_EQ(following(kChosen, kChosen + 2), kInvalid);
  EXPECT_TRUE(following(kMost - 1, kMost).isOK());
  for (const int64_t last : {kMost, std::numeric_limits<int64_t>::max()}) {
    const Status refused = following(last, std::numeric_limits<int64_t>::max());
    EXPECT_EQ(refused, ErrorCode::kNewReplicaSetConfigurationIncompatible);
    EXPECT_NE(refused.reason().find("make a new set"), std::string::npos) << refused.reason();
  }
}

TEST(ReplicaSetConfig, AHostThatIsGivenTwiceMakesASuccessorIncompatible) {
  const bson::Document twice = withMembers(andA(R"({"_id": 1, "host": "a:1"})"));
  EXPECT_EQ(failure(twice), kInvalid) << "of a first config";
  EXPECT_EQ(ReplicaSetConfig::parseSuccessor(twice).status(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  const bson::Document withPort = withMembers(R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "a:27017"})");
  EXPECT_EQ(ReplicaSetConfig::parseSuccessor(withPort).status(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  const bson::Document sameId = withMembers(andA(R"({"_id": 0, "host": "b:1"})"));
  EXPECT_EQ(ReplicaSetConfig::parseSuccessor(sameId).status(), kInvalid) << "all else is as for a first config";
  EXPECT_TRUE(ReplicaSetConfig::parseSuccessor(withMembers(andA(R"({"_id": 1, "host": "b:1"})"))).isOK());
}

TEST(ReplicaSetConfig, WhatWouldHurtIsRefusedWhereItIsGiven) {
  const auto withSettings = [](const std::string& settings) {
    return failureOf(R"({"_id": 0, "host": "a:1", "tags": {"dc": "east"}})", R"(, "settings": {)" + settings + "}");
  };
  EXPECT_EQ(withSettings(R"("electionTimeoutMillis": 49)"), kInvalid);
  EXPECT_EQ(withSettings(R"("electionTimeoutMillis": 50)"), ErrorCode::kOK);
  EXPECT_EQ(withSettings(R"("getLastErrorModes": {"m": {"dc": 1}})"), ErrorCode::kOK);
  EXPECT_EQ(withSettings(R"("getLastErrorModes": {"m": {"dc": 1, "rack": 1}})"), kInvalid);
  EXPECT_EQ(withSettings(R"("getLastErrorModes": {"m": 3})"), kInvalid);
  EXPECT_EQ(withSettings(R"("getLastErrorModes": {"m": {}})"), kInvalid) << "nobody would have to acknowledge";
  for (const char* count : {"0", "-1", "1.5", R"("2")", "true", "null", R"({"$numberDouble": "NaN"})", "1e300"})
    EXPECT_EQ(withSettings(R"("getLastErrorModes": {"m": {"dc": )" + std::string(count) + "}}"), kInvalid) << count;
  EXPECT_EQ(withSettings(R"("getLastErrorModes": {"m": {"dc": 2.0}})"), ErrorCode::kOK) << "members may be added later";
  EXPECT_EQ(withSettings(R"("getLastErrorDefaults": {})"), ErrorCode::kOK);
  EXPECT_EQ(withSettings(R"("getLastErrorDefaults": {"w": 1, "wtimeout": 0})"), ErrorCode::kOK);
  for (const char* unread : {R"({"w": 2})", R"({"w": "majority"})", R"({"w": 1, "wtimeout": 5})", R"({"j": true})"}) {
    const auto refused = ReplicaSetConfig::parse(
        withMembers(kA, std::string(R"(, "settings": {"getLastErrorDefaults": )") + unread + "}"));
    EXPECT_EQ(refused.status(), kInvalid) << unread;
    EXPECT_NE(refused.status().reason().find("setDefaultRWConcern"), std::string::npos) << refused.status().reason();
  }
  const auto tagged = [](size_t bytes) {
    return failureOf(R"({"_id": 0, "host": "a:1", "tags": {"text": ")" + std::string(bytes, 'x') + R"("}})");
  };
  EXPECT_EQ(tagged(60'000), ErrorCode::kOK);
  EXPECT_EQ(tagged(66'000), kInvalid);
  ReplicaSetConfig stored = parsed(withMembers(kA));
  stored.settings.electionTimeoutMillis = ConfigMillis(1);
  EXPECT_TRUE(stored.validate().isOK()) << "a member starts with the config that it has";
}

}  // namespace
}  // namespace troupe::replication::test
