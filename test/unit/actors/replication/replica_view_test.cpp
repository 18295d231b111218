#include "actors/replication/replica_view.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "messaging/bson/document.hpp"

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;

TEST(ReplicaView, TellsHowLateThisMemberAppliesTheLog) {
  ReplicaView view;
  view.topology.document.self = "me:1";
  EXPECT_EQ(applyDelayOf(view), Duration::zero()) << "of no set as yet";
  ReplicaSetConfig config;
  config.members.resize(2);
  config.members[0].host = "other:1";
  config.members[0].secondaryDelaySecs = 7;
  config.members[1].host = "me:1";
  view.topology.document.config = config;
  EXPECT_EQ(applyDelayOf(view), Duration::zero());
  view.topology.document.config->members[1].secondaryDelaySecs = 3600;
  EXPECT_EQ(applyDelayOf(view), Duration(1h));
  view.topology.document.config->members.pop_back();
  EXPECT_EQ(applyDelayOf(view), Duration::max()) << "removed, it stays as it is";
}

/// A member's row in the status of "me:1", of a set of that member and itself.
bson::Document rowOf(const MemberView& other, const LinkErrors& linkErrors = {}) {
  ReplicaView view;
  view.topology.document.self = "me:1";
  view.topology.document.config.emplace().members.resize(2);
  view.topology.document.config->members[0].host = "me:1";
  view.topology.document.config->members[1].host = other.host;
  view.topology.memory.phase = Topology::Phase::kPrimary;
  view.topology.memory.members = {other};
  view.contacts[other.host].upSince = WallTime(10s);
  bson::Builder status;
  appendStatus(status, Membership("rs", "me:1"), view, {}, EntryDates(), WallTime(70s), 60, linkErrors);
  return bson::Document(status.finish().view().at("members.1").asDocument());
}

MemberView aliveIn(MemberState state) {
  MemberView member;
  member.host = "other:1";
  member.state = state;
  member.heard = {0};
  return member;
}

TEST(ReplicaView, AMemberIsHealthyOnceItWasHeardOfAndWhileThereIsAConnection) {
  const bson::Document up = rowOf(aliveIn(MemberState::kSecondary));
  EXPECT_EQ(up["health"].toDouble(), 1);
  EXPECT_EQ(up["uptime"].toInt64(), 60);
  EXPECT_EQ(up["lastHeartbeatMessage"].toStringOr("missing"), "");
  EXPECT_TRUE(up["optimeDate"].ok()) << "shells count on it";
  for (const auto& [state, message] :
       {std::pair(MemberState::kDown, "no connection"), std::pair(MemberState::kUnknown, "not heard of yet")}) {
    const bson::Document row = rowOf(aliveIn(state));
    EXPECT_EQ(row["health"].toDouble(), 0) << message;
    EXPECT_EQ(row["uptime"].toInt64(), 0) << message;
    EXPECT_EQ(row["lastHeartbeatMessage"].toStringOr(), message);
    EXPECT_FALSE(row["optimeDate"].ok()) << message << ": it would be of 1970";
  }
  MemberView silent = aliveIn(MemberState::kUnknown);
  silent.heard.clear();
  EXPECT_EQ(rowOf(silent)["lastHeartbeatMessage"].toStringOr(), "no sign of life within the election timeout");
  EXPECT_EQ(rowOf(silent)["state"].toInt64(), 8);
}

TEST(ReplicaView, TellsWhyThereIsNoLinkToAMember) {
  const LinkErrors linkErrors = [](const NodeName& host) { return "the proof of " + host + " is wrong"; };
  EXPECT_EQ(rowOf(aliveIn(MemberState::kDown), linkErrors)["lastHeartbeatMessage"].toStringOr(),
            "no connection: the proof of other:1 is wrong");
  EXPECT_EQ(rowOf(aliveIn(MemberState::kSecondary), linkErrors)["lastHeartbeatMessage"].toStringOr(), "");
  MemberView refusing = aliveIn(MemberState::kDown);
  refusing.refusal = "it refuses";
  EXPECT_EQ(rowOf(refusing, linkErrors)["lastHeartbeatMessage"].toStringOr(), "it refuses");
}

/// When entries were written is known only of members that have told of one.
TEST(ReplicaView, AMemberShowsWhenItsLastEntriesWereWritten) {
  MemberView member = aliveIn(MemberState::kSecondary);
  EXPECT_FALSE(rowOf(member)["lastAppliedWallTime"].ok());
  EXPECT_FALSE(rowOf(member)["lastDurableWallTime"].ok());
  member.applied = {1, {50, 1}};
  EXPECT_EQ(rowOf(member)["lastAppliedWallTime"].asDate(), bson::Date{50'000});
  EXPECT_FALSE(rowOf(member)["lastDurableWallTime"].ok()) << "it has told of none on its disk";
  member.durable = {1, {40, 1}};
  EXPECT_EQ(rowOf(member)["lastAppliedWallTime"].asDate(), bson::Date{50'000});
  EXPECT_EQ(rowOf(member)["lastDurableWallTime"].asDate(), bson::Date{40'000});
}

TEST(ReplicaView, AMemberThatIsTooStaleSaysSo) {
  ReplicaView view;
  view.topology.document.self = "me:1";
  view.topology.document.config.emplace().members.resize(1);
  view.topology.document.config->members[0].host = "me:1";
  view.topology.memory.phase = Topology::Phase::kFollower;
  view.topology.memory.tooStale = true;
  bson::Builder status;
  appendStatus(status, Membership("rs", "me:1"), view, {}, EntryDates(), WallTime(70s), 60);
  const bson::Document shown = status.finish();
  EXPECT_EQ(shown.view().at("members.0.stateStr").toStringOr(), "RECOVERING");
  EXPECT_EQ(shown.view().at("members.0.infoMessage").toStringOr(), "too stale to catch up: see resync");
}

}  // namespace
}  // namespace troupe::replication
