#include "actors/replication/replication_progress.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "messaging/bson/json.hpp"

namespace troupe::replication::test {
namespace {

OpTime at(int64_t term, uint32_t seconds) { return {term, {seconds, 1}}; }
Position everywhere(OpTime time) { return {time, time}; }

ReplicationProgress::Role role(bool leads, int64_t term = 1) {
  ReplicationProgress::Role role;
  role.config = *ReplicaSetConfig::parse(*bson::fromJson(
      R"({"_id": "rs", "members": [{"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"}, {"_id": 2, "host": "c:1"}]})"));
  role.self = "a:1";
  role.term = term;
  role.leads = leads;
  return role;
}

struct Progress : ::testing::Test {
  ReplicationProgress progress;
  int called = 0;
  Status verdict;
  ReplicationProgress::Callback call() {
    return [this] { ++called; };
  }
  ReplicationProgress::Verdict judge() {
    return [this](const Status& how) {
      ++called;
      verdict = how;
    };
  }
};

TEST_F(Progress, OfAPrimaryCommitsWhatAMajorityHas) {
  progress.setRole(role(true));
  progress.noteApplied(at(1, 5));
  progress.noteDurable(at(1, 5));
  EXPECT_EQ(progress.commitPoint(), OpTime{});
  progress.notePosition("b:1", {at(1, 5), at(1, 4)});
  EXPECT_EQ(progress.commitPoint(), at(1, 4));
  EXPECT_EQ(progress.lastApplied(), at(1, 5).timestamp);
  EXPECT_EQ(progress.majority(), at(1, 4).timestamp);
}

TEST_F(Progress, OfAMemberLearnsTheCommitPoint) {
  progress.setRole(role(false));
  progress.noteApplied(at(1, 5));
  progress.notePosition("b:1", everywhere(at(1, 9)));
  progress.notePosition("c:1", everywhere(at(1, 9)));
  EXPECT_EQ(progress.commitPoint(), OpTime{}) << "a member that does not lead counts nobody";
  progress.learnFromSource(at(1, 9));
  EXPECT_EQ(progress.commitPoint(), at(1, 5));
  progress.learnFromHeartbeat(at(1, 7));
  EXPECT_EQ(progress.commitPoint(), at(1, 7));
  EXPECT_EQ(progress.stable(), OpTime{}) << "a start would cut off what is not on the disk";
  progress.noteDurable(at(1, 5));
  EXPECT_EQ(progress.stable(), at(1, 5)) << "data that it has not got are not stable here";
  EXPECT_EQ(progress.majority(), at(1, 5).timestamp);
}

TEST_F(Progress, OfAnArbiterLearnsItWithoutData) {  // REP-030
  auto voting = role(false);
  for (MemberConfig& member : voting.config.members) member.arbiterOnly = member.host == voting.self;
  progress.setRole(voting);
  progress.learnFromHeartbeat(at(1, 7));
  EXPECT_EQ(progress.commitPoint(), at(1, 7));
  progress.learnFromHeartbeat(at(1, 6));
  EXPECT_EQ(progress.commitPoint(), at(1, 7));
}

TEST_F(Progress, OfAPrimaryIsNotToldTheCommitPoint) {
  progress.setRole(role(true));
  progress.noteApplied(at(1, 5));
  progress.learnFromSource(at(1, 5));
  progress.learnFromHeartbeat(at(1, 5));
  EXPECT_EQ(progress.commitPoint(), OpTime{});
}

TEST_F(Progress, ForgetsMembersThatLeft) {
  progress.setRole(role(true));
  progress.notePosition("b:1", everywhere(at(1, 5)));
  progress.notePosition("stranger:1", everywhere(at(1, 5)));
  EXPECT_EQ(progress.positions().size(), 2u);
  auto smaller = role(true);
  std::erase_if(smaller.config.members, [](const auto& member) { return member.host == "b:1"; });
  progress.setRole(smaller);
  progress.noteApplied(at(1, 5));
  progress.noteDurable(at(1, 5));
  EXPECT_EQ(progress.commitPoint(), OpTime{}) << "c is missing";
}

TEST_F(Progress, CallsWaitersOnceWhenTheirTimeHasCome) {
  progress.setRole(role(true));
  EXPECT_NE(progress.whenAcknowledged(at(1, 5), {.members = 2}, judge()), 0u);
  EXPECT_NE(progress.whenAcknowledged(at(1, 5), {.majority = true}, judge()), 0u);
  EXPECT_NE(progress.whenApplied(at(1, 5).timestamp, call()), 0u);
  EXPECT_NE(progress.whenCommitted(at(1, 5).timestamp, call()), 0u);
  progress.noteApplied(at(1, 4));
  EXPECT_EQ(called, 0);
  progress.noteApplied(at(1, 5));
  EXPECT_EQ(called, 1) << "applied here";
  progress.notePosition("c:1", {at(1, 5), {}});
  EXPECT_EQ(called, 2) << "two members have it";
  progress.noteDurable(at(1, 5));
  progress.notePosition("c:1", everywhere(at(1, 5)));
  EXPECT_EQ(called, 4) << "a majority has it on disk";
  EXPECT_EQ(progress.waiters(), 0u);
  EXPECT_EQ(progress.whenApplied(at(1, 5).timestamp, call()), 0u);
  EXPECT_EQ(called, 5);
}

TEST_F(Progress, AWriteIsNotAwaitedByMoreMembersThanTheSetHasLeft) {  // OPL-012
  progress.setRole(role(true));
  progress.noteApplied(at(1, 5));
  EXPECT_NE(progress.whenAcknowledged(at(1, 5), {.members = 3}, judge()), 0u);
  EXPECT_NE(progress.whenAcknowledged(at(1, 5), {.members = 2}, judge()), 0u);
  auto smaller = role(true);
  std::erase_if(smaller.config.members, [](const auto& member) { return member.host == "b:1"; });
  progress.setRole(smaller);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(verdict.code(), ErrorCode::kUnsatisfiableWriteConcern);
  progress.notePosition("c:1", everywhere(at(1, 5)));
  EXPECT_EQ(called, 2) << "two are left";
  EXPECT_TRUE(verdict.isOK());
}

TEST_F(Progress, TheCommitPointEndsTheWaitsOfWhatPrecedesIt) {
  progress.setRole(role(true));
  progress.noteApplied(at(1, 9));
  progress.noteDurable(at(1, 9));
  std::vector<uint32_t> ended;
  for (const uint32_t second : {8u, 5u, 6u, 7u})
    progress.whenAcknowledged(at(1, second), {.majority = true}, [&ended, second](const Status& how) {
      EXPECT_TRUE(how.isOK());
      ended.push_back(second);
    });
  const auto withdrawn = progress.whenAcknowledged(at(1, 5), {.majority = true}, judge());
  EXPECT_EQ(progress.waiters(), 5u);
  EXPECT_TRUE(progress.withdraw(withdrawn));
  EXPECT_FALSE(progress.withdraw(withdrawn));
  progress.notePosition("b:1", everywhere(at(1, 6)));
  EXPECT_EQ(ended, (std::vector<uint32_t>{5, 6}));
  progress.setRole(role(true, 2));
  EXPECT_EQ(progress.waiters(), 2u) << "they wait on in another role";
  progress.learnFromSource(at(1, 9));
  EXPECT_EQ(ended.size(), 2u) << "a primary counts by itself";
  auto follower = role(false, 2);
  progress.setRole(follower);
  progress.learnFromSource(at(1, 9));
  EXPECT_EQ(ended, (std::vector<uint32_t>{5, 6, 8, 7}));
  EXPECT_EQ(called, 0);
  EXPECT_EQ(progress.waiters(), 0u);
}

/// Of a config that counts what is applied the commit point says nothing of journals.
TEST_F(Progress, AChangedConfigJudgesWaitsAnew) {
  progress.setRole(role(true));
  progress.noteApplied(at(1, 5));
  progress.noteDurable(at(1, 5));
  progress.whenAcknowledged(at(1, 5), {.majority = true, .journaled = true}, judge());
  auto lax = role(true);
  lax.config.writeConcernMajorityJournalDefault = false;
  progress.setRole(lax);
  progress.notePosition("b:1", {at(1, 5), at(1, 4)});
  EXPECT_EQ(called, 0) << "applied by a majority, and on one disk";
  progress.notePosition("b:1", everywhere(at(1, 5)));
  EXPECT_EQ(called, 1);
}

TEST_F(Progress, AJournaledMajorityIsOnItsDisksWhereTheConfigCountsWhatIsApplied) {  // RDC-002
  auto lax = role(true);
  lax.config.writeConcernMajorityJournalDefault = false;
  progress.setRole(lax);
  EXPECT_NE(progress.whenAcknowledged(at(1, 5), {.majority = true, .journaled = true}, judge()), 0u);
  progress.noteApplied(at(1, 5));
  progress.notePosition("b:1", {at(1, 5), {}});
  EXPECT_EQ(progress.commitPoint(), at(1, 5));
  EXPECT_EQ(progress.whenAcknowledged(at(1, 5), {.majority = true}, judge()), 0u);
  EXPECT_EQ(called, 1);
  progress.noteDurable(at(1, 5));
  EXPECT_EQ(called, 1) << "one disk is no majority";
  progress.notePosition("b:1", everywhere(at(1, 5)));
  EXPECT_EQ(called, 2);
}

TEST_F(Progress, WhatIsAcknowledgedIsSeenByMajorityReadsAtOnce) {  // RDC-001
  progress.setRole(role(true));
  progress.noteApplied(at(1, 5));
  progress.notePosition("b:1", everywhere(at(1, 5)));
  progress.notePosition("c:1", everywhere(at(1, 5)));
  EXPECT_EQ(progress.whenAcknowledged(at(1, 5), {.majority = true}, judge()), 0u);
  EXPECT_EQ(progress.majority(), at(1, 5).timestamp) << "though it is not on this member's own disk yet";
  EXPECT_EQ(progress.stable(), OpTime{});
}

TEST_F(Progress, AnEntryIsReachedInItsTerm) {  // RDC-010
  progress.setRole(role(false));
  progress.noteApplied(at(2, 30));
  EXPECT_NE(progress.whenReached(at(3, 25), false, call()), 0u) << "this member has gone another way";
  EXPECT_EQ(progress.whenReached(at(2, 25), false, call()), 0u);
  progress.noteApplied(at(3, 26));
  EXPECT_EQ(called, 2);
}

TEST_F(Progress, ForgetsWaitersThatWithdraw) {
  const auto waiter = progress.whenApplied(at(1, 5).timestamp, call());
  EXPECT_TRUE(progress.withdraw(waiter));
  EXPECT_FALSE(progress.withdraw(waiter));
  progress.noteApplied(at(1, 5));
  EXPECT_EQ(called, 0);
}

TEST_F(Progress, TellsOfEachMove) {
  progress.setRole(role(false));
  progress.noteApplied(at(1, 4));
  auto seen = progress.times();
  progress.whenMoved(seen, call());
  progress.notePosition("b:1", everywhere(at(1, 4)));
  EXPECT_EQ(called, 0) << "of others it tells nothing";
  progress.noteDurable(at(1, 4));
  EXPECT_EQ(called, 1);
  progress.whenMoved(seen, call());
  EXPECT_EQ(called, 2) << "it has moved already";
}

TEST_F(Progress, TellsWhatIsStable) {
  std::vector<OpTime> heard;
  progress.onStable([&](const OpTime& stable) { heard.push_back(stable); });
  progress.setRole(role(false));
  progress.noteApplied(at(1, 4));
  progress.noteDurable(at(1, 4));
  progress.learnFromSource(at(1, 3));
  progress.noteApplied(at(1, 6));
  progress.learnFromSource(at(1, 6));
  progress.noteDurable(at(1, 6));
  EXPECT_EQ(heard, (std::vector{at(1, 3), at(1, 4), at(1, 6)}));
}

TEST_F(Progress, StartsAgainWhereARollbackEnds) {
  progress.setRole(role(false));
  progress.noteApplied(at(1, 9));
  progress.noteDurable(at(1, 9));
  progress.learnFromSource(at(1, 6));
  progress.resetTo(at(1, 7));
  EXPECT_EQ(progress.applied(), at(1, 7));
  EXPECT_EQ(progress.durable(), at(1, 7));
  EXPECT_EQ(progress.commitPoint(), at(1, 6));
  EXPECT_EQ(progress.lastApplied(), at(1, 7).timestamp);
}

/// An entry that comes to a voter after its vote may be missing on the new primary.
TEST_F(Progress, CountsNobodyOnceALaterTermWasHeardOf) {
  progress.setRole(role(true, 1));
  progress.noteApplied(at(1, 5));
  progress.noteDurable(at(1, 5));
  EXPECT_EQ(progress.appliedWhenVoting(2), at(1, 5));
  progress.notePosition("b:1", everywhere(at(1, 5)));
  EXPECT_EQ(progress.commitPoint(), OpTime{});
  progress.setRole(role(true, 1));  // the machine has not decided yet
  progress.notePosition("c:1", everywhere(at(1, 5)));
  EXPECT_EQ(progress.commitPoint(), OpTime{});
  EXPECT_EQ(progress.report().term, 2) << "whatever it reports now is of the term it has voted in";
}

/// Others tell what they have of a primary's newest entry a moment before it has noted that itself.
TEST_F(Progress, KnowsUpToWhereEntriesMayBeCommitted) {
  progress.setRole(role(true));
  progress.noteApplied(at(1, 5));
  EXPECT_EQ(progress.newestCommitted(), at(1, 5)) << "a majority may have told of it, and nobody has counted yet";
  progress.notePosition("b:1", everywhere(at(1, 6)));
  progress.notePosition("c:1", everywhere(at(1, 6)));
  EXPECT_EQ(progress.newestCommitted(), at(1, 6));
}

TEST_F(Progress, CountsAgainInATermOfItsOwn) {
  progress.setRole(role(true, 1));
  progress.noteTerm(2);
  progress.setRole(role(true, 3));
  progress.noteApplied(at(3, 6));
  progress.noteDurable(at(3, 6));
  progress.notePosition("b:1", everywhere(at(3, 6)));
  EXPECT_EQ(progress.commitPoint(), at(3, 6));
}

/// Threads that write, report and wait: each waiter is called once, and the commit point ends where all are.
TEST_F(Progress, SurvivesManyThreads) {
  progress.setRole(role(true));
  constexpr uint32_t kEnd = 2000;
  std::atomic<uint32_t> over{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (uint32_t i = 1; i <= kEnd; ++i) {
      progress.noteApplied(at(1, i));
      progress.noteDurable(at(1, i));
    }
  });
  threads.emplace_back([&] {
    for (uint32_t i = 1; i <= kEnd; ++i) progress.notePosition("b:1", everywhere(at(1, i)));
  });
  threads.emplace_back([&] {
    for (uint32_t i = 1; i <= kEnd; ++i)
      progress.whenAcknowledged(at(1, i), {.majority = true}, [&over](const Status&) { ++over; });
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(over, kEnd);
  EXPECT_EQ(progress.commitPoint(), at(1, kEnd));
}

}  // namespace
}  // namespace troupe::replication::test
