#include "state_machines/replication/step_up.hpp"

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

/// "a" lacks the vote of "b" to win term 4; its data is at second 10.
Snapshot<Topology> almostElected(const ReplicaSetConfig& config = kConfig) {
  Snapshot<Topology> now = memberOf(config, "a:1", Phase::kCandidate, 4);
  now.document.lastVote = {4, "a:1"};
  now.memory.standing = ElectionReason::kElectionTimeout;
  now.memory.granted = {"a:1"};
  now.memory.applied = opTime(3, 10);
  for (MemberView& view : now.memory.members) view.applied = opTime(3, 10);
  return now;
}
Outcome elected(const ReplicaSetConfig& config = kConfig) {
  return when(almostElected(config), VoteReply{"b:1", 4, false, true, ""});
}
/// The answer to the round of heartbeats of a member at that second.
HeartbeatReply caughtUpAt(const NodeName& host, uint32_t second) {
  Snapshot<Topology> member = memberOf(kConfig, host, Phase::kFollower, 4);
  member.memory.applied = opTime(3, second);
  return shown(member, "a:1");
}
/// Elected, and "c" is ahead of it.
Outcome behindC() { return when(when(elected().next, caughtUpAt("b:1", 10)).next, caughtUpAt("c:1", 17)); }

TEST(StepUp, AWinnerAnnouncesItselfToAllAtOnce) {  // ELE-018
  const Outcome out = elected();
  EXPECT_EQ(phaseAfter(out), Phase::kCatchingUp);
  const auto told = said<HeartbeatRequest>(out);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].second.sender.state, MemberState::kPrimary);
  EXPECT_EQ(told[0].second.sender.term, 4);
  EXPECT_EQ(did<AnnounceRole>(out)->state, MemberState::kPrimary);
  EXPECT_FALSE(did<AnnounceRole>(out)->writable);
}

TEST(StepUp, CatchesUpToTheNewestOperationThatTheRoundTellsOf) {  // ELE-019
  EXPECT_FALSE(did<CatchUp>(when(elected().next, caughtUpAt("b:1", 10)))) << "c has not answered";
  const Outcome out = behindC();
  ASSERT_TRUE(did<CatchUp>(out));
  EXPECT_EQ(did<CatchUp>(out)->target, opTime(3, 17));
  EXPECT_EQ(phaseAfter(out), Phase::kCatchingUp);
}

TEST(StepUp, HasNothingToCatchUpWhenNobodyIsAhead) {
  const Outcome out = when(when(elected().next, caughtUpAt("b:1", 10)).next, caughtUpAt("c:1", 9));
  EXPECT_EQ(phaseAfter(out), Phase::kDraining);
  EXPECT_EQ(did<Drain>(out)->term, 4);
}

TEST(StepUp, DoesNotWaitLongForMembersThatDoNotAnswer) {
  EXPECT_EQ(armed<CatchUpRoundOver>(elected())->delay, Millis(100));
  EXPECT_EQ(phaseAfter(when(elected().next, CatchUpRoundOver{})), Phase::kDraining);
  Snapshot<Topology> now = when(elected().next, caughtUpAt("b:1", 10)).next;
  EXPECT_EQ(phaseAfter(when(now, Unreachable{"c:1"})), Phase::kDraining);
  EXPECT_EQ(phaseAfter(when(now, LivenessTimeout{"c:1", 0})), Phase::kDraining);
}

TEST(StepUp, NeitherWaitsForNorCatchesUpWithAMemberThatOnlyOthersHaveHeard) {  // ELE-019
  Snapshot<Topology> now = almostElected();
  viewOf(now, "c:1").heard = {1};
  viewOf(now, "c:1").applied = opTime(3, 99);
  const Outcome won = when(now, VoteReply{"b:1", 4, false, true, ""});
  EXPECT_EQ(won.next.memory.awaited, std::set<NodeName>{"b:1"});
  EXPECT_EQ(phaseAfter(when(won.next, caughtUpAt("b:1", 10))), Phase::kDraining);
}

TEST(StepUp, DoesNotCatchUpWithWhoeverDidNotAnswer) {  // ELE-019
  Snapshot<Topology> now = almostElected();
  viewOf(now, "c:1").applied = opTime(3, 99);
  now = when(now, VoteReply{"b:1", 4, false, true, ""}).next;
  EXPECT_EQ(phaseAfter(when(now, CatchUpRoundOver{})), Phase::kDraining) << "it is dead, and with it what only it had";
}

TEST(StepUp, EndsCatchUpAtTheTarget) {  // ELE-020
  const Outcome some = when(behindC().next, AppliedAdvanced{opTime(3, 16)});
  EXPECT_EQ(phaseAfter(some), Phase::kCatchingUp);
  EXPECT_EQ(phaseAfter(when(some.next, AppliedAdvanced{opTime(3, 17)})), Phase::kDraining);
}

TEST(StepUp, EndsCatchUpAfterItsTimeoutAndStaysElected) {  // ELE-020
  ReplicaSetConfig config = kConfig;
  config.settings.catchUpTimeoutMillis = Millis(700);
  EXPECT_EQ(armed<CatchUpTimeout>(elected(config))->delay, Millis(700));
  EXPECT_FALSE(armed<CatchUpTimeout>(elected())) << "-1: as long as it takes";
  EXPECT_EQ(phaseAfter(when(behindC().next, CatchUpTimeout{})), Phase::kDraining);
  config.settings.catchUpTimeoutMillis = Millis(0);
  EXPECT_EQ(phaseAfter(elected(config)), Phase::kDraining) << "0: no catch-up";
}

TEST(StepUp, EndsCatchUpWhenTheDataLayerCannotGetThere) {
  EXPECT_EQ(phaseAfter(when(behindC().next, CatchUpDone{4})), Phase::kDraining);
  EXPECT_EQ(phaseAfter(when(behindC().next, CatchUpDone{2})), Phase::kCatchingUp) << "of an earlier term";
}

TEST(StepUp, TakesNoWritesBeforeItHasDrained) {  // ELE-021, ELE-022
  Snapshot<Topology> now = elected().next;
  EXPECT_FALSE(isWritable(now));
  now = when(now, CatchUpRoundOver{}).next;
  EXPECT_EQ(now.memory.phase, Phase::kDraining);
  EXPECT_EQ(stateOf(now), MemberState::kPrimary);
  EXPECT_FALSE(isWritable(now));
  EXPECT_EQ(phaseAfter(when(now, DrainDone{3})), Phase::kDraining) << "of an earlier term";
  const Outcome out = when(now, DrainDone{4});
  EXPECT_TRUE(isWritable(out.next));
  EXPECT_EQ(did<AcceptWrites>(out)->term, 4);
  EXPECT_TRUE(did<AnnounceRole>(out)->writable);
}

TEST(StepUp, KeepsNothingOfTheElection) {
  Snapshot<Topology> now = when(when(elected().next, CatchUpRoundOver{}).next, DrainDone{4}).next;
  EXPECT_TRUE(now.memory.granted.empty());
  EXPECT_TRUE(now.memory.awaited.empty());
  EXPECT_FALSE(now.memory.standing);
  EXPECT_EQ(now.memory.target, OpTime{});
}

}  // namespace
}  // namespace troupe::replication::test
