#include "state_machines/replication/candidacy.hpp"

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

const ReplicaSetConfig kFive = configOf({"a:1", "b:1", "c:1", "d:1", "e:1"});

VoteReply vote(const NodeName& from, int64_t term, bool dryRun, bool granted) {
  return {from, term, dryRun, granted, ""};
}

Snapshot<Topology> dryRunning(const ReplicaSetConfig& config = kConfig) {
  return when(memberOf(config, "a:1"), ElectionTimeout{}).next;
}
Snapshot<Topology> standing(const ReplicaSetConfig& config = kConfig) {
  Snapshot<Topology> now = dryRunning(config);
  for (size_t i = 1; now.memory.phase == Phase::kDryRun; ++i)
    now = when(now, vote(config.members.at(i).host, 3, true, true)).next;
  return now;
}

TEST(Candidacy, StandsWhenNoPrimaryWasSeenForTheElectionTimeout) {  // ELE-001
  const Outcome out = when(memberOf(kConfig, "a:1"), ElectionTimeout{});
  EXPECT_EQ(phaseAfter(out), Phase::kDryRun);
  EXPECT_EQ(out.next.memory.standing, ElectionReason::kElectionTimeout);
}

TEST(Candidacy, HoldsADryRunInItsPresentTermFirst) {  // ELE-007
  const Outcome out = when(memberOf(kConfig, "a:1"), ElectionTimeout{});
  EXPECT_EQ(out.next.memory.term, 3);
  EXPECT_FALSE(out.persist);
  const auto asked = said<VoteRequest>(out);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_TRUE(asked[0].second.dryRun);
  EXPECT_EQ(asked[0].second.term, 3);
}

TEST(Candidacy, ALostDryRunLeavesTermAndRoleAlone) {  // ELE-007
  Snapshot<Topology> now = dryRunning();
  now = when(now, vote("b:1", 3, true, false)).next;
  const Outcome out = when(now, vote("c:1", 3, true, false));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_EQ(out.next.memory.term, 3);
  EXPECT_FALSE(out.persist);
  EXPECT_EQ(stateOf(out.next), MemberState::kSecondary);
}

TEST(Candidacy, InTheRealElectionPersistsItsOwnVoteInANewTermAndAsksAll) {  // ELE-009, ELE-017
  const Outcome out = when(dryRunning(), vote("c:1", 3, true, true));
  EXPECT_EQ(phaseAfter(out), Phase::kCandidate);
  EXPECT_EQ(out.next.memory.term, 4);
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.durability, Durability::kJournaled);
  EXPECT_EQ(out.next.document.lastVote, (LastVote{4, "a:1"}));
  const auto asked = said<VoteRequest>(out);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_FALSE(asked[0].second.dryRun);
  EXPECT_EQ(asked[1].second.term, 4);
}

TEST(Candidacy, WinsOnlyWithAMajorityOfTheVotesItsOwnIncluded) {  // ELE-010
  Snapshot<Topology> now = standing(kFive);
  ASSERT_EQ(now.memory.phase, Phase::kCandidate);
  now = when(now, vote("b:1", 4, false, true)).next;
  EXPECT_EQ(now.memory.phase, Phase::kCandidate) << "2 of 5";
  now = when(now, vote("b:1", 4, false, true)).next;
  EXPECT_EQ(now.memory.phase, Phase::kCandidate) << "the same vote again";
  EXPECT_TRUE(leads(when(now, vote("e:1", 4, false, true)).next.memory.phase));
}

TEST(Candidacy, CountsNoVotesOfMembersWithoutAVote) {  // ELE-010
  ReplicaSetConfig config = configOf({"a:1", "b:1", "c:1", "d:1"});
  config.members[3].votes = 0;
  config.members[3].priority = 0;
  const Snapshot<Topology> now = standing(config);
  EXPECT_EQ(phaseAfter(when(now, vote("d:1", 4, false, true))), Phase::kCandidate);
  EXPECT_TRUE(leads(phaseAfter(when(now, vote("b:1", 4, false, true)))));
}

