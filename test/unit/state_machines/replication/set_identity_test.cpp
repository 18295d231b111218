// A node of another set that has the same name is no member: what it says changes nothing.
#include "state_machines/replication/set_identity.hpp"

#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/voting.hpp"
#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

const ReplicaSetConfig kOwn = withId(kConfig, kOwnId), kOther = withId(kConfig, kOtherId);

/// The primary "b" of the other set, in a later term and with more data.
Snapshot<Topology> stranger() {
  Snapshot<Topology> now = memberOf(kOther, "b:1", Phase::kPrimary, 9);
  now.memory.applied = opTime(9, 500);
  return now;
}
HeartbeatRequest heartbeatOf(const Snapshot<Topology>& sender, const NodeName& to) {
  return heartbeatFor(Turn(sender), to);
}
HeartbeatReply answerOf(const Snapshot<Topology>& now, const HeartbeatRequest& request) {
  const auto replies = said<HeartbeatReply>(when(now, request));
  EXPECT_EQ(replies.size(), 1u);
  return replies.at(0).second;
}
VoteRequest candidacyOf(const ReplicaSetConfig& config, int64_t term) {
  VoteRequest request;
  request.from = "b:1";
  request.setName = "rs";
  request.term = term;
  request.config = config.configVersion();
  request.applied = opTime(term, 500);
  request.replicaSetId = config.settings.replicaSetId;
  return request;
}

/// Term, role, vote, config and what it knows of others.
void expectSame(const Snapshot<Topology>& now, const Snapshot<Topology>& before) {
  EXPECT_EQ(now.document, before.document);
  EXPECT_EQ(now.memory, before.memory);
}

TEST(SetIdentity, IsComparedWhereBothIdsAreKnown) {
  EXPECT_TRUE(checkSameSet("b:1", "rs", kOwnId, kOwnId).isOK());
  EXPECT_TRUE(checkSameSet("b:1", "rs", {}, kOwnId).isOK());
  EXPECT_TRUE(checkSameSet("b:1", "rs", kOtherId, {}).isOK());
  EXPECT_TRUE(checkSameSet("b:1", "rs", {}, {}).isOK());
  const Status differ = checkSameSet("b:1", "rs", kOtherId, kOwnId);
  EXPECT_EQ(differ.code(), ErrorCode::kInvalidReplicaSetConfig);
  expectTellsOfAnotherSet(differ.reason(), "b:1", kOtherId, kOwnId);
}

TEST(SetIdentity, TravelsWithAllThatMembersSay) {
  const Snapshot<Topology> now = memberOf(kOwn, "a:1");
  const auto heartbeats = said<HeartbeatRequest>(when(now, HeartbeatDue{}));
  ASSERT_EQ(heartbeats.size(), 2u);
  EXPECT_EQ(heartbeats[0].second.replicaSetId, kOwnId);
  const HeartbeatRequest request = heartbeatOf(memberOf(kOwn, "b:1"), "a:1");
  EXPECT_EQ(answerOf(now, request).replicaSetId, kOwnId);
  EXPECT_EQ(answerUnheard(now, request)->replicaSetId, kOwnId);
  const auto candidacies = said<VoteRequest>(when(now, ElectionTimeout{}));
  ASSERT_EQ(candidacies.size(), 2u);
  EXPECT_EQ(candidacies[0].second.replicaSetId, kOwnId);
  const auto votes = said<VoteReply>(when(now, candidacyOf(kOwn, 4)));
  ASSERT_EQ(votes.size(), 1u);
  EXPECT_TRUE(votes[0].second.granted) << votes[0].second.reason;
  EXPECT_EQ(votes[0].second.replicaSetId, kOwnId);
}

TEST(SetIdentity, OfAHeartbeatFromAnotherSetRefusesIt) {
  const Snapshot<Topology> leading = memberOf(kOwn, "a:1", Phase::kPrimary);
  const Outcome out = when(leading, heartbeatOf(stranger(), "a:1"));
  expectSame(out.next, leading);
  EXPECT_FALSE(armed<LivenessTimeout>(out));
  ASSERT_EQ(said<HeartbeatReply>(out).size(), 1u);
  const HeartbeatReply reply = said<HeartbeatReply>(out)[0].second;
  EXPECT_EQ(reply.refusal.code(), ErrorCode::kInvalidReplicaSetConfig);
  expectTellsOfAnotherSet(reply.refusal.reason(), "a:1", kOwnId, kOtherId);
  EXPECT_FALSE(reply.newer);
  EXPECT_TRUE(said<HeartbeatRequest>(out).empty()) << "its config is none of this set";
  EXPECT_FALSE(answerUnheard(memberOf(kOwn, "a:1"), heartbeatOf(stranger(), "a:1")));
}

