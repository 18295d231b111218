#include "state_machines/replication/rollback.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/state_machines/core/machine_page.hpp"

namespace troupe::replication::rollback_test {
namespace {

using machines::Durability;
using machines::Snapshot;
using Phase = Rollback::Phase;
using Outcome = machines::Outcome<Rollback>;

OpTime at(uint32_t seconds, int64_t term = 1) { return {term, {seconds, 1}}; }

Outcome when(const Snapshot<Rollback>& now, Rollback::Event event) { return machines::advance<Rollback>(now, event); }
Snapshot<Rollback> in(Phase phase) {
  Snapshot<Rollback> now;
  now.document.rollbackId = 4;
  now.memory.phase = phase;
  now.memory.source = "b:1";
  if (phase < Phase::kEntering) return now;
  now.memory.common = at(6);
  now.memory.newest = at(9);
  now.memory.committed = at(5);
  now.memory.undone = 3;
  now.memory.idBefore = 4;
  now.memory.operationsEnded = phase >= Phase::kSaving;
  now.memory.saved = phase >= Phase::kTakingDown;
  now.document.rollbackId = phase >= Phase::kTakingDown ? 5 : 4;
  return now;
}
Phase phaseAfter(const Outcome& out) { return out.next.memory.phase; }
template <class A>
const A* did(const Outcome& out) {
  if (out.effects.size() != 1) return nullptr;
  const auto* todo = std::get_if<machines::Do<Rollback>>(&out.effects.front());
  return todo ? std::get_if<A>(&todo->action) : nullptr;
}
CommonPointFound found(OpTime common, OpTime newest = at(9), OpTime committed = at(5)) {
  return {common, newest, committed, 3};
}

TEST(Rollback, BeginsWhereTheLogHasLeftThatOfItsSource) {  // RBK-001
  const Outcome out = when({}, Diverged{"b:1"});
  EXPECT_EQ(phaseAfter(out), Phase::kStopping);
  EXPECT_TRUE(did<StopFollowing>(out));
  EXPECT_FALSE(out.persist);
}

TEST(Rollback, BuildsHaveEndedBeforeLogsAreCompared) {  // RBK-003
  const Outcome out = when(in(Phase::kStopping), FollowingStopped{});
  EXPECT_EQ(phaseAfter(out), Phase::kComparing);
  ASSERT_TRUE(did<FindCommonPoint>(out));
  EXPECT_EQ(did<FindCommonPoint>(out)->source, "b:1");
}

TEST(Rollback, IsOneAtATime) {
  const Outcome out = when(in(Phase::kSaving), Diverged{"c:1"});
  EXPECT_EQ(out.next.memory, in(Phase::kSaving).memory);
  EXPECT_TRUE(out.effects.empty());
}

TEST(Rollback, ASourceThatFailsChangesNothing) {
  for (const Phase phase : {Phase::kStopping, Phase::kComparing}) {
    const Outcome out = when(in(phase), SourceFailed{});
    EXPECT_EQ(phaseAfter(out), Phase::kFollowing);
    EXPECT_TRUE(did<GoOnFollowing>(out));
    EXPECT_FALSE(out.persist);
  }
}

// After a start the commit point may not be known yet, and with it the term of what is stable.
TEST(Rollback, WhatIsStableIsKeptAlsoBeforeItsTermIsKnown) {
  const OpTime stable{0, at(7).timestamp};
  EXPECT_EQ(phaseAfter(when(in(Phase::kComparing), found(at(6), at(9), stable))), Phase::kFailed);
  EXPECT_EQ(phaseAfter(when(in(Phase::kComparing), found(at(8), at(9), stable))), Phase::kEntering);
}

TEST(Rollback, NothingIsUndoneWhereTheOtherIsOnlyAhead) {  // RBK-018
  const Outcome out = when(in(Phase::kComparing), found(at(9)));
  EXPECT_EQ(phaseAfter(out), Phase::kFollowing);
  EXPECT_TRUE(did<GoOnFollowing>(out));
  EXPECT_FALSE(out.persist) << "the rollback id stays";
}

TEST(Rollback, LeavesTheStateOfASecondaryForWhatIsToBeUndone) {  // RBK-002
  const Outcome out = when(in(Phase::kComparing), found(at(6)));
  EXPECT_EQ(phaseAfter(out), Phase::kEntering);
  EXPECT_TRUE(did<EnterRollback>(out));
  EXPECT_EQ(out.next.memory.undone, 3);
  EXPECT_FALSE(out.persist);
}

TEST(Rollback, MayGoBackToTheStableTimeItself) {
  EXPECT_EQ(phaseAfter(when(in(Phase::kComparing), found(at(5)))), Phase::kEntering);
}

TEST(Rollback, WhatAMajorityHasIsNeverUndone) {  // RBK-010
  const Outcome out = when(in(Phase::kComparing), found(at(4)));
  EXPECT_EQ(phaseAfter(out), Phase::kFailed);
  ASSERT_TRUE(did<GiveUp>(out));
  EXPECT_THAT(did<GiveUp>(out)->why, testing::HasSubstr("Timestamp(4, 1)"));
  EXPECT_THAT(did<GiveUp>(out)->why, testing::HasSubstr("Save its data directory"));
  EXPECT_FALSE(did<GiveUp>(out)->mayPass);
  EXPECT_FALSE(out.persist);
}

TEST(Rollback, LogsWithoutACommonEntryMeanAResync) {
  const Outcome out = when(in(Phase::kComparing), NothingInCommon{});
  EXPECT_EQ(phaseAfter(out), Phase::kFailed);
  ASSERT_TRUE(did<GiveUp>(out));
  EXPECT_THAT(did<GiveUp>(out)->why, testing::HasSubstr("no entry of their logs in common"));
}

TEST(Rollback, ANodeThatHasBecomePrimaryDoesNotGoBack) {
  const Outcome out = when(in(Phase::kEntering), RoleTaken{});
  EXPECT_EQ(phaseAfter(out), Phase::kFollowing);
  EXPECT_TRUE(did<GoOnFollowing>(out));
}

TEST(Rollback, WritesFilesWhenNoOperationIsLeft) {  // RBK-007
  const Outcome out = when(in(Phase::kEntering), OperationsEnded{});
  EXPECT_EQ(phaseAfter(out), Phase::kSaving);
  ASSERT_TRUE(did<SaveUndone>(out));
  EXPECT_EQ(did<SaveUndone>(out)->common, at(6));
}

TEST(Rollback, ItsIdIsDurableBeforeAnythingIsUndone) {  // RBK-005
  const Outcome out = when(in(Phase::kSaving), UndoneSaved{});
  EXPECT_EQ(phaseAfter(out), Phase::kTakingDown);
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.durability, Durability::kJournaled);
  EXPECT_EQ(out.next.document.rollbackId, 5);
  EXPECT_TRUE(did<TakeStorageDown>(out));
}

TEST(Rollback, GoesBackThenReplaysThenEnds) {  // RBK-013
  Outcome out = when(in(Phase::kTakingDown), StorageTakenDown{});
  ASSERT_TRUE(did<RollStorageBack>(out));
  EXPECT_EQ(did<RollStorageBack>(out)->common, at(6));
  out = when(out.next, StorageRolledBack{});
  ASSERT_TRUE(did<ReplayLog>(out));
  EXPECT_EQ(did<ReplayLog>(out)->common, at(6));
  out = when(out.next, LogReplayed{});
  ASSERT_TRUE(did<EndRollback>(out));
  EXPECT_EQ(did<EndRollback>(out)->common, at(6));
  out = when(out.next, RollbackOver{});
  EXPECT_EQ(phaseAfter(out), Phase::kFollowing);
  EXPECT_TRUE(did<GoOnFollowing>(out));
  EXPECT_EQ(out.next.memory, Rollback::Memory{});
  EXPECT_EQ(out.next.document.rollbackId, 5);
}

TEST(Rollback, AFailureEndsTheNode) {  // RBK-015
  for (const Phase phase : {Phase::kComparing, Phase::kEntering, Phase::kSaving, Phase::kTakingDown,
                            Phase::kRollingBack, Phase::kReplaying, Phase::kEnding}) {
    const Outcome out = when(in(phase), RollbackFailed{"the disk is full", true});
    EXPECT_EQ(phaseAfter(out), Phase::kFailed);
    ASSERT_TRUE(did<GiveUp>(out));
    EXPECT_EQ(did<GiveUp>(out)->why, "the disk is full");
    EXPECT_TRUE(did<GiveUp>(out)->mayPass);
  }
  EXPECT_TRUE(when(in(Phase::kFailed), Diverged{"b:1"}).effects.empty()) << "it does not begin again";
}

TEST(Rollback, AfterACrashItFollowsUnderTheIdItHad) {
  const Outcome out = machines::resumed<Rollback>(in(Phase::kRollingBack).document);
  EXPECT_EQ(out.next.memory.phase, Phase::kFollowing);
  EXPECT_EQ(out.next.document.rollbackId, 5);
  EXPECT_TRUE(out.effects.empty());
}

TEST(Rollback, ItsPageShowsTheMachineAsItIs) {
  machines::test::expectPageShows<Rollback>("docs/protocols/rollback.md");
}

}  // namespace
}  // namespace troupe::replication::rollback_test
