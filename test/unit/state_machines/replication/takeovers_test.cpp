#include "state_machines/replication/takeovers.hpp"

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

/// "a" has the priority 3, "b" 2, "c" 1.
ReplicaSetConfig ranked() {
  ReplicaSetConfig config = configOf(kThree);
  config.members[0].priority = 3;
  config.members[1].priority = 2;
  return config;
}

/// The report of "c", which leads term 3 and has written at that second, or up to that term only.
HeartbeatReply primaryC(const NodeName& to, OpTime applied = {}) {
  Snapshot<Topology> c = memberOf(ranked(), "c:1", Phase::kPrimary);
  c.memory.applied = applied;
  return shown(c, to);
}

TEST(Takeovers, TheHigherThePriorityTheSoonerANodeStandsAgainstAPrimary) {  // ELE-002
  const ReplicaSetConfig config = ranked();
  EXPECT_EQ(priorityTakeoverDelay(config, "a:1"), Secs(1));
  EXPECT_EQ(priorityTakeoverDelay(config, "b:1"), Secs(2));
  EXPECT_EQ(armed<PriorityTakeoverDue>(when(memberOf(config, "a:1"), primaryC("a:1")))->delay, Secs(1));
  EXPECT_EQ(armed<PriorityTakeoverDue>(when(memberOf(config, "b:1"), primaryC("b:1")))->delay, Secs(2));
}

TEST(Takeovers, ArmTheirTimerOnce) {  // REP-041
  const Outcome first = when(memberOf(ranked(), "a:1"), primaryC("a:1"));
  EXPECT_FALSE(armed<PriorityTakeoverDue>(when(first.next, primaryC("a:1")))) << "each heartbeat would put it off";
}

TEST(Takeovers, NobodyStandsAgainstAPrimaryOfTheSamePriority) {
  const ReplicaSetConfig config = configOf(kThree);
  EXPECT_FALSE(armed<PriorityTakeoverDue>(when(memberOf(config, "a:1"), primaryC("a:1"))));
}

TEST(Takeovers, APriorityTakeoverBeginsWithADryRun) {  // ELE-002, ELE-007
  const Snapshot<Topology> now = when(memberOf(ranked(), "a:1"), primaryC("a:1")).next;
  const Outcome out = when(now, PriorityTakeoverDue{});
  EXPECT_EQ(phaseAfter(out), Phase::kDryRun);
  EXPECT_FALSE(said<VoteRequest>(out).at(0).second.leaderless);
  EXPECT_EQ(phaseAfter(when(out.next, primaryC("a:1"))), Phase::kDryRun) << "that there is a primary is no news";
}

TEST(Takeovers, ANodeFarBehindThePrimaryDoesNotTakeOver) {
  Snapshot<Topology> now = when(memberOf(ranked(), "a:1"), primaryC("a:1", opTime(3, 100))).next;
  EXPECT_EQ(phaseAfter(when(now, PriorityTakeoverDue{})), Phase::kFollower);
  now.memory.applied = opTime(3, 98);
  EXPECT_EQ(phaseAfter(when(now, PriorityTakeoverDue{})), Phase::kDryRun);
}

TEST(Takeovers, AreOffWhenTheReasonHasGone) {
  const Snapshot<Topology> waiting = when(memberOf(ranked(), "b:1"), primaryC("b:1")).next;
  Snapshot<Topology> a = memberOf(ranked(), "a:1", Phase::kPrimary, 4);
  const Outcome out = when(waiting, shown(a, "b:1"));
  EXPECT_FALSE(out.next.memory.priorityTakeover);
  EXPECT_EQ(phaseAfter(when(out.next, PriorityTakeoverDue{})), Phase::kFollower);
}

TEST(Takeovers, ANodeAheadOfAPrimaryThatCatchesUpStandsAfterTheDelay) {  // ELE-003
  ReplicaSetConfig config = configOf(kThree);
  Snapshot<Topology> now = memberOf(config, "a:1");
  now.memory.applied = opTime(2, 20);
  const Outcome armedOut = when(now, primaryC("a:1", opTime(2, 10)));
  ASSERT_TRUE(armed<CatchUpTakeoverDue>(armedOut));
  EXPECT_EQ(armed<CatchUpTakeoverDue>(armedOut)->delay, Secs(30));
  const Outcome out = when(armedOut.next, CatchUpTakeoverDue{});
  EXPECT_EQ(phaseAfter(out), Phase::kDryRun);
  EXPECT_EQ(out.next.memory.standing, ElectionReason::kCatchUpTakeover);
}

TEST(Takeovers, NobodyOvertakesAPrimaryThatHasWrittenInItsTerm) {  // ELE-003
  Snapshot<Topology> now = memberOf(configOf(kThree), "a:1");
  now.memory.applied = opTime(2, 20);
  EXPECT_FALSE(armed<CatchUpTakeoverDue>(when(now, primaryC("a:1", opTime(3, 11)))));
  now = when(now, primaryC("a:1", opTime(2, 10))).next;
  now = when(now, primaryC("a:1", opTime(3, 21))).next;
  EXPECT_FALSE(now.memory.catchUpTakeover);
}

TEST(Takeovers, ACatchUpTakeoverCanBeSwitchedOff) {  // ELE-003
  ReplicaSetConfig config = configOf(kThree);
  config.settings.catchUpTakeoverDelayMillis = Millis(-1);
  Snapshot<Topology> now = memberOf(config, "a:1");
  now.memory.applied = opTime(2, 20);
  EXPECT_FALSE(armed<CatchUpTakeoverDue>(when(now, primaryC("a:1", opTime(2, 10)))));
}

TEST(Takeovers, TheNodeOfTheHighestPriorityLeadsInTheEnd) {  // ELE-002
  ReplicaSetConfig config = ranked();
  Cluster set = Cluster::running(config);
  set.run(Secs(10));
  ASSERT_EQ(set.primary(), "a:1");
  set.kill("a:1");
  set.run(Secs(10));
  EXPECT_EQ(set.primary(), "b:1");
  set.restart("a:1");
  const Millis back = set.clock();
  while (set.primary() != "a:1" && set.clock() - back < Secs(30)) set.run(Millis(10));
  EXPECT_EQ(set.primary(), "a:1");
  EXPECT_GE(set.clock() - back, Secs(1)) << "after its delay";
}

}  // namespace
}  // namespace troupe::replication::test
