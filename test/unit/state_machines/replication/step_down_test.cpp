#include "state_machines/replication/step_down.hpp"

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

/// "a" leads term 3 and is at second 10; the others are at these.
Snapshot<Topology> primary(uint32_t b, uint32_t c, const ReplicaSetConfig& config = kConfig) {
  Snapshot<Topology> now = memberOf(config, "a:1", Phase::kPrimary);
  now.memory.applied = opTime(3, 10);
  viewOf(now, "b:1").applied = opTime(3, b);
  viewOf(now, "c:1").applied = opTime(3, c);
  return now;
}
HeartbeatReply at(const NodeName& host, uint32_t second, int64_t term = 3) {
  Snapshot<Topology> member = memberOf(kConfig, host, Phase::kFollower, term);
  member.memory.applied = opTime(3, second);
  return shown(member, "a:1");
}
/// replSetStepDown, and the end of the writes that were under way.
Outcome asked(const Snapshot<Topology>& now, const StepDown& command = {}) {
  return when(when(now, command).next, WritesEnded{3, opTime(3, 10)});
}
/// An attempt that waits: both secondaries are behind.
Snapshot<Topology> waiting(StepDown command = {}) { return asked(primary(9, 9), command).next; }

TEST(StepDown, SucceedsAtOnceWhenAMajorityHasAllItHas) {  // ELE-026
  const Outcome out = asked(primary(10, 2));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_TRUE(did<Conclude>(out)->outcome.isOK());
  EXPECT_TRUE(did<InterruptOperations>(out));
  EXPECT_TRUE(out.next.memory.frozen);
  EXPECT_EQ(armed<FreezeOver>(out)->delay, Secs(60));
}

TEST(StepDown, WaitsForAMajorityAndRefusesWritesMeanwhile) {  // ELE-026, ELE-029
  const Outcome out = when(primary(9, 9), StepDown{});
  EXPECT_EQ(phaseAfter(out), Phase::kSteppingDown);
  EXPECT_TRUE(did<RefuseWrites>(out));
  EXPECT_FALSE(isWritable(out.next));
  EXPECT_EQ(stateOf(out.next), MemberState::kPrimary);
  EXPECT_FALSE(answered(out));
  EXPECT_EQ(armed<StepDownDeadline>(out)->delay, Secs(10));
  const Outcome caughtUp = when(waiting(), at("c:1", 10));
  EXPECT_EQ(phaseAfter(caughtUp), Phase::kFollower);
  EXPECT_TRUE(did<Conclude>(caughtUp)->outcome.isOK());
}

/// A write may commit after the moment at which the others have all that is applied.
TEST(StepDown, WaitsForTheWritesThatAreUnderWay) {
  const Outcome out = when(primary(10, 10), StepDown{});
  EXPECT_EQ(phaseAfter(out), Phase::kSteppingDown);
  EXPECT_EQ(phaseAfter(when(out.next, at("b:1", 10))), Phase::kSteppingDown);
  const Outcome ended = when(out.next, WritesEnded{3, opTime(3, 11)});
  EXPECT_EQ(phaseAfter(ended), Phase::kSteppingDown) << "nobody has the last one";
  EXPECT_EQ(phaseAfter(when(ended.next, at("b:1", 11))), Phase::kFollower);
  EXPECT_EQ(phaseAfter(when(ended.next, at("b:1", 10))), Phase::kSteppingDown);
  EXPECT_EQ(phaseAfter(when(out.next, WritesEnded{2, opTime(2, 9)})), Phase::kSteppingDown) << "of another term";
}

TEST(StepDown, AnOlderReportDoesNotMakeTheLastWriteForgotten) {
  const Snapshot<Topology> now = when(waiting(), AppliedAdvanced{opTime(3, 9)}).next;
  EXPECT_EQ(now.memory.applied, opTime(3, 10));
  EXPECT_EQ(phaseAfter(when(now, at("b:1", 9))), Phase::kSteppingDown);
}

TEST(StepDown, NeedsNoHeartbeatWhenMembersReport) {
  const Outcome out = when(waiting(), MemberAdvanced{"b:1", opTime(3, 10)});
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_TRUE(did<Conclude>(out)->outcome.isOK());
  EXPECT_EQ(phaseAfter(when(waiting(), MemberAdvanced{"b:1", opTime(3, 9)})), Phase::kSteppingDown);
  EXPECT_EQ(phaseAfter(when(waiting(), MemberAdvanced{"stranger:1", opTime(3, 10)})), Phase::kSteppingDown);
  const auto before = when(primary(9, 9), MemberAdvanced{"c:1", opTime(3, 10)});
  EXPECT_EQ(phaseAfter(asked(before.next)), Phase::kFollower) << "it was reported before";
}

