#include "state_machines/replication/member_views.hpp"

#include "state_machines/replication/heartbeats.hpp"

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

/// The report of "b" to "a": itself, and "c" over that distance.
HeartbeatReply withNewsOfC(int distance, uint32_t second = 0) {
  HeartbeatReply reply = shown(memberOf(kConfig, "b:1"), "a:1");
  reply.sender.others = {{"c:1", distance, opTime(3, second)}};
  return reply;
}
/// "a" has heard of nobody.
Snapshot<Topology> alone(Phase phase = Phase::kFollower) {
  Snapshot<Topology> now = memberOf(kConfig, "a:1", phase);
  for (MemberView& view : now.memory.members) view.heard.clear();
  return now;
}

TEST(MemberViews, KeepWhatAMemberSaidLast) {  // REP-040
  Snapshot<Topology> b = memberOf(kConfig, "b:1", Phase::kPrimary);
  b.memory.applied = opTime(3, 5);
  const Outcome out = when(alone(), shown(b, "a:1"));
  Snapshot<Topology> now = out.next;
  EXPECT_TRUE(viewOf(now, "b:1").isAlive());
  EXPECT_EQ(viewOf(now, "b:1").state, MemberState::kPrimary);
  EXPECT_EQ(viewOf(now, "b:1").applied, opTime(3, 5));
  EXPECT_FALSE(viewOf(now, "c:1").isAlive());
  EXPECT_EQ(armed<LivenessTimeout>(out)->delay, Secs(1));
}

TEST(MemberViews, ForgetAMemberThatIsSilentForTheElectionTimeout) {  // REP-040
  Snapshot<Topology> now =
      when(when(alone(), shown(memberOf(kConfig, "b:1"), "a:1")).next, LivenessTimeout{"b:1", 0}).next;
  EXPECT_FALSE(viewOf(now, "b:1").isAlive());
  EXPECT_EQ(viewOf(now, "b:1").state, MemberState::kUnknown);
}

TEST(MemberViews, AMemberIsAliveIfAnyoneHeardFromIt) {  // REP-049, REP-050
  Snapshot<Topology> now = when(alone(), withNewsOfC(0, 9)).next;
  EXPECT_EQ(viewOf(now, "c:1").heard, std::set<int32_t>{1});
  EXPECT_EQ(viewOf(now, "c:1").applied, opTime(3, 9));
}

TEST(MemberViews, IgnoreWhatIsSaidAboutThemselves) {  // REP-050
  HeartbeatReply reply = shown(memberOf(kConfig, "b:1"), "a:1");
  reply.sender.others = {{"a:1", 0, opTime(3, 99)}, {"z:1", 0, {}}};
  const Outcome out = when(alone(), reply);
  EXPECT_EQ(out.next.memory.applied, OpTime{});
  EXPECT_EQ(out.next.memory.members.size(), 2u);
}

TEST(MemberViews, ReportsOmitMembersThatAreDown) {  // REP-049
  Snapshot<Topology> now = memberOf(kConfig, "a:1");
  EXPECT_EQ(reportFor(Turn(now), "b:1").others, (std::vector<Heard>{{"c:1", 0, {}}}));
  viewOf(now, "c:1").heard.clear();
  EXPECT_TRUE(reportFor(Turn(now), "b:1").others.empty());
}

TEST(MemberViews, ReportsOfPositionsAreSignsOfLife) {  // REP-050
  const Outcome out = when(alone(), MembersHeard{{{"b:1", 0, opTime(3, 4)}, {"c:1", 1, opTime(3, 5)}}});
  Snapshot<Topology> now = out.next;
  EXPECT_EQ(viewOf(now, "b:1").heard, std::set<int32_t>{0});
  EXPECT_EQ(viewOf(now, "c:1").heard, std::set<int32_t>{1});
  EXPECT_EQ(viewOf(now, "c:1").applied, opTime(3, 5));
  EXPECT_EQ(armed<LivenessTimeout>(out)->delay, Secs(1));
  now = when(now, MembersHeard{{{"c:1", 0, opTime(3, 2)}, {"a:1", 0, {}}, {"z:1", 0, {}}, {"b:1", 2, {}}}}).next;
  EXPECT_EQ(viewOf(now, "c:1").applied, opTime(3, 5)) << "an older report";
  EXPECT_EQ(viewOf(now, "b:1").heard, std::set<int32_t>{0}) << "in a set of three, nobody is two away";
}

