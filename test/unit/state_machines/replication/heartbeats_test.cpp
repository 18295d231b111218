#include "state_machines/replication/heartbeats.hpp"

#include <limits>

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

HeartbeatRequest requestFrom(const Snapshot<Topology>& sender, const NodeName& to) {
  const HeartbeatReply shape = shown(sender, to);
  HeartbeatRequest request{shape.sender, to, shape.setName};
  request.replicaSetId = shape.replicaSetId;
  return request;
}
HeartbeatReply answer(const Outcome& out) {
  const auto replies = said<HeartbeatReply>(out);
  EXPECT_EQ(replies.size(), 1u);
  return replies.at(0).second;
}

TEST(Heartbeats, GoToEveryOtherMemberEachInterval) {  // REP-035
  const Outcome out = when(memberOf(kConfig, "a:1"), HeartbeatDue{});
  const auto sent = said<HeartbeatRequest>(out);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].first, "b:1");
  EXPECT_EQ(sent[1].first, "c:1");
  ReplicaSetConfig config = kConfig;
  config.settings.electionTimeoutMillis = Secs(10);
  EXPECT_EQ(armed<HeartbeatDue>(when(memberOf(config, "a:1"), HeartbeatDue{}))->delay, Secs(2));
}

/// A term that no elections lead to would leave none for the next one.
TEST(Heartbeats, OfAnImplausibleTermAreNotTakenIn) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  const auto leading = memberOf(kConfig, "b:1", Phase::kPrimary);
  for (const int64_t term : {kLargest, kLargest - 1, (int64_t{1} << 32) + 4}) {
    HeartbeatRequest forged = requestFrom(memberOf(kConfig, "a:1"), "b:1");
    forged.sender.term = term;
    const Outcome out = when(leading, forged);
    EXPECT_EQ(out.next.memory.term, 3);
    EXPECT_EQ(phaseAfter(out), Phase::kPrimary);
    EXPECT_EQ(answer(out).sender.term, 3);
    HeartbeatReply reply = shown(memberOf(kConfig, "a:1"), "b:1");
    reply.newer = kConfig;
    reply.newer->version = 9;
    reply.newer->term = term;
    const Outcome learned = when(memberOf(kConfig, "b:1"), reply);
    EXPECT_EQ(learned.next.memory.term, 3);
    EXPECT_EQ(learned.next.document.config->version, kConfig.version);
  }
  HeartbeatRequest late = requestFrom(memberOf(kConfig, "a:1"), "b:1");
  late.sender.term = 1'000'000'000;
  EXPECT_EQ(when(leading, late).next.memory.term, 1'000'000'000) << "a member may have missed many elections";
}

TEST(Heartbeats, AreSentAtLeastTwiceInAnElectionTimeout) {
  EXPECT_EQ(armed<HeartbeatDue>(when(memberOf(kConfig, "a:1"), HeartbeatDue{}))->delay, Millis(500));
}

TEST(Heartbeats, SayWhoTheSenderIsAndWhatItHas) {  // REP-036
  const auto request = said<HeartbeatRequest>(when(memberOf(kConfig, "a:1"), HeartbeatDue{})).at(0).second;
  EXPECT_EQ(request.setName, "rs");
  EXPECT_EQ(request.sender.from, "a:1");
  EXPECT_EQ(request.sender.term, 3);
  EXPECT_EQ(request.sender.config, kConfig.configVersion());
  EXPECT_EQ(request.to, "b:1");
}

TEST(Heartbeats, AreRefusedByANodeOfAnotherSet) {  // REP-037
  Snapshot<Topology> stranger = memberOf(kConfig, "a:1", Phase::kPrimary, 9);
  stranger.document.setName = "other";
  const Outcome out = when(memberOf(kConfig, "b:1"), requestFrom(stranger, "b:1"));
  EXPECT_EQ(answer(out).refusal.code(), ErrorCode::kInconsistentReplicaSetNames);
  EXPECT_EQ(out.next.memory.term, 3);
  EXPECT_EQ(primaryOf(out.next), "");
}

/// The answer of "b:1", started for another set, to a heartbeat of "a:1".
HeartbeatReply refusalOfAnotherSet() {
  Snapshot<Topology> stranger = memberOf(kConfig, "b:1");
  stranger.document.setName = "other";
  return answer(when(stranger, requestFrom(memberOf(kConfig, "a:1"), "b:1")));
}
const std::string kOfAnotherSet = "InconsistentReplicaSetNames: b:1 is in the set other, not in rs";