TEST(Candidacy, CountsNoAnswersToEarlierQuestions) {
  EXPECT_EQ(phaseAfter(when(standing(), vote("b:1", 3, true, true))), Phase::kCandidate) << "of the dry run";
  EXPECT_EQ(phaseAfter(when(standing(), vote("b:1", 3, false, true))), Phase::kCandidate) << "of an older term";
  EXPECT_EQ(phaseAfter(when(dryRunning(), vote("b:1", 3, false, true))), Phase::kDryRun) << "of an election before";
}

TEST(Candidacy, GivesUpWhenAVoterKnowsALaterTerm) {  // ELE-031
  const Outcome out = when(standing(), vote("b:1", 9, false, false));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  EXPECT_EQ(out.next.memory.term, 9);
}

TEST(Candidacy, TriesAgainSoonAfterASplitVote) {
  Snapshot<Topology> now = when(standing(), vote("b:1", 4, false, false)).next;
  const Outcome out = when(now, vote("c:1", 4, false, false));
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  std::optional<Millis> last;
  for (const auto& effect : out.effects)
    if (const auto* arm = std::get_if<machines::Arm<Topology>>(&effect);
        arm && std::holds_alternative<ElectionTimeout>(arm->event))
      last = arm->delay + arm->spread;
  ASSERT_TRUE(last);
  EXPECT_LT(*last, kConfig.settings.electionTimeoutMillis);
}

TEST(Candidacy, BeginsAnewWhenNobodyAnswers) {
  const Outcome out = when(standing(), ElectionTimeout{});
  EXPECT_EQ(phaseAfter(out), Phase::kDryRun);
  EXPECT_EQ(out.next.memory.term, 4);
}

TEST(Candidacy, NeitherArbitersNorMembersOfPriorityZeroStand) {
  ReplicaSetConfig config = kConfig;
  config.members[0].priority = 0;
  const auto resumed = machines::resumed<Topology>(memberOf(config, "a:1").document);
  EXPECT_FALSE(armed<ElectionTimeout>(resumed));
  EXPECT_EQ(phaseAfter(when(memberOf(config, "a:1"), ElectionTimeout{})), Phase::kFollower);
  config.members[0].arbiterOnly = true;
  EXPECT_EQ(machines::resumed<Topology>(memberOf(config, "a:1").document).next.memory.phase, Phase::kArbiter);
}

TEST(Candidacy, StepsUpOnRequest) {  // ELE-004
  const Outcome asked = when(memberOf(kConfig, "a:1"), StepUp{});
  EXPECT_EQ(phaseAfter(asked), Phase::kDryRun);
  EXPECT_FALSE(answered(asked)) << "answered when the election is over";
  Snapshot<Topology> now = when(asked.next, vote("b:1", 3, true, true)).next;
  const Outcome won = when(now, vote("b:1", 4, false, true));
  ASSERT_TRUE(did<Conclude>(won));
  EXPECT_TRUE(did<Conclude>(won)->outcome.isOK());
}

TEST(Candidacy, TellsWhoAskedToStepUpThatTheElectionFailed) {  // ELE-004
  Snapshot<Topology> now = when(memberOf(kConfig, "a:1"), StepUp{}).next;
  now = when(now, vote("b:1", 3, true, false)).next;
  const auto end = did<Conclude>(when(now, vote("c:1", 3, true, false)));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->command, OpenCommand::kStepUp);
  EXPECT_EQ(end->outcome.code(), ErrorCode::kCommandFailed);
}

TEST(Candidacy, RefusesToStepUpWhenItMayNotStand) {  // ELE-004
  Snapshot<Topology> frozen = memberOf(kConfig, "a:1");
  frozen.memory.frozen = true;
  EXPECT_EQ(answered(when(frozen, StepUp{}))->code(), ErrorCode::kCommandFailed);
  ReplicaSetConfig config = kConfig;
  config.members[0].priority = 0;
  EXPECT_EQ(answered(when(memberOf(config, "a:1"), StepUp{}))->code(), ErrorCode::kCommandFailed);
  EXPECT_TRUE(answered(when(memberOf(kConfig, "a:1", Phase::kPrimary), StepUp{}))->isOK()) << "it leads already";
}