TEST(MemberViews, APrimaryThatReachesAMajorityThroughReportsAloneStaysPrimary) {  // REP-052, ELE-032
  Snapshot<Topology> now = memberOf(kConfig, "a:1", Phase::kPrimary);
  viewOf(now, "b:1").heard.clear();
  now = when(now, MembersHeard{{{"b:1", 1, {}}}}).next;
  now = when(now, LivenessTimeout{"c:1", 0}).next;
  EXPECT_EQ(now.memory.phase, Phase::kPrimary) << "somebody has reported for b";
  EXPECT_EQ(phaseAfter(when(now, LivenessTimeout{"b:1", 1})), Phase::kFollower);
}

TEST(MemberViews, RumoursDieBecauseEachTellingMakesThemMoreDistant) {
  EXPECT_EQ(maxDistance(configOf({"a:1", "b:1"})), 0);
  EXPECT_EQ(maxDistance(kConfig), 1);
  Snapshot<Topology> now = when(alone(), withNewsOfC(1)).next;
  EXPECT_FALSE(viewOf(now, "c:1").isAlive()) << "in a set of three, nobody is two away";
  viewOf(now, "c:1").heard = {1};
  EXPECT_TRUE(reportFor(Turn(now), "b:1").others.empty()) << "nor is this passed on";
}

TEST(MemberViews, ADeadMemberIsForgottenByAllAlthoughTheyTellEachOtherOfIt) {
  Cluster set = Cluster::running(configOf({"a:1", "b:1", "c:1", "d:1", "e:1"}));
  set.kill("e:1");
  set.run(Secs(6));
  for (const char* host : {"a:1", "b:1", "c:1", "d:1"}) EXPECT_FALSE(viewOf(set[host].now, "e:1").isAlive()) << host;
}

TEST(MemberViews, APrimaryThatReachesAMajorityThroughAnotherStaysPrimary) {  // REP-052, ELE-032
  Cluster set = Cluster::running(configOf({"a:1", "b:1", "c:1", "d:1", "e:1"}));
  const NodeName primary = set.primary();
  std::vector<NodeName> others = set.others();
  Snapshot<Topology> now = set[primary].now;
  // It hears only from one, who hears from all.
  for (size_t i = 1; i < others.size(); ++i) {
    now = when(now, LivenessTimeout{others[i], 0}).next;
    now = when(now, LivenessTimeout{others[i], 2}).next;
    now = when(now, LivenessTimeout{others[i], 3}).next;
  }
  EXPECT_TRUE(leads(now.memory.phase));
  EXPECT_TRUE(seesMajority(now));
  now = when(now, LivenessTimeout{others[1], 1}).next;
  EXPECT_TRUE(leads(now.memory.phase)) << "three of five";
  now = when(now, LivenessTimeout{others[2], 1}).next;
  now = when(now, LivenessTimeout{others[3], 1}).next;
  EXPECT_EQ(now.memory.phase, Phase::kFollower);
}

TEST(MemberViews, APrimaryCutFromOneMemberKeepsLeadingAndTheMemberDoesNotDisturb) {  // REP-052
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), far = set.others().front();
  const int64_t term = set.term();
  set.cut(primary, far);
  set.run(Secs(30));
  EXPECT_EQ(set.primary(), primary);
  EXPECT_EQ(set.term(), term);
  EXPECT_EQ(viewOf(set[primary].now, far).heard, std::set<int32_t>{1});
}

TEST(MemberViews, ANewMemberOfAPrimaryCountsAsHeardOfForOneElectionTimeout) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary();
  ReplicaSetConfig config = configOf({primary, "x:1", "y:1"});
  for (auto& m : config.members)
    m.id = set.config(primary).has(m.host) ? set.config(primary).member(m.host)->id : m.id + 7;
  EXPECT_TRUE(set.command(primary, Reconfig{config, true})->isOK());
  EXPECT_EQ(set.primary(), primary);
  set.run(Millis(1100));
  EXPECT_EQ(set.phase(primary) == Phase::kPrimary, false) << "nobody of the new majority is there";
}

}  // namespace
}  // namespace troupe::replication::test