TEST(Heartbeats, ThatAreRefusedLeaveTheReasonBehind) {
  Snapshot<Topology> now = memberOf(kConfig, "a:1");
  viewOf(now, "b:1").heard.clear();
  now = when(now, refusalOfAnotherSet()).next;
  EXPECT_EQ(viewOf(now, "b:1").refusal, kOfAnotherSet);
  EXPECT_EQ(viewOf(now, "c:1").refusal, "");
  EXPECT_FALSE(viewOf(now, "b:1").isAlive()) << "a refusal is no sign of life";
  HeartbeatReply withData = refusalOfAnotherSet();
  withData.refusal = Status(ErrorCode::kCannotInitializeNodeWithData, "b:1 has data of its own");
  now = when(now, withData).next;
  EXPECT_EQ(viewOf(now, "b:1").refusal, "CannotInitializeNodeWithData: b:1 has data of its own") << "the last one";
  now = when(now, shown(memberOf(kConfig, "b:1"), "a:1")).next;
  EXPECT_EQ(viewOf(now, "b:1").refusal, "") << "it has been taken in";
}

TEST(Heartbeats, ThatAnotherSetAnswersAreRefused) {
  HeartbeatReply reply = shown(memberOf(kConfig, "b:1", Phase::kPrimary, 9), "a:1");
  reply.setName = "other";
  const Outcome out = when(memberOf(kConfig, "a:1"), reply);
  Snapshot<Topology> now = out.next;
  EXPECT_EQ(viewOf(now, "b:1").refusal, kOfAnotherSet);
  EXPECT_EQ(now.memory.term, 3);
  EXPECT_EQ(primaryOf(now), "");
}

TEST(Heartbeats, OfWhichARefusalIsKeptWhenTheMemberIsForgotten) {
  Snapshot<Topology> now = when(memberOf(kConfig, "a:1"), refusalOfAnotherSet()).next;
  now = when(now, LivenessTimeout{"b:1", 0}).next;
  EXPECT_FALSE(viewOf(now, "b:1").isAlive());
  EXPECT_EQ(viewOf(now, "b:1").refusal, kOfAnotherSet) << "it goes on refusing";
  now = when(now, Unreachable{"b:1"}).next;
  EXPECT_EQ(viewOf(now, "b:1").refusal, "") << "nothing is there any more";
}

TEST(Heartbeats, AreAnsweredWithWhatTheReceiverIsAndHas) {  // REP-038
  Snapshot<Topology> now = memberOf(kConfig, "b:1");
  now.memory.applied = opTime(3, 7);
  viewOf(now, "c:1").state = MemberState::kPrimary;
  const HeartbeatReply reply = answer(when(now, requestFrom(memberOf(kConfig, "a:1"), "b:1")));
  EXPECT_EQ(reply.setName, "rs");
  EXPECT_EQ(reply.sender.from, "b:1");
  EXPECT_EQ(reply.sender.applied, opTime(3, 7));
  EXPECT_EQ(reply.sender.primary, "c:1");
  EXPECT_EQ(reply.sender.term, 3);
  EXPECT_EQ(reply.sender.state, MemberState::kSecondary);
  EXPECT_EQ(reply.sender.config, kConfig.configVersion());
  EXPECT_FALSE(reply.newer);
}

TEST(Heartbeats, BringTheConfigToWhoeverHasAnOlderOne) {  // REP-039
  ReplicaSetConfig newer = kConfig;
  newer.version = 2;
  const Outcome out = when(memberOf(newer, "b:1"), requestFrom(memberOf(kConfig, "a:1"), "b:1"));
  ASSERT_TRUE(answer(out).newer);
  EXPECT_EQ(answer(out).newer->version, 2);
  EXPECT_TRUE(said<HeartbeatRequest>(out).empty());
}

TEST(Heartbeats, OfANewerConfigAreAnsweredWithAQuestionForIt) {  // REP-039
  ReplicaSetConfig newer = kConfig;
  newer.version = 2;
  const Outcome out = when(memberOf(kConfig, "b:1"), requestFrom(memberOf(newer, "a:1"), "b:1"));
  const auto questions = said<HeartbeatRequest>(out);
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].first, "a:1");
}

TEST(Heartbeats, TeachANodeWithoutConfigItsNameAndItsConfig) {  // REP-039
  Topology::Document blank;
  blank.self = "localhost:1";
  blank.setName = "rs";
  const Snapshot<Topology> started = machines::resumed<Topology>(blank).next;
  EXPECT_EQ(stateOf(started), MemberState::kStartup);
  const Outcome asked = when(started, requestFrom(memberOf(kConfig, "a:1"), "b:1"));
  const auto question = said<HeartbeatRequest>(asked).at(0).second;
  EXPECT_EQ(question.sender.from, "b:1") << "as it was called";
  const HeartbeatReply config = answer(when(memberOf(kConfig, "a:1"), question));
  const Outcome out = when(asked.next, config);
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_EQ(out.next.document.self, "b:1");
  EXPECT_EQ(out.next.document.config, kConfig);
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(did<InstallConfig>(out)->config, kConfig);
}