TEST(Candidacy, AHandoffSkipsTheDryRun) {  // ELE-008
  const Outcome out = when(memberOf(kConfig, "a:1"), StepUpRequest{"b:1", 3});
  EXPECT_EQ(phaseAfter(out), Phase::kCandidate);
  ASSERT_EQ(said<VoteRequest>(out).size(), 2u);
  EXPECT_FALSE(said<VoteRequest>(out)[0].second.dryRun);
  EXPECT_EQ(phaseAfter(when(memberOf(kConfig, "a:1"), StepUpRequest{"b:1", 2})), Phase::kFollower)
      << "a handoff of an earlier term that comes late";
}

TEST(Candidacy, AHandoffOfAStrangerIsIgnored) {  // ELE-005
  for (const int64_t term : {3, 4}) {
    const Outcome out = when(memberOf(kConfig, "a:1"), StepUpRequest{"x:1", term});
    EXPECT_EQ(phaseAfter(out), Phase::kFollower);
    EXPECT_EQ(out.next.memory.term, 3);
    EXPECT_TRUE(said<StepUpRefusal>(out).empty());
  }
}

TEST(Candidacy, ANodeThatNeedsNoOtherVoteElectsItselfAtOnce) {
  ReplicaSetConfig config = configOf({"a:1", "b:1"});
  config.members[1].votes = 0;
  config.members[1].priority = 0;
  const Outcome started = machines::resumed<Topology>(memberOf(config, "a:1").document);
  ASSERT_TRUE(armed<ElectionTimeout>(started));
  EXPECT_EQ(armed<ElectionTimeout>(started)->delay, Millis(0));
  const Outcome out = when(started.next, ElectionTimeout{});
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.next.document.lastVote, (LastVote{1, "a:1"}));
  EXPECT_TRUE(leads(phaseAfter(out)));
}

TEST(Candidacy, AFrozenNodeDoesNotStandUntilItIsOver) {
  const Outcome out = when(memberOf(kConfig, "a:1"), Freeze{Secs(20)});
  EXPECT_TRUE(answered(out)->isOK());
  EXPECT_EQ(armed<FreezeOver>(out)->delay, Secs(20));
  EXPECT_EQ(phaseAfter(when(out.next, ElectionTimeout{})), Phase::kFollower);
  EXPECT_TRUE(armed<ElectionTimeout>(when(out.next, ElectionTimeout{})));
  EXPECT_EQ(phaseAfter(when(when(out.next, FreezeOver{}).next, ElectionTimeout{})), Phase::kDryRun);
  EXPECT_EQ(phaseAfter(when(when(out.next, Freeze{}).next, ElectionTimeout{})), Phase::kDryRun);
}

TEST(Candidacy, APrimaryOrCandidateIsNotFrozen) {
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1", Phase::kPrimary), Freeze{Secs(1)}))->code(),
            ErrorCode::kNotSecondary);
  EXPECT_EQ(answered(when(standing(), Freeze{Secs(1)}))->code(), ErrorCode::kNotSecondary);
}

/// To others it is SECONDARY: that only a follower can stand would tell its operator nothing.
TEST(Candidacy, SaysThatNoMajorityAnswersOneThatStandsAlready) {  // ELE-004
  Snapshot<Topology> now = when(memberOf(kConfig, "a:1"), ElectionTimeout{}).next;
  ASSERT_EQ(now.memory.phase, Phase::kDryRun);
  for (MemberView& view : now.memory.members) view.heard = {0};
  const auto reason = [&now] { return answered(when(now, StepUp{}))->reason(); };
  EXPECT_NE(reason().find("it stands already"), std::string::npos) << reason();
  EXPECT_EQ(reason().find("no majority"), std::string::npos) << reason();
  for (MemberView& view : now.memory.members) view.heard.clear();
  EXPECT_NE(reason().find("no majority of the voters answers"), std::string::npos) << reason();
}