TEST(SetIdentity, OfAnAnswerFromAnotherSetLeavesTheReasonAndNothingElse) {
  for (const Phase phase : {Phase::kFollower, Phase::kPrimary}) {
    Snapshot<Topology> before = memberOf(kOwn, "a:1", phase);
    viewOf(before, "b:1").heard.clear();
    viewOf(before, "b:1").state = MemberState::kUnknown;
    HeartbeatReply answer = shown(stranger(), "a:1");
    answer.newer = kOther;
    answer.newer->version = 7;
    const Outcome out = when(before, answer);
    Snapshot<Topology> now = out.next;
    expectTellsOfAnotherSet(viewOf(now, "b:1").refusal, "b:1", kOtherId, kOwnId);
    EXPECT_FALSE(armed<ElectionTimeout>(out)) << "it is no primary of this set";
    EXPECT_EQ(primaryOf(now), phase == Phase::kPrimary ? "a:1" : "");
    viewOf(now, "b:1").refusal.clear();
    expectSame(now, before);
  }
}

TEST(SetIdentity, IsToldByTheOneThatRefuses) {
  const HeartbeatReply refused = answerOf(stranger(), heartbeatOf(memberOf(kOwn, "a:1"), "b:1"));
  Snapshot<Topology> now = when(memberOf(kOwn, "a:1"), refused).next;
  expectTellsOfAnotherSet(viewOf(now, "b:1").refusal, "b:1", kOtherId, kOwnId);
}

/// Another node may have come to the address of the source.
TEST(SetIdentity, PutsNoElectionOffAsASourceEither) {
  Snapshot<Topology> following = memberOf(kOwn, "a:1");
  following.memory.source = "b:1";
  viewOf(following, "c:1").heard.clear();
  HeartbeatReply answer = shown(memberOf(kOther, "b:1"), "a:1");
  answer.sender.primary = "c:1";
  EXPECT_FALSE(armed<ElectionTimeout>(when(following, answer)));
  answer.replicaSetId = kOwnId;
  EXPECT_TRUE(armed<ElectionTimeout>(when(following, answer))) << "as that of a member does";
}

TEST(SetIdentity, OfACandidateOfAnotherSetGetsNoVoteAndRaisesNoTerm) {  // ELE-013
  for (const Phase phase : {Phase::kFollower, Phase::kPrimary}) {
    const Snapshot<Topology> before = memberOf(kOwn, "a:1", phase);
    const Outcome out = when(before, candidacyOf(kOther, 9));
    expectSame(out.next, before);
    EXPECT_FALSE(armed<LivenessTimeout>(out)) << "it is no sign of life of a member";
    EXPECT_FALSE(armed<ElectionTimeout>(out));
    ASSERT_EQ(said<VoteReply>(out).size(), 1u);
    EXPECT_FALSE(said<VoteReply>(out)[0].second.granted);
    expectTellsOfAnotherSet(said<VoteReply>(out)[0].second.reason, "b:1", kOtherId, kOwnId);
  }
}

TEST(SetIdentity, OfAVoterOfAnotherSetLetsNoAnswerOfItCount) {
  Snapshot<Topology> dry = when(memberOf(kOwn, "a:1"), ElectionTimeout{}).next;
  ASSERT_EQ(dry.memory.phase, Phase::kDryRun);
  expectSame(when(dry, VoteReply{"b:1", 9, true, false, "no", kOtherId}).next, dry);
  expectSame(when(dry, VoteReply{"b:1", 3, true, true, "", kOtherId}).next, dry);
  EXPECT_EQ(phaseAfter(when(dry, VoteReply{"b:1", 3, true, true, "", kOwnId})), Phase::kCandidate);
}

TEST(SetIdentity, OfAPrimaryOfAnotherSetHandsNothingOver) {
  const Snapshot<Topology> before = memberOf(kOwn, "a:1");
  for (const int64_t term : {3, 9}) {
    const Outcome out = when(before, StepUpRequest{"b:1", term, kOtherId});
    expectSame(out.next, before);
    ASSERT_EQ(said<StepUpRefusal>(out).size(), 1u) << "another one can be asked";
    EXPECT_EQ(said<StepUpRefusal>(out)[0].second.term, term);
  }
  EXPECT_EQ(phaseAfter(when(before, StepUpRequest{"b:1", 3, kOwnId})), Phase::kCandidate);
}