TEST(Heartbeats, OfAHigherTermRaiseTheTerm) {  // REP-029
  const Outcome out = when(memberOf(kConfig, "b:1"), requestFrom(memberOf(kConfig, "a:1", Phase::kFollower, 8), "b:1"));
  EXPECT_EQ(out.next.memory.term, 8);
  EXPECT_EQ(answer(out).sender.term, 8);
}

TEST(Heartbeats, OfThePrimaryPutElectionsOff) {  // REP-042
  const Snapshot<Topology> now = memberOf(kConfig, "b:1");
  const HeartbeatReply alive = shown(memberOf(kConfig, "a:1", Phase::kPrimary), "b:1");
  const auto timeout = armed<ElectionTimeout>(when(now, alive));
  ASSERT_TRUE(timeout);
  EXPECT_EQ(timeout->delay, Secs(1));
  EXPECT_EQ(timeout->spread, Millis(150));
  EXPECT_FALSE(armed<ElectionTimeout>(when(now, shown(memberOf(kConfig, "a:1"), "b:1")))) << "those of others don't";
  EXPECT_FALSE(armed<ElectionTimeout>(when(now, shown(memberOf(kConfig, "a:1", Phase::kPrimary, 2), "b:1"))))
      << "nor those of a primary of an older term";
}

/// "c" follows "b", which hears of the primary "a" that "c" hears nothing of.
Snapshot<Topology> behindAnother() {
  Snapshot<Topology> now = memberOf(kConfig, "c:1");
  now.memory.source = "b:1";
  viewOf(now, "a:1").heard.clear();
  viewOf(now, "a:1").state = MemberState::kUnknown;
  return now;
}
HeartbeatReply answerOfB(const NodeName& primary, int64_t term = 3) {
  HeartbeatReply reply = shown(memberOf(kConfig, "b:1", Phase::kFollower, term), "c:1");
  reply.sender.primary = primary;
  return reply;
}

TEST(Heartbeats, OfASourceThatSeesThePrimaryPutElectionsOff) {  // REP-032
  const auto timeout = armed<ElectionTimeout>(when(behindAnother(), answerOfB("a:1")));
  ASSERT_TRUE(timeout);
  EXPECT_EQ(timeout->delay, Secs(1));
  EXPECT_EQ(timeout->spread, Millis(150));
  EXPECT_FALSE(armed<ElectionTimeout>(when(behindAnother(), answerOfB("")))) << "it sees none";
  EXPECT_FALSE(armed<ElectionTimeout>(when(behindAnother(), answerOfB("a:1", 2)))) << "one of an older term";
  EXPECT_FALSE(armed<ElectionTimeout>(when(behindAnother(), answerOfB("c:1")))) << "this node itself has been one";
  Snapshot<Topology> elsewhere = behindAnother();
  elsewhere.memory.source = "";
  EXPECT_FALSE(armed<ElectionTimeout>(when(elsewhere, answerOfB("a:1")))) << "only of the source";
}

TEST(Heartbeats, OfASourceThatMayNotHaveNoticedPutNoElectionOff) {  // REP-032, ELE-001
  Snapshot<Topology> now = when(behindAnother(), shown(memberOf(kConfig, "a:1", Phase::kPrimary), "c:1")).next;
  now = when(now, Unreachable{"a:1"}).next;
  const Outcome first = when(now, answerOfB("a:1"));
  EXPECT_FALSE(armed<ElectionTimeout>(first)) << "it may have said that before it lost the primary, too";
  const Outcome second = when(first.next, answerOfB("a:1"));
  EXPECT_EQ(armed<ElectionTimeout>(second)->delay, Secs(1)) << "it still sees it";
  const Outcome lost = when(second.next, answerOfB(""));
  EXPECT_EQ(armed<ElectionTimeout>(lost)->delay, Millis(50)) << "as if its own connection had been refused";
  EXPECT_FALSE(armed<ElectionTimeout>(when(lost.next, answerOfB("")))) << "once";
  const Outcome anew = when(when(second.next, Unreachable{"a:1"}).next, answerOfB("a:1"));
  EXPECT_FALSE(armed<ElectionTimeout>(anew)) << "it went out of reach once more";
}