TEST(Candidacy, ANodeThatRollsBackIsInItsStateAndDoesNotStand) {  // RBK-002
  const Outcome out = when(memberOf(kConfig, "a:1"), RollingBack{true});
  EXPECT_EQ(stateOf(out.next), MemberState::kRollback);
  EXPECT_EQ(did<AnnounceRole>(out)->state, MemberState::kRollback);
  EXPECT_TRUE(answered(out)->isOK());
  EXPECT_EQ(phaseAfter(when(out.next, ElectionTimeout{})), Phase::kFollower);
  EXPECT_EQ(answered(when(out.next, StepUp{}))->code(), ErrorCode::kCommandFailed);
  const Outcome over = when(out.next, RollingBack{false});
  EXPECT_EQ(stateOf(over.next), MemberState::kSecondary);
  EXPECT_EQ(phaseAfter(when(over.next, ElectionTimeout{})), Phase::kDryRun);
}

/// Its topology alone is started again; the rollback goes on.
TEST(Candidacy, ANodeWhoseTopologyIsStartedAgainWhileItRollsBackIsNeverASecondary) {  // RBK-002
  const auto document = memberOf(kConfig, "a:1").document;
  const Outcome out = machines::resumed<Topology>(document, Topology::resume(document, {.rollsBack = true}));
  EXPECT_EQ(stateOf(out.next), MemberState::kRollback);
  ASSERT_FALSE(said<HeartbeatRequest>(out).empty());
  for (const auto& [to, request] : said<HeartbeatRequest>(out))
    EXPECT_EQ(request.sender.state, MemberState::kRollback) << to;
  EXPECT_EQ(phaseAfter(when(out.next, ElectionTimeout{})), Phase::kFollower);
  EXPECT_EQ(answered(when(out.next, StepUp{}))->code(), ErrorCode::kCommandFailed);
  EXPECT_TRUE(answered(when(out.next, RollingBack{true}))->isOK()) << "asked again, it changes nothing";
  EXPECT_EQ(stateOf(when(out.next, RollingBack{false}).next), MemberState::kSecondary);
}

TEST(Candidacy, ANodeThatStandsOrLeadsDoesNotRollBack) {
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1", Phase::kPrimary), RollingBack{true}))->code(),
            ErrorCode::kNotSecondary);
  EXPECT_EQ(answered(when(standing(), RollingBack{true}))->code(), ErrorCode::kNotSecondary);
}

TEST(Candidacy, ANodeThatCopiesDataIsInStartup2AndDoesNotStand) {  // ISY-001
  const Outcome out = when(memberOf(kConfig, "a:1"), CopyingData{true});
  EXPECT_EQ(stateOf(out.next), MemberState::kStartup2);
  EXPECT_EQ(did<AnnounceRole>(out)->state, MemberState::kStartup2);
  EXPECT_TRUE(answered(out)->isOK());
  EXPECT_EQ(phaseAfter(when(out.next, ElectionTimeout{})), Phase::kFollower);
  EXPECT_EQ(answered(when(out.next, StepUp{}))->code(), ErrorCode::kCommandFailed);
  const Outcome over = when(out.next, CopyingData{false});
  EXPECT_EQ(stateOf(over.next), MemberState::kSecondary);
  ASSERT_EQ(said<HeartbeatRequest>(over).size(), 2u) << "the others know at once";
  EXPECT_EQ(said<HeartbeatRequest>(over)[0].second.sender.state, MemberState::kSecondary);
  EXPECT_EQ(phaseAfter(when(over.next, ElectionTimeout{})), Phase::kDryRun);
}

/// What it answers while it joins, and from the moment it has a config.
TEST(Candidacy, AMemberWithoutDataIsNeverASecondary) {  // ISY-001
  HeartbeatReply told = shown(memberOf(kConfig, "a:1", Phase::kPrimary), "b:1");
  told.newer = kConfig;
  const Outcome joined = when(blank("b:1", true), told);
  ASSERT_EQ(phaseAfter(joined), Phase::kFollower);
  EXPECT_EQ(stateOf(joined.next), MemberState::kStartup2);
  ASSERT_FALSE(said<HeartbeatRequest>(joined).empty());
  for (const auto& [to, request] : said<HeartbeatRequest>(joined))
    EXPECT_EQ(request.sender.state, MemberState::kStartup2) << to;
  EXPECT_EQ(stateOf(when(joined.next, CopyingData{false}).next), MemberState::kSecondary);
}