TEST(StepDown, OneWhoHasCaughtUpIsNoMajorityOfFive) {  // ELE-026
  Snapshot<Topology> now = primary(10, 9, configOf({"a:1", "b:1", "c:1", "d:1", "e:1"}));
  EXPECT_EQ(phaseAfter(asked(now)), Phase::kSteppingDown);
  viewOf(now, "e:1").applied = opTime(3, 10);
  EXPECT_EQ(phaseAfter(asked(now)), Phase::kFollower);
}

TEST(StepDown, NeedsSomeoneElectableAmongThoseWhoHaveCaughtUp) {  // ELE-026
  ReplicaSetConfig config = kConfig;
  config.members[1].priority = 0;
  EXPECT_EQ(phaseAfter(asked(primary(10, 9, config))), Phase::kSteppingDown);
  EXPECT_EQ(phaseAfter(asked(primary(9, 10, config))), Phase::kFollower);
}

TEST(StepDown, DoesNotCountMembersThatAreDown) {  // ELE-026
  Snapshot<Topology> now = primary(10, 2);
  now = when(now, Unreachable{"b:1"}).next;
  EXPECT_EQ(phaseAfter(asked(now)), Phase::kSteppingDown);
}

TEST(StepDown, StaysPrimaryAndTakesWritesAgainWhenNobodyCatchesUp) {  // ELE-026, ELE-029
  const Outcome out = when(waiting(), StepDownDeadline{});
  EXPECT_EQ(phaseAfter(out), Phase::kPrimary);
  EXPECT_TRUE(did<AcceptWrites>(out));
  EXPECT_EQ(did<Conclude>(out)->outcome.code(), ErrorCode::kExceededTimeLimit);
  EXPECT_FALSE(out.next.memory.frozen);
  EXPECT_FALSE(out.next.memory.stepDown);
}

TEST(StepDown, ByForceStepsDownAtTheDeadline) {  // ELE-027
  const Outcome out = when(waiting({.force = true}), StepDownDeadline{});
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_TRUE(did<Conclude>(out)->outcome.isOK());
  EXPECT_TRUE(said<StepUpRequest>(out).empty()) << "ELE-006";
}

TEST(StepDown, HandsOverToTheBestOfThoseWhoHaveCaughtUp) {  // ELE-005
  ReplicaSetConfig config = kConfig;
  config.members[2].priority = 1.5;
  const auto requests = said<StepUpRequest>(asked(primary(10, 10, config)));
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].first, "c:1");
  EXPECT_EQ(requests[0].second.term, 3);
  EXPECT_EQ(said<StepUpRequest>(asked(primary(10, 9, config))).at(0).first, "b:1");
}

/// The former primary after it has handed over to "b"; "c" is as good.
Outcome handedOver() { return asked(primary(10, 10)); }
StepUpRefusal refusalOf(const NodeName& host, int64_t term = 3) { return {host, term, "it is frozen"}; }

TEST(StepDown, AsksTheNextBestWhenOneMayNotStand) {  // ELE-005
  const Outcome first = handedOver();
  ASSERT_EQ(said<StepUpRequest>(first).at(0).first, "b:1");
  const Outcome second = when(first.next, refusalOf("b:1"));
  ASSERT_EQ(said<StepUpRequest>(second).size(), 1u);
  EXPECT_EQ(said<StepUpRequest>(second)[0].first, "c:1");
  EXPECT_EQ(said<StepUpRequest>(second)[0].second.term, 3);
  const Outcome third = when(second.next, refusalOf("c:1"));
  EXPECT_TRUE(said<StepUpRequest>(third).empty()) << "there is nobody left";
  EXPECT_FALSE(third.next.memory.handoff);
}