TEST(Heartbeats, OfASourceThatLosesAPrimaryThatDiedSilentlyHastenTheElection) {  // REP-032, ELE-001
  const Snapshot<Topology> believes = when(behindAnother(), answerOfB("a:1")).next;
  const Outcome lost = when(believes, answerOfB(""));
  ASSERT_TRUE(armed<ElectionTimeout>(lost));
  EXPECT_EQ(armed<ElectionTimeout>(lost)->delay, Millis(50)) << "its words have put the election off until now";
  EXPECT_FALSE(armed<ElectionTimeout>(when(lost.next, answerOfB("")))) << "once";
  const Snapshot<Topology> hears = when(believes, shown(memberOf(kConfig, "a:1", Phase::kPrimary), "c:1")).next;
  EXPECT_FALSE(armed<ElectionTimeout>(when(hears, answerOfB("")))) << "it hears the primary itself again";
  EXPECT_FALSE(armed<ElectionTimeout>(when(hears, answerOfB("a:1")))) << "and goes by that alone";
}

TEST(Heartbeats, OfASourceEndAnElectionThatIsForWantOfAPrimary) {  // REP-032
  const Snapshot<Topology> dry = when(behindAnother(), ElectionTimeout{}).next;
  ASSERT_EQ(dry.memory.phase, Phase::kDryRun);
  const Outcome out = when(dry, answerOfB("a:1"));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_EQ(armed<ElectionTimeout>(out)->delay, Secs(1));
  Snapshot<Topology> wanted = when(behindAnother(), StepUp{}).next;
  EXPECT_EQ(phaseAfter(when(wanted, answerOfB("a:1"))), Phase::kDryRun) << "an operator wants it";
}

TEST(Heartbeats, OfASourceKeepItsReaderFromStandingAgainAndAgain) {  // REP-032
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), far = set.others()[0], between = set.others()[1];
  set.memory(far).source = between;
  set.cut(far, primary);
  set.report(far, Unreachable{primary});
  set.run(Secs(2));
  set.forget();
  set.run(Secs(20));
  EXPECT_TRUE(set.sent<VoteRequest>().empty());
  set.kill(primary);
  set.report(between, Unreachable{primary});
  const Millis crash = set.clock();
  EXPECT_NE(set.runUntilPrimary(), primary);
  EXPECT_LE(set.clock() - crash, Secs(1));
}

TEST(Heartbeats, TellWhenAPrimaryWasElected) {  // REP-038
  Snapshot<Topology> leading = when(memberOf(kConfig, "a:1", Phase::kPrimary), Elected{2, {555}}).next;
  EXPECT_EQ(leading.memory.electedAt, bson::Date{}) << "of another term";
  leading = when(leading, Elected{3, {777}}).next;
  const HeartbeatReply reply = answer(when(leading, requestFrom(memberOf(kConfig, "b:1"), "a:1")));
  EXPECT_EQ(reply.sender.electedAt, bson::Date{777});
  Snapshot<Topology> following = when(memberOf(kConfig, "b:1"), reply).next;
  EXPECT_EQ(viewOf(following, "a:1").electedAt, bson::Date{777});
  following = when(following, shown(memberOf(kConfig, "a:1"), "b:1")).next;
  EXPECT_EQ(viewOf(following, "a:1").electedAt, bson::Date{}) << "it leads no more";
  const Outcome over = when(leading, requestFrom(memberOf(kConfig, "b:1", Phase::kFollower, 4), "a:1"));
  EXPECT_EQ(over.next.memory.electedAt, bson::Date{});
}

TEST(Heartbeats, BringBackWhenTheyWereSent) {
  HeartbeatRequest request = requestFrom(memberOf(kConfig, "a:1"), "b:1");
  request.sentAt = 4711;
  EXPECT_EQ(answer(when(memberOf(kConfig, "b:1"), request)).sentAt, 4711);
}