TEST(SetIdentity, ThatIsNotKnownRefusesNothing) {
  const Snapshot<Topology> own = memberOf(kOwn, "a:1"), unknown = memberOf(kConfig, "a:1");
  const auto later = [](const ReplicaSetConfig& config) {
    return heartbeatOf(memberOf(config, "b:1", Phase::kFollower, 5), "a:1");
  };
  EXPECT_EQ(when(own, later(kConfig)).next.memory.term, 5) << "an older version does not send it";
  EXPECT_EQ(when(unknown, later(kOther)).next.memory.term, 5) << "nor does an older config have it";
  EXPECT_TRUE(said<VoteReply>(when(own, candidacyOf(kConfig, 4))).at(0).second.granted);
  EXPECT_TRUE(said<VoteReply>(when(unknown, candidacyOf(kOther, 4))).at(0).second.granted);
  Snapshot<Topology> now = when(own, shown(memberOf(kConfig, "b:1", Phase::kFollower, 5), "a:1")).next;
  EXPECT_EQ(now.memory.term, 5);
  EXPECT_EQ(viewOf(now, "b:1").refusal, "");
}

TEST(SetIdentity, IsLearnedByANodeWithoutConfig) {
  const Outcome asked = when(blank("b:1"), heartbeatOf(memberOf(kOwn, "a:1"), "b:1"));
  const auto questions = said<HeartbeatRequest>(asked);
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].second.replicaSetId, ReplicaSetId());
  const HeartbeatReply config = answerOf(memberOf(kOwn, "a:1"), questions[0].second);
  EXPECT_TRUE(config.refusal.isOK()) << config.refusal.toString();
  EXPECT_EQ(when(asked.next, config).next.document.replicaSetId(), kOwnId);
}

constexpr int64_t kStrangeTerm = 40;

/// The living one of the three members that takes writes.
NodeName primaryOfThree(Cluster& set) {
  for (const NodeName& host : kThree)
    if (set[host].alive && isWritable(set[host].now)) return host;
  return {};
}

TEST(SetIdentity, KeepsASetGoingIntoWhichANodeOfAnotherSetIsForced) {
  for (const int32_t votes : {0, 1}) {
    Cluster set(std::vector<NodeName>{"a:1", "b:1", "c:1", "d:1"});
    set.command("a:1", Initiate{kConfig, "a:1", kOwnId});
    ASSERT_NE(set.runUntilPrimary(), "");
    set["d:1"].now.document.lastVote = {kStrangeTerm, "d:1"};
    set.kill("d:1");
    set.restart("d:1");
    set.command("d:1", Initiate{configOf({"d:1"}), "d:1", kOtherId});
    set.run(Secs(3));
    ASSERT_TRUE(isWritable(set["d:1"].now));
    const int64_t strange = set.memory("d:1").term;
    const NodeName primary = primaryOfThree(set);
    ASSERT_NE(primary, "");
    const int64_t term = set.memory(primary).term;
    ASSERT_GT(strange, term);
    ReplicaSetConfig next = set.config(primary);
    next.version += 1;
    MemberConfig added;
    added.id = 3;
    added.host = "d:1";
    added.votes = votes;
    added.priority = 0;
    next.members.push_back(added);
    set.command(primary, Reconfig{next});
    set.run(Secs(1));
    const auto refused = set.concluded(primary, OpenCommand::kReconfig);
    EXPECT_EQ(refused->code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
    expectTellsOfAnotherSet(refused->reason(), "d:1", kOtherId, kOwnId);
    set.command(primary, Reconfig{next, true, 0});
    set.run(Secs(10));
    for (const NodeName& host : kThree) {
      EXPECT_EQ(set.memory(host).term, term) << host;
      EXPECT_EQ(primaryOf(set[host].now), primary) << host;
      EXPECT_FALSE(viewOf(set[host].now, "d:1").isAlive()) << host;
      expectTellsOfAnotherSet(viewOf(set[host].now, "d:1").refusal, "d:1", kOtherId, kOwnId);
    }
    EXPECT_EQ(set.memory("d:1").term, strange);
    EXPECT_EQ(set.config("d:1").members.size(), 1u);
    set.kill(primary);
    set.run(Secs(10));
    const NodeName successor = primaryOfThree(set);
    EXPECT_EQ(successor.empty(), votes == 1) << "a voter that is no member leaves two of four";
    for (const NodeName& host : kThree) EXPECT_LT(set.memory(host).term, kStrangeTerm) << host;
  }
}

}  // namespace
}  // namespace troupe::replication::test