TEST(StepDown, AsksOneAtATime) {  // ELE-005
  const Snapshot<Topology> second = when(handedOver().next, refusalOf("b:1")).next;
  EXPECT_TRUE(said<StepUpRequest>(when(second, refusalOf("b:1"))).empty()) << "a refusal may come twice";
  EXPECT_TRUE(said<StepUpRequest>(when(handedOver().next, refusalOf("c:1"))).empty()) << "it was not asked";
  EXPECT_TRUE(said<StepUpRequest>(when(handedOver().next, refusalOf("b:1", 2))).empty()) << "of another term";
}

TEST(StepDown, AsksTheNextBestWhenOneIsOutOfReach) {  // ELE-005
  EXPECT_EQ(said<StepUpRequest>(when(handedOver().next, Unreachable{"b:1"})).at(0).first, "c:1");
  EXPECT_TRUE(said<StepUpRequest>(when(handedOver().next, Unreachable{"c:1"})).empty());
}

TEST(StepDown, AsksNobodyElseOnceSomebodyStands) {  // ELE-005
  const Snapshot<Topology> later = when(handedOver().next, at("c:1", 10, 4)).next;
  EXPECT_FALSE(later.memory.handoff);
  EXPECT_TRUE(said<StepUpRequest>(when(later, refusalOf("b:1"))).empty());
  EXPECT_FALSE(when(handedOver().next, FreezeOver{}).next.memory.handoff) << "it may stand itself again";
}

TEST(StepDown, OneThatMayNotTakeOverSaysSo) {  // ELE-005
  Snapshot<Topology> frozen = memberOf(kConfig, "b:1");
  frozen.memory.frozen = true;
  const auto refusals = said<StepUpRefusal>(when(frozen, StepUpRequest{"a:1", 3}));
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].first, "a:1");
  EXPECT_EQ(refusals[0].second.from, "b:1");
  EXPECT_EQ(refusals[0].second.term, 3);
  EXPECT_NE(refusals[0].second.why, "");
  EXPECT_TRUE(said<StepUpRefusal>(when(frozen, StepUpRequest{"a:1", 2})).empty()) << "somebody has stood since";
  EXPECT_EQ(phaseAfter(when(memberOf(kConfig, "b:1"), StepUpRequest{"a:1", 4})), Phase::kCandidate)
      << "it has not heard of the term before";
}

TEST(StepDown, AHandoffThatTheBestRefusesIsStillFasterThanTheElectionTimeout) {  // ELE-005
  Cluster set = Cluster::running(configOf({"a:1", "b:1", "c:1", "d:1", "e:1"}));
  const NodeName old = set.primary();
  std::vector<NodeName> others = set.others();
  for (size_t i = 0; i + 1 < others.size(); ++i) set.command(others[i], Freeze{Secs(60)});
  const Millis asked = set.clock();
  set.command(old, StepDown{});
  EXPECT_EQ(set.runUntilPrimary(), others.back());
  EXPECT_LE(set.clock() - asked, Millis(100));
}

TEST(StepDown, WhatAnEarlierAttemptHasFoundSaysNothing) {
  const Outcome failed = when(when(primary(9, 9), StepDown{}).next, StepDownDeadline{});
  ASSERT_EQ(phaseAfter(failed), Phase::kPrimary);
  Snapshot<Topology> again = when(failed.next, StepDown{}).next;
  viewOf(again, "b:1").applied = opTime(3, 10);
  const int32_t attempt = again.memory.stepDown->number;
  const Outcome late = when(again, WritesEnded{3, opTime(3, 10), attempt - 1});
  EXPECT_EQ(phaseAfter(late), Phase::kSteppingDown) << "writes were accepted after that";
  EXPECT_EQ(phaseAfter(when(late.next, WritesEnded{3, opTime(3, 10), attempt})), Phase::kFollower);
  EXPECT_EQ(did<RefuseWrites>(when(failed.next, StepDown{}))->attempt, attempt);
}

TEST(StepDown, WithoutHandoffTheSetWaitsForTheElectionTimeout) {  // ELE-006
  EXPECT_TRUE(said<StepUpRequest>(asked(primary(10, 10), {.handoff = false})).empty());
  EXPECT_TRUE(said<StepUpRequest>(asked(primary(10, 10), {.force = true})).empty());
}

TEST(StepDown, OnlyOneAttemptAtATime) {  // ELE-035
  const Outcome out = when(waiting(), StepDown{});
  EXPECT_EQ(answered(out)->code(), ErrorCode::kConflictingOperationInProgress);
  EXPECT_EQ(phaseAfter(out), Phase::kSteppingDown);
}