TEST(Candidacy, AMemberThatIsStartedAgainWithoutDataIsNeverASecondary) {  // ISY-001
  const auto document = memberOf(kConfig, "b:1").document;
  const Outcome out = machines::resumed<Topology>(document, Topology::resume(document, {.lacksData = true}));
  EXPECT_EQ(stateOf(out.next), MemberState::kStartup2);
  for (const auto& [to, request] : said<HeartbeatRequest>(out))
    EXPECT_EQ(request.sender.state, MemberState::kStartup2) << to;
  EXPECT_EQ(stateOf(machines::resumed<Topology>(document).next), MemberState::kSecondary);
}

TEST(Candidacy, AFoundersDataAreThoseOfItsSet) {
  ReplicaSetConfig config = kConfig;
  config.members.resize(1);
  const Outcome founded = when(blank("a:1", true), Initiate{config, "a:1", {}});
  EXPECT_EQ(stateOf(founded.next), MemberState::kSecondary);
}

/// Removed and added again while it was down: it learns of both at once.
TEST(Candidacy, AnArbiterThatBecomesAMemberWithDataIsNeverASecondary) {  // ISY-001
  ReplicaSetConfig withArbiter = kConfig;
  withArbiter.members[1].arbiterOnly = true;
  withArbiter.members[1].priority = 0;
  HeartbeatReply told = shown(memberOf(withArbiter, "a:1", Phase::kPrimary), "b:1");
  told.newer = withArbiter;
  const Outcome arbiter = when(blank("b:1", true), told);
  ASSERT_EQ(phaseAfter(arbiter), Phase::kArbiter);
  EXPECT_EQ(stateOf(arbiter.next), MemberState::kArbiter);
  ReplicaSetConfig later = kConfig;
  later.version = withArbiter.version + 2;
  told = shown(memberOf(later, "a:1", Phase::kPrimary), "b:1");
  told.newer = later;
  const Outcome member = when(arbiter.next, told);
  ASSERT_EQ(phaseAfter(member), Phase::kFollower);
  EXPECT_EQ(stateOf(member.next), MemberState::kStartup2);
}

TEST(Candidacy, ANodeThatStandsOrLeadsCopiesNoData) {
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1", Phase::kPrimary), CopyingData{true}))->code(),
            ErrorCode::kNotSecondary);
  EXPECT_EQ(answered(when(standing(), CopyingData{true}))->code(), ErrorCode::kNotSecondary);
}

TEST(Candidacy, ANodeInMaintenanceIsRecoveringAndDoesNotStand) {
  const Outcome out = when(memberOf(kConfig, "a:1"), Maintenance{true});
  EXPECT_EQ(stateOf(out.next), MemberState::kRecovering);
  EXPECT_EQ(did<AnnounceRole>(out)->state, MemberState::kRecovering);
  EXPECT_EQ(phaseAfter(when(out.next, ElectionTimeout{})), Phase::kFollower);
  EXPECT_EQ(stateOf(when(out.next, Maintenance{false}).next), MemberState::kSecondary);
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1"), Maintenance{false}))->code(), ErrorCode::kOperationFailed);
  EXPECT_EQ(answered(when(memberOf(kConfig, "a:1", Phase::kPrimary), Maintenance{true}))->code(),
            ErrorCode::kNotSecondary);
}

TEST(Candidacy, AMemberThatIsTooStaleStaysSoWhateverAnOperatorEnds) {
  const Maintenance stale{.on = true, .tooStale = true}, operators{.on = true};
  const Outcome out = when(memberOf(kConfig, "a:1"), stale);
  EXPECT_EQ(stateOf(out.next), MemberState::kRecovering);
  EXPECT_EQ(answered(when(out.next, Maintenance{.on = false}))->code(), ErrorCode::kOperationFailed);
  EXPECT_EQ(phaseAfter(when(out.next, ElectionTimeout{})), Phase::kFollower);
  const Snapshot<Topology> both = when(out.next, operators).next;
  EXPECT_EQ(stateOf(when(both, Maintenance{.on = false}).next), MemberState::kRecovering);
  const Snapshot<Topology> caughtUp = when(both, Maintenance{.on = false, .tooStale = true}).next;
  EXPECT_EQ(stateOf(caughtUp), MemberState::kRecovering) << "the operator has not ended it";
  EXPECT_EQ(stateOf(when(caughtUp, Maintenance{.on = false}).next), MemberState::kSecondary);
}

