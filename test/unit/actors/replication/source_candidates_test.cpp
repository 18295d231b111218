#include "actors/replication/source_candidates.hpp"

#include <gtest/gtest.h>

namespace troupe::replication {
namespace {

OpTime secondOf(uint32_t seconds) { return {1, {seconds, 1}}; }

/// "me", the primary "p" and the hidden, delayed "h", as "me" sees them.
ReplicaView viewOfThree() {
  ReplicaView view;
  ReplicaSetConfig config;
  config.id = "rs";
  for (const char* host : {"me", "p", "h"}) {
    MemberConfig member;
    member.host = host;
    config.members.push_back(member);
    if (NodeName(host) == "me") continue;
    MemberView heard;
    heard.host = host;
    heard.heard = {0};
    heard.term = 3;
    heard.state = NodeName(host) == "p" ? MemberState::kPrimary : MemberState::kSecondary;
    heard.applied = secondOf(20);
    view.topology.memory.members.push_back(heard);
    view.contacts[host].roundTrip = std::chrono::milliseconds(7);
  }
  config.members[2].hidden = true;
  config.members[2].votes = 0;
  config.members[2].buildIndexes = false;
  config.members[2].secondaryDelaySecs = 60;
  config.settings.chainingAllowed = false;
  view.topology.document.self = "me";
  view.topology.document.config = config;
  view.topology.memory.phase = Topology::Phase::kFollower;
  view.topology.memory.term = 3;
  return view;
}

TEST(SourceCandidates, AreTheOtherMembersAsConfigAndHeartbeatsShowThem) {
  const Candidates known = candidatesOf(viewOfThree(), {}, 30);
  ASSERT_EQ(known.members.size(), 2u);
  EXPECT_EQ(known.primary, "p");
  EXPECT_FALSE(known.chainingAllowed);
  EXPECT_EQ(known.maxLagSecs, 30);
  EXPECT_EQ(known.self, SourceTraits());
  EXPECT_EQ(known.members[0].state, MemberState::kPrimary);
  EXPECT_EQ(known.members[0].applied, secondOf(20));
  EXPECT_EQ(known.members[0].ping, Millis(7));
  EXPECT_EQ(known.members[1].traits, (SourceTraits{false, false, true, 60}));
}

TEST(SourceCandidates, AreAsFarAsAnyReportOfThemSays) {
  EXPECT_EQ(candidatesOf(viewOfThree(), {{"p", {secondOf(25), {}}}}, 30).members[0].applied, secondOf(25));
  EXPECT_EQ(candidatesOf(viewOfThree(), {{"p", {secondOf(15), {}}}}, 30).members[0].applied, secondOf(20));
}

TEST(SourceCandidates, AreDownWhenNothingIsHeardOfThem) {
  ReplicaView view = viewOfThree();
  view.topology.memory.members[1].heard.clear();
  EXPECT_EQ(candidatesOf(view, {}, 30).members[1].state, MemberState::kDown);
}

/// As a node of another set at a member's address does: what was heard of the member has not expired yet.
TEST(SourceCandidates, AreDownWhileTheyRefuse) {
  ReplicaView view = viewOfThree();
  view.topology.memory.members[0].refusal = "InvalidReplicaSetConfig: p is in another set";
  const Candidates known = candidatesOf(view, {{"p", {secondOf(900), secondOf(900)}}}, 30);
  EXPECT_EQ(known.members[0].state, MemberState::kDown);
  EXPECT_EQ(known.members[1].state, MemberState::kSecondary);
  for (const Mission mission : {Mission::kFollow, Mission::kCatchUp})
    EXPECT_NE(chooseSource(known, {}, mission), std::optional<NodeName>("p"));
  EXPECT_EQ(whyToChangeSource(known, {.host = "p"}, {}, Mission::kFollow), "it is DOWN");
  EXPECT_EQ(checkRequestedSource(known, "p").code(), ErrorCode::kHostUnreachable);
}

TEST(SourceCandidates, AreNoneOfANodeThatIsNoMember) {
  ReplicaView view = viewOfThree();
  view.topology.document.self = "stranger";
  EXPECT_TRUE(candidatesOf(view, {}, 30).members.empty());
  EXPECT_TRUE(candidatesOf(ReplicaView(), {}, 30).members.empty());
}

}  // namespace
}  // namespace troupe::replication