TEST(StepDown, IsForPrimariesOnly) {
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1"), StepDown{}))->code(), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1", Phase::kDraining), StepDown{}))->code(),
            ErrorCode::kNotWritablePrimary);
}

TEST(StepDown, ItsPeriodMustBeLongerThanTheWait) {
  EXPECT_EQ(answered(when(primary(10, 10), StepDown{.stepDownPeriod = Secs(5)}))->code(), ErrorCode::kBadValue);
}

TEST(StepDown, OnAHigherTermAtOnce) {  // ELE-031, REP-029
  const Outcome out = when(primary(10, 10), at("b:1", 10, 4));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_EQ(out.next.memory.term, 4);
  EXPECT_TRUE(did<InterruptOperations>(out));
  EXPECT_FALSE(out.next.memory.frozen);
}

TEST(StepDown, WithoutConditionsOverridesAnAttempt) {  // ELE-034
  const Outcome out = when(waiting(), at("b:1", 9, 4));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  ASSERT_TRUE(did<Conclude>(out));
  EXPECT_EQ(did<Conclude>(out)->command, OpenCommand::kStepDown);
  EXPECT_EQ(did<Conclude>(out)->outcome.code(), ErrorCode::kPrimarySteppedDown);
}

TEST(StepDown, WhenNothingIsHeardOfAMajority) {  // ELE-032
  const Outcome one = when(primary(10, 10), LivenessTimeout{"b:1", 0});
  EXPECT_EQ(phaseAfter(one), Phase::kPrimary);
  EXPECT_EQ(phaseAfter(when(one.next, LivenessTimeout{"c:1", 0})), Phase::kFollower);
}

TEST(StepDown, APartitionedPrimaryStepsDownAndFollowsWhenItComesBack) {  // ELE-031, ELE-032
  Cluster set = Cluster::running(kConfig);
  const NodeName old = set.primary();
  set.isolate(old);
  set.run(Secs(2));
  EXPECT_EQ(set.phase(old) == Phase::kFollower || set.phase(old) == Phase::kDryRun, true);
  const NodeName next = set.primary();
  EXPECT_NE(next, old);
  set.heal();
  set.run(Secs(2));
  EXPECT_EQ(set.phase(old), Phase::kFollower);
  EXPECT_EQ(primaryOf(set[old].now), next);
  EXPECT_EQ(set.memory(old).term, set.term());
}

TEST(StepDown, AHandoffIsMuchFasterThanTheElectionTimeout) {  // ELE-005
  Cluster set = Cluster::running(kConfig);
  const NodeName old = set.primary();
  const Millis asked = set.clock();
  set.command(old, StepDown{});
  set.run(Millis(1));
  EXPECT_TRUE(set.concluded(old, OpenCommand::kStepDown)->isOK());
  EXPECT_NE(set.runUntilPrimary(), old);
  EXPECT_LE(set.clock() - asked, Millis(100));
}

TEST(StepDown, WithoutHandoffItTakesTheElectionTimeout) {  // ELE-006
  Cluster set = Cluster::running(kConfig);
  const NodeName old = set.primary();
  const Millis asked = set.clock();
  set.command(old, StepDown{.handoff = false});
  set.run(Millis(1));
  EXPECT_TRUE(set.concluded(old, OpenCommand::kStepDown)->isOK());
  EXPECT_NE(set.runUntilPrimary(), old);
  EXPECT_GE(set.clock() - asked, Millis(500));
}

TEST(StepDown, ASingleMemberStaysPrimaryUnlessForced) {
  Cluster set = Cluster::running(configOf({"a:1"}));
  ASSERT_EQ(set.primary(), "a:1");
  set.command("a:1", StepDown{.stepDownPeriod = Secs(20)});
  set.run(Secs(11));
  EXPECT_EQ(set.concluded("a:1", OpenCommand::kStepDown)->code(), ErrorCode::kExceededTimeLimit);
  EXPECT_EQ(set.primary(), "a:1");
  set.command("a:1", StepDown{.force = true, .stepDownPeriod = Secs(20), .catchUpPeriod = Millis(0)});
  set.run(Secs(1));
  EXPECT_EQ(set.primary(), "");
  set.run(Secs(20));
  EXPECT_EQ(set.primary(), "a:1") << "the period is over";
}

}  // namespace
}  // namespace troupe::replication::test
