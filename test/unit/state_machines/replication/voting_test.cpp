#include "state_machines/replication/voting.hpp"

#include <limits>

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

/// "a" asks "b", who is in term 3, for its vote in the next.
VoteRequest request(int64_t term = 4) {
  VoteRequest r;
  r.from = "a:1";
  r.setName = "rs";
  r.term = term;
  r.config = kConfig.configVersion();
  return r;
}
Snapshot<Topology> voter() { return memberOf(kConfig, "b:1"); }

VoteReply answer(const Snapshot<Topology>& now, const VoteRequest& r) {
  const auto replies = said<VoteReply>(when(now, r));
  EXPECT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies.at(0).first, "a:1");
  return replies.at(0).second;
}

TEST(Voting, PersistsItsVoteInTheJournalBeforeItAnswers) {  // ELE-017
  const Outcome out = when(voter(), request());
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.durability, Durability::kJournaled);
  EXPECT_EQ(out.next.document.lastVote, (LastVote{4, "a:1"}));
  ASSERT_EQ(said<VoteReply>(out).size(), 1u);
  EXPECT_TRUE(said<VoteReply>(out)[0].second.granted);
}

TEST(Voting, RefusesATermThatNoElectionsLeadTo) {
  const Outcome out = when(voter(), request(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(out.next.memory.term, 3);
  EXPECT_FALSE(said<VoteReply>(out).at(0).second.granted);
  EXPECT_FALSE(out.persist);
}

TEST(Voting, KnowsItsVoteAfterACrash) {  // ELE-017
  const Outcome voted = when(voter(), request());
  Snapshot<Topology> restarted = machines::resumed<Topology>(voted.next.document).next;
  EXPECT_EQ(restarted.memory.term, 4);
  VoteRequest other = request();
  other.from = "c:1";
  const Outcome out = when(restarted, other);
  EXPECT_FALSE(said<VoteReply>(out).at(0).second.granted);
}

TEST(Voting, RaisesItsTermFromTheRequestFirst) {  // ELE-011
  VoteRequest hopeless = request(7);
  Snapshot<Topology> now = voter();
  now.memory.applied = opTime(3, 50);
  const Outcome out = when(now, hopeless);
  EXPECT_EQ(out.next.memory.term, 7);
  EXPECT_FALSE(said<VoteReply>(out).at(0).second.granted);
  EXPECT_EQ(said<VoteReply>(out).at(0).second.term, 7);
}

TEST(Voting, RefusesACandidateOfAnOlderTerm) {  // ELE-011
  const VoteReply reply = answer(voter(), request(2));
  EXPECT_FALSE(reply.granted);
  EXPECT_EQ(reply.term, 3);
  EXPECT_NE(reply.reason.find("older"), std::string::npos) << reply.reason;
}

TEST(Voting, RefusesACandidateWithAnotherConfig) {  // ELE-012
  VoteRequest older = request();
  older.config.version = 0;
  EXPECT_FALSE(answer(voter(), older).granted);
  VoteRequest newer = request();
  newer.config.version = 2;
  EXPECT_FALSE(answer(voter(), newer).granted);
}

TEST(Voting, RefusesACandidateOfAnotherSet) {  // ELE-013
  VoteRequest other = request(9);
  other.setName = "other";
  const Outcome out = when(voter(), other);
  EXPECT_FALSE(said<VoteReply>(out).at(0).second.granted);
  EXPECT_EQ(out.next.memory.term, 3) << "its term means nothing here";
}

TEST(Voting, RefusesACandidateWithOlderData) {  // ELE-014
  Snapshot<Topology> now = voter();
  now.memory.applied = opTime(3, 11);
  VoteRequest behind = request();
  behind.applied = opTime(3, 10);
  EXPECT_FALSE(answer(now, behind).granted);
  behind.applied = opTime(3, 11);
  EXPECT_TRUE(answer(now, behind).granted);
  now.memory.applied = opTime(2, 99);
  EXPECT_TRUE(answer(now, behind).granted) << "a later term is newer, whatever the clocks say";
}

TEST(Voting, RefusesASecondVoteInATermItVotedIn) {  // ELE-015
  Snapshot<Topology> now = voter();
  now.memory.term = 4;
  now.document.lastVote = {4, "c:1"};
  const Outcome out = when(now, request());
  EXPECT_FALSE(said<VoteReply>(out).at(0).second.granted);
  EXPECT_FALSE(out.persist);
}

TEST(Voting, RepeatsTheSameVoteForARequestThatCameTwice) {
  Snapshot<Topology> now = voter();
  now.memory.term = 4;
  now.document.lastVote = {4, "a:1"};
  EXPECT_TRUE(answer(now, request()).granted);
}

TEST(Voting, ADryRunCostsNoVote) {  // ELE-007, ELE-015
  Snapshot<Topology> now = voter();
  now.document.lastVote = {3, "c:1"};
  VoteRequest dry = request(3);
  dry.dryRun = true;
  const Outcome out = when(now, dry);
  EXPECT_TRUE(said<VoteReply>(out).at(0).second.granted);
  EXPECT_TRUE(said<VoteReply>(out).at(0).second.dryRun);
  EXPECT_FALSE(out.persist);
  EXPECT_EQ(out.next.memory.term, 3);
}

TEST(Voting, AnArbiterRefusesWhileItSeesAPrimaryAsGood) {  // ELE-016
  ReplicaSetConfig config = kConfig;
  config.members[1].arbiterOnly = true;
  config.members[1].priority = 0;
  Snapshot<Topology> arbiter = memberOf(config, "b:1", Phase::kArbiter);
  viewOf(arbiter, "c:1").state = MemberState::kPrimary;
  VoteRequest dry = request(3);
  dry.dryRun = true;
  EXPECT_FALSE(answer(arbiter, dry).granted);
  arbiter.document.config->members[0].priority = 2;
  EXPECT_TRUE(answer(arbiter, dry).granted) << "the candidate's priority is higher than the primary's";
  arbiter = memberOf(config, "b:1", Phase::kArbiter);
  EXPECT_TRUE(answer(arbiter, dry).granted) << "there is no primary";
}

TEST(Voting, InADryRunForWantOfAPrimaryEveryVoterDefendsThePrimaryItSees) {  // ELE-007
  Snapshot<Topology> now = voter();
  viewOf(now, "c:1").state = MemberState::kPrimary;
  VoteRequest dry = request(3);
  dry.dryRun = true;
  EXPECT_TRUE(answer(now, dry).granted) << "a takeover";
  dry.leaderless = true;
  EXPECT_FALSE(answer(now, dry).granted);
  viewOf(now, "c:1").heard = {1};
  EXPECT_TRUE(answer(now, dry).granted) << "not heard from for the election timeout";
  EXPECT_FALSE(answer(memberOf(kConfig, "b:1", Phase::kPrimary), dry).granted) << "it is the primary itself";
}

TEST(Voting, AMemberWithoutAVoteRefuses) {
  ReplicaSetConfig config = kConfig;
  config.members[1].votes = 0;
  config.members[1].priority = 0;
  EXPECT_FALSE(answer(memberOf(config, "b:1"), request()).granted);
}

TEST(Voting, WhoeverGrantsAVoteLetsTheCandidateTry) {
  EXPECT_TRUE(armed<ElectionTimeout>(when(voter(), request())));
  EXPECT_FALSE(armed<ElectionTimeout>(when(voter(), request(2)))) << "not for one it refuses";
}

TEST(Voting, APrimaryThatVotesInAHigherTermStepsDown) {  // ELE-031
  const Outcome out = when(memberOf(kConfig, "b:1", Phase::kPrimary), request());
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_TRUE(did<InterruptOperations>(out));
  EXPECT_EQ(out.next.document.lastVote, (LastVote{4, "a:1"}));
}

}  // namespace
}  // namespace troupe::replication::test