TEST(Candidacy, AStaleMemberThatWasRemovedMayCatchUp) {
  const Snapshot<Topology> stale = when(memberOf(kConfig, "a:1"), Maintenance{.on = true, .tooStale = true}).next;
  Snapshot<Topology> removed = stale;
  removed.memory.phase = Phase::kRemoved;
  const Outcome out = when(removed, Maintenance{.on = false, .tooStale = true});
  EXPECT_TRUE(answered(out)->isOK());
  EXPECT_FALSE(out.next.memory.tooStale);
}

TEST(Candidacy, AMemberThatWasTooStaleStartsAsOne) {
  const Topology::Document found = memberOf(kConfig, "a:1").document;
  const auto startedWith = [&](const Topology::AtStart& state) {
    return stateOf(machines::resumed<Topology>(found, Topology::resume(found, state)).next);
  };
  EXPECT_EQ(startedWith({.tooStale = true}), MemberState::kRecovering);
  EXPECT_EQ(startedWith({}), MemberState::kSecondary);
}

/// Its positions have been reported in a later term than that of its last vote: primaries of terms in between count
/// none.
TEST(Candidacy, AMemberStartsInTheTermInWhichItsPositionsAreReported) {
  const Topology::Document found = memberOf(kConfig, "a:1", Phase::kPrimary).document;
  const auto termAfter = [&](int64_t newest) {
    return machines::resumed<Topology>(found, Topology::resume(found, {.newestTerm = newest})).next.memory.term;
  };
  EXPECT_EQ(termAfter(0), 3);
  EXPECT_EQ(termAfter(7), 7);
}

/// A primary in whose term no position counts any more could acknowledge nothing.
TEST(Candidacy, ALaterTermInWhichAPositionIsReportedEndsEveryRole) {
  for (const Phase phase : {Phase::kFollower, Phase::kCandidate, Phase::kCatchingUp, Phase::kPrimary}) {
    const Snapshot<Topology> now = memberOf(kConfig, "a:1", phase);
    const Outcome out = when(now, TermHeard{4});
    EXPECT_EQ(phaseAfter(out), Phase::kFollower);
    EXPECT_EQ(out.next.memory.term, 4);
    EXPECT_TRUE(when(now, TermHeard{3}).next.memory == now.memory);
    EXPECT_TRUE(when(now, TermHeard{int64_t{1} << 40}).next.memory == now.memory) << "no elections lead there";
  }
}

TEST(Candidacy, TwoOfFiveNeverElect) {  // ELE-010
  Cluster set = Cluster::running(kFive);
  for (const char* host : {"c:1", "d:1", "e:1"}) set.kill(host);
  set.run(Secs(20));
  EXPECT_EQ(set.primary(), "");
}

TEST(Candidacy, AnotherNodeTakesOverWithinOneAndAHalfTimeoutsOfACrash) {  // ELE-001
  Cluster set = Cluster::running(kConfig);
  set.kill(set.primary());
  const Millis crash = set.clock();
  EXPECT_FALSE(set.runUntilPrimary().empty());
  EXPECT_EQ(set.term(), 2);
  EXPECT_LE(set.clock() - crash, Millis(1500));
  EXPECT_GE(set.clock() - crash, Millis(500)) << "not before the timeout since the last sign of life";
}

TEST(Candidacy, ANodeThatComesBackFromAPartitionDoesNotRaiseTheTerm) {  // ELE-007
  Cluster set = Cluster::running(kConfig);
  const NodeName lonely = set.others().front();
  const int64_t term = set.term();
  const NodeName primary = set.primary();
  set.isolate(lonely);
  set.run(Secs(30));
  EXPECT_EQ(set.memory(lonely).term, term);
  set.heal();
  set.run(Secs(3));
  EXPECT_EQ(set.term(), term);
  EXPECT_EQ(set.primary(), primary);
}

}  // namespace
}  // namespace troupe::replication::test