TEST(Heartbeats, AreAnsweredByOneThatCanTakeNothingIn) {
  Snapshot<Topology> now = memberOf(kConfig, "b:1");
  now.memory.applied = opTime(3, 7);
  viewOf(now, "c:1").state = MemberState::kPrimary;
  ASSERT_EQ(primaryOf(now), "c:1");
  HeartbeatRequest request = requestFrom(memberOf(kConfig, "a:1", Phase::kPrimary, 9), "b:1");
  request.sentAt = 12;
  const auto reply = answerUnheard(now, request);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->to, "a:1");
  EXPECT_EQ(reply->sender.from, "b:1");
  EXPECT_EQ(reply->sender.term, 3) << "it has taken nothing in";
  EXPECT_EQ(reply->sender.applied, opTime(3, 7));
  EXPECT_EQ(reply->sender.state, MemberState::kSecondary);
  EXPECT_EQ(reply->sender.config, kConfig.configVersion());
  EXPECT_TRUE(reply->sender.others.empty()) << "it hears of nobody meanwhile";
  EXPECT_EQ(reply->sender.primary, "") << "nor of the primary";
  EXPECT_EQ(reply->sentAt, 12);
  for (const Phase phase :
       {Phase::kCandidate, Phase::kCatchingUp, Phase::kDraining, Phase::kPrimary, Phase::kSteppingDown})
    EXPECT_FALSE(answerUnheard(memberOf(kConfig, "b:1", phase), request)) << "nobody is to follow it";
  HeartbeatRequest stranger = request;
  stranger.setName = "other";
  EXPECT_FALSE(answerUnheard(now, stranger));
  EXPECT_FALSE(answerUnheard(memberOf(kConfig, "x:1"), request)) << "its config does not name it";
}

TEST(Heartbeats, OfThePrimaryEndAnElectionThatIsForWantOfOne) {  // REP-042
  Snapshot<Topology> dry = when(memberOf(kConfig, "b:1"), ElectionTimeout{}).next;
  EXPECT_EQ(phaseAfter(when(dry, shown(memberOf(kConfig, "a:1", Phase::kPrimary), "b:1"))), Phase::kFollower);
  Snapshot<Topology> candidate = when(dry, VoteReply{"c:1", 3, true, true, ""}).next;
  EXPECT_EQ(phaseAfter(when(candidate, shown(memberOf(kConfig, "a:1", Phase::kPrimary), "b:1"))), Phase::kCandidate)
      << "of the term before";
  EXPECT_EQ(phaseAfter(when(candidate, shown(memberOf(kConfig, "a:1", Phase::kPrimary, 4), "b:1"))), Phase::kFollower)
      << "it has lost";
}

TEST(Heartbeats, AFollowerWhosePrimaryRefusesConnectionsStandsSoon) {  // ELE-001
  const Snapshot<Topology> following =
      when(memberOf(kConfig, "b:1"), shown(memberOf(kConfig, "a:1", Phase::kPrimary), "b:1")).next;
  EXPECT_FALSE(armed<ElectionTimeout>(when(following, Unreachable{"c:1"}))) << "another member is no reason";
  const Outcome gone = when(following, Unreachable{"a:1"});
  ASSERT_TRUE(armed<ElectionTimeout>(gone));
  EXPECT_EQ(armed<ElectionTimeout>(gone)->delay, Millis(50));
  EXPECT_EQ(armed<ElectionTimeout>(gone)->spread, Millis(100));
  EXPECT_FALSE(armed<ElectionTimeout>(when(gone.next, Unreachable{"a:1"}))) << "once";
  const Outcome alive = when(gone.next, shown(memberOf(kConfig, "a:1", Phase::kPrimary), "b:1"));
  EXPECT_EQ(armed<ElectionTimeout>(alive)->delay, Secs(1)) << "a sign of life puts it off again";
}

TEST(Heartbeats, WhoeverStillHearsThePrimaryRefusesTheOneThatCannotReachIt) {  // ELE-007
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), lonely = set.others().front();
  const int64_t term = set.term();
  set.cut(lonely, primary);
  set.report(lonely, Unreachable{primary});
  set.run(Secs(20));
  EXPECT_EQ(set.primary(), primary);
  EXPECT_EQ(set.term(), term);
}

TEST(Heartbeats, WhenAllAreRefusedByThePrimaryAnotherOneLeadsFarBelowTheElectionTimeout) {  // ELE-001
  Cluster set = Cluster::running(kConfig);
  set.kill(set.primary());
  const Millis crash = set.clock();
  const NodeName dead = primaryOf(set[set.others().front()].now);
  for (const NodeName& host : set.others()) set.report(host, Unreachable{dead});
  EXPECT_FALSE(set.runUntilPrimary().empty());
  EXPECT_LE(set.clock() - crash, Millis(300));
}

TEST(Heartbeats, ShowThePrimaryToFollowers) {
  const Outcome out =
      when(memberOf(kConfig, "b:1"), requestFrom(memberOf(kConfig, "a:1", Phase::kCatchingUp, 4), "b:1"));
  EXPECT_EQ(primaryOf(out.next), "a:1");
  EXPECT_EQ(primaryOf(when(out.next, LivenessTimeout{"a:1", 0}).next), "");
  EXPECT_EQ(primaryOf(when(out.next, Unreachable{"a:1"}).next), "");
}

}  // namespace
}  // namespace troupe::replication::test
