#include "test/unit/state_machines/replication/reconfig_kit.hpp"

/// Changes of the config that have to wait, and how long they do. (ELE-033)
namespace troupe::replication::test {
namespace {

constexpr Millis kPatience{20'000};

/// A primary of term 3 with an arbiter and one more voter with data.
ReplicaSetConfig withArbiter() {
  ReplicaSetConfig config = kConfig;
  config.term = 3;
  config.members[2].arbiterOnly = true;
  config.members[2].priority = 0;
  return config;
}

Reconfig without(ReplicaSetConfig config, size_t voter) {
  ReplicaSetConfig next = nextOf(std::move(config));
  next.members[voter].votes = 0;
  next.members[voter].priority = 0;
  return {.config = next, .patience = kPatience};
}

std::string whyOf(const Outcome& out) { return did<Conclude>(out) ? did<Conclude>(out)->outcome.reason() : ""; }

/// The one that has died since has an entry of this term: all that was committed before.
TEST(ReconfigDeadline, ADeadMemberLosesItsVoteWhereItHadWhatWasCommittedBeforeTheTerm) {
  const ReplicaSetConfig config = withArbiter();
  Snapshot<Topology> draining = memberOf(config, "a:1", Phase::kDraining);
  draining.memory.applied = draining.memory.durable = opTime(2, 10);
  Outcome up = when(draining, DrainDone{3});
  ASSERT_EQ(phaseAfter(up), Phase::kPrimary);
  ASSERT_TRUE(did<InstallConfig>(up)) << "it asks as soon as it takes writes";
  up = inUse(up, opTime(2, 10));
  up = when(up.next, AppliedAdvanced{opTime(3, 90), opTime(3, 90), {}});
  viewOf(up.next, "b:1").applied = viewOf(up.next, "b:1").durable = opTime(3, 11);
  up = when(when(up.next, Unreachable{"b:1"}).next, LivenessTimeout{"b:1", 0});
  ASSERT_FALSE(viewOf(up.next, "b:1").isAlive());
  const Outcome changed = when(up.next, without(config, 1));
  EXPECT_EQ(stageOf(changed), ConfigChange::Stage::kSpreading);
}

/// The members are the same, and with them all majorities.
TEST(ReconfigDeadline, WhatWasInUseBeforeTheConfigWasClaimedStaysSo) {
  ReplicaSetConfig config = withArbiter();
  config.term = 2;
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  primary.memory.inUseFrom = opTime(2, 10);
  const Outcome asked = when(primary, without(config, 1));
  EXPECT_EQ(asked.next.document.config->term, 3);
  EXPECT_EQ(asked.next.memory.inUseFrom, opTime(2, 10));
  EXPECT_EQ(inUse(asked, opTime(3, 99)).next.memory.inUseFrom, opTime(2, 10)) << "the earlier answer holds";
}

TEST(ReconfigDeadline, AChangeThatWaitsInVainIsTakenBackAndItsCommandHearsWhy) {
  const ReplicaSetConfig config = withArbiter();
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  primary.memory.applied = primary.memory.durable = opTime(3, 20);
  primary.memory.inUseFrom = opTime(2, 10);
  const Outcome asked = when(primary, without(config, 1));
  ASSERT_EQ(stageOf(asked), ConfigChange::Stage::kClaiming) << "the other one with data has nothing of this term";
  const auto deadline = armed<ReconfigDeadline>(asked);
  ASSERT_TRUE(deadline);
  EXPECT_EQ(deadline->delay, kPatience);
  const Outcome late = when(asked.next, ReconfigDeadline{});
  EXPECT_EQ(did<Conclude>(late)->outcome.code(), ErrorCode::kCurrentConfigNotCommittedYet);
  EXPECT_NE(whyOf(late).find("these have not: b:1. Bring"), std::string::npos) << whyOf(late);
  EXPECT_FALSE(late.next.memory.change);
  EXPECT_EQ(late.next.document.config->version, config.version);
  Snapshot<Topology> b = memberOf(config, "b:1");
  b.memory.applied = b.memory.durable = opTime(3, 20);
  EXPECT_EQ(when(asked.next, shown(b, "a:1")).next.document.config->version, config.version + 1) << "in time it is";
  const Outcome back = when(late.next, shown(b, "a:1"));
  EXPECT_EQ(back.next.document.config->version, config.version) << "nothing is changed hours later";
}

TEST(ReconfigDeadline, TellsWhichVotersHaveNotThePresentConfig) {
  ReplicaSetConfig config = kConfig;
  config.term = 2;
  const Outcome asked =
      when(memberOf(config, "a:1", Phase::kPrimary), Reconfig{.config = nextOf(config), .patience = kPatience});
  const Outcome late = when(asked.next, ReconfigDeadline{});
  EXPECT_EQ(did<Conclude>(late)->outcome.code(), ErrorCode::kCurrentConfigNotCommittedYet);
  EXPECT_NE(whyOf(late).find("these have not: b:1, c:1."), std::string::npos) << whyOf(late);
}

TEST(ReconfigDeadline, AChangeThatSpreadsTooSlowlyStaysAndTheNextOneMayBeAsked) {
  ReplicaSetConfig config = kConfig;
  config.term = 3;
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  primary.memory.inUseFrom = OpTime{};
  const Outcome asked = when(primary, Reconfig{.config = nextOf(config), .patience = kPatience});
  ASSERT_EQ(stageOf(asked), ConfigChange::Stage::kSpreading);
  const Outcome late = when(asked.next, ReconfigDeadline{});
  EXPECT_EQ(did<Conclude>(late)->outcome.code(), ErrorCode::kExceededTimeLimit);
  EXPECT_NE(whyOf(late).find("b:1, c:1"), std::string::npos) << whyOf(late);
  EXPECT_EQ(late.next.document.config->version, config.version + 1);
  const Outcome next = when(late.next, Reconfig{.config = nextOf(*late.next.document.config)});
  EXPECT_EQ(refusalIn(next), ErrorCode::kOK);
  EXPECT_EQ(stageOf(next), ConfigChange::Stage::kClaiming) << "it waits for a majority of the one before";
}

TEST(ReconfigDeadline, NewMembersThatDoNotAnswerInTimeEndIt) {
  Reconfig command{.config = withMember(nextOf(), "d:1"), .patience = Millis(5)};
  const Outcome late = when(when(memberOf(kConfig, "a:1", Phase::kPrimary), command).next, ReconfigDeadline{});
  EXPECT_EQ(did<Conclude>(late)->outcome.code(), ErrorCode::kExceededTimeLimit);
  EXPECT_NE(whyOf(late).find("d:1"), std::string::npos) << whyOf(late);
  EXPECT_TRUE(late.next.memory.awaited.empty());
}

TEST(ReconfigDeadline, EndsWithTheChange) {
  ReplicaSetConfig config = ofOne();
  config.term = 3;
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  primary.memory.inUseFrom = OpTime{};
  const Outcome done = when(primary, Reconfig{.config = nextOf(config), .patience = kPatience});
  EXPECT_TRUE(answered(done) && answered(done)->isOK());
  EXPECT_TRUE(takesBack<ReconfigDeadline>(done));
  EXPECT_TRUE(when(done.next, ReconfigDeadline{}).effects.empty()) << "one that was on its way changes nothing";
}

}  // namespace
}  // namespace troupe::replication::test
