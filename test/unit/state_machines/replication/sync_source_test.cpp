#include "state_machines/replication/sync_source.hpp"

#include <gtest/gtest.h>

namespace troupe::replication::test {
namespace {

OpTime second(uint32_t seconds, int64_t term = 1) { return {term, {seconds, 1}}; }

SourceCandidate secondary(const NodeName& host, uint32_t applied, int ping) {
  SourceCandidate candidate;
  candidate.host = host;
  candidate.state = MemberState::kSecondary;
  candidate.applied = second(applied);
  candidate.ping = Millis(ping);
  return candidate;
}

/// This member is at second 100; "p" is the primary and far away, "near" and "far" are secondaries.
Candidates threeOthers() {
  Candidates known;
  known.own = second(100);
  known.members = {secondary("p", 120, 50), secondary("near", 119, 5), secondary("far", 118, 90)};
  known.members[0].state = MemberState::kPrimary;
  known.primary = "p";
  return known;
}

SourceCandidate& near(Candidates& known) { return known.members[1]; }

std::optional<NodeName> chosen(const Candidates& known, const std::set<NodeName>& denied = {},
                               Mission mission = Mission::kFollow) {
  return chooseSource(known, denied, mission);
}

TEST(SyncSource, IsTheNearestMemberThatIsAhead) { EXPECT_EQ(chosen(threeOthers()), "near"); }  // REP-002, REP-005

TEST(SyncSource, IsTheFirstOfTheConfigAmongEquallyNear) {
  Candidates known = threeOthers();
  for (auto& member : known.members) member.ping = Millis(1);
  EXPECT_EQ(chosen(known), "p");
}

TEST(SyncSource, IsThePrimaryAloneIfChainingIsForbidden) {  // REP-002
  Candidates known = threeOthers();
  known.chainingAllowed = false;
  EXPECT_EQ(chosen(known), "p");
  EXPECT_EQ(chosen(known, {"p"}), std::nullopt);
  known.primary.clear();
  EXPECT_EQ(chosen(known), std::nullopt) << "nobody is known to be the primary";
}

TEST(SyncSource, OfANewPrimaryIsAnyMember) {  // ELE-019
  Candidates known = threeOthers();
  known.chainingAllowed = false;
  known.primary.clear();
  EXPECT_EQ(chosen(known, {}, Mission::kCatchUp), "near");
}

TEST(SyncSource, IsNeverDenied) { EXPECT_EQ(chosen(threeOthers(), {"near", "p"}), "far"); }  // REP-007

TEST(SyncSource, HasToBeAheadUnlessItIsThePrimary) {
  Candidates known = threeOthers();
  near(known).applied = known.own;
  EXPECT_EQ(chosen(known), "p");
  known.members = {known.members[0]};
  known.members[0].applied = known.own;
  EXPECT_EQ(chosen(known), "p") << "a set at rest: its next write comes without a new choice";
  known.members[0].applied = second(99);
  EXPECT_EQ(chosen(known), std::nullopt);
}

TEST(SyncSource, OfALaterTermIsAheadWhateverItsClockSays) {
  Candidates known = threeOthers();
  known.members = {secondary("late", 50, 1)};
  EXPECT_EQ(chosen(known), std::nullopt);
  known.members[0].applied = second(50, 2);
  EXPECT_EQ(chosen(known), "late");
}

TEST(SyncSource, ServesData) {
  for (const auto state : {MemberState::kStartup, MemberState::kStartup2, MemberState::kRecovering,
                           MemberState::kUnknown, MemberState::kArbiter, MemberState::kDown, MemberState::kRemoved}) {
    Candidates known = threeOthers();
    near(known).state = state;
    EXPECT_EQ(chosen(known), "p");
  }
}

TEST(SyncSource, HasEntries) {
  Candidates known = threeOthers();
  known.own = {};
  for (auto& member : known.members) member.applied = {};
  EXPECT_EQ(chosen(known), std::nullopt);
}

/// A member that has rolled back meets others which have not yet: their entries are those that it gave up.
TEST(SyncSource, HasEntriesOfThePrimarysTermWhileThisMemberHasNone) {
  Candidates known = threeOthers();
  known.term = 2;
  EXPECT_EQ(chosen(known), "p") << "what it has written in its term is not known yet";
  near(known).applied = second(119, 2);
  EXPECT_EQ(chosen(known), "near");
  near(known).applied = second(119);
  EXPECT_EQ(chosen(known, {"p"}), "near") << "rather this one than none";
  known.own = second(100, 2);
  near(known).applied = second(101, 2);
  EXPECT_EQ(chosen(known), "near");
  known.own = second(100);
  near(known).applied = second(119);
  known.primary.clear();
  EXPECT_EQ(chosen(known), "near") << "nobody leads";
}

TEST(SyncSource, IsNotFarBehindThePrimary) {  // REP-004
  Candidates known = threeOthers();
  known.members[0].applied = second(150);
  near(known).applied = second(120);
  EXPECT_EQ(chosen(known), "near");
  near(known).applied = second(119);
  EXPECT_EQ(chosen(known), "p") << "31 seconds behind";
  known.maxLagSecs = 31;
  EXPECT_EQ(chosen(known), "near");
}

TEST(SyncSource, BuildsTheIndexesThatThisMemberBuilds) {
  Candidates known = threeOthers();
  near(known).traits.buildsIndexes = false;
  EXPECT_EQ(chosen(known, {"p", "far"}), std::nullopt) << "also when there is no other one";
  known.self.buildsIndexes = false;
  EXPECT_EQ(chosen(known), "near");
}

TEST(SyncSource, IsPreferablyAVoterNotHiddenAndNotDelayed) {
  for (const auto change : {+[](SourceTraits& t) { t.votes = false; }, +[](SourceTraits& t) { t.hidden = true; },
                            +[](SourceTraits& t) { t.delaySecs = 5; }}) {
    Candidates known = threeOthers();
    change(near(known).traits);
    EXPECT_EQ(chosen(known), "p");
    EXPECT_EQ(chosen(known, {"p", "far"}), "near") << "rather this one than none";
  }
}

TEST(SyncSource, OfADelayedMemberMayBeDelayedLess) {
  Candidates known = threeOthers();
  known.self.delaySecs = 10;
  near(known).traits.delaySecs = 5;
  EXPECT_EQ(chosen(known), "near");
  near(known).traits.delaySecs = 10;
  EXPECT_EQ(chosen(known), "p");
}

TEST(SyncSource, OfAMemberWithoutAVoteMayHaveNone) {
  Candidates known = threeOthers();
  known.self.votes = false;
  near(known).traits.votes = false;
  EXPECT_EQ(chosen(known), "near");
}

TEST(SyncSource, AcceptableOnesAreThoseThatCouldBeChosenOneAfterTheOther) {
  Candidates known = threeOthers();
  near(known).traits.hidden = true;
  known.members[2].state = MemberState::kDown;
  EXPECT_EQ(acceptableSources(known, Mission::kFollow), (std::vector<NodeName>{"p", "near"}));
}

TEST(SyncSource, MayBeAskedForThoughItIsFarAwayAndBehind) {  // REP-003
  Candidates known = threeOthers();
  known.members[2].applied = second(90);
  EXPECT_TRUE(checkRequestedSource(known, "far").isOK());
}

TEST(SyncSource, ThatCannotBeIsRefused) {
  Candidates known = threeOthers();
  EXPECT_EQ(checkRequestedSource(known, "stranger").code(), ErrorCode::kInvalidOptions);
  near(known).state = MemberState::kArbiter;
  EXPECT_EQ(checkRequestedSource(known, "near").code(), ErrorCode::kInvalidOptions);
  near(known).state = MemberState::kDown;
  EXPECT_EQ(checkRequestedSource(known, "near").code(), ErrorCode::kHostUnreachable);
  known.members[2].traits.buildsIndexes = false;
  EXPECT_EQ(checkRequestedSource(known, "far").code(), ErrorCode::kInvalidOptions);
}

/// Whether a member that follows `source` is told to change.
bool changes(const Candidates& known, const NodeName& source, bool requested = false,
             Mission mission = Mission::kFollow) {
  return !whyToChangeSource(known, {source, requested}, {}, mission).empty();
}

TEST(SyncSourceChange, IsNotWorthItForABetterPing) {  // REP-034
  EXPECT_FALSE(changes(threeOthers(), "p"));
  EXPECT_FALSE(changes(threeOthers(), "far"));
}

TEST(SyncSourceChange, ComesWhenTheSourceIsNoMemberOrServesNoData) {
  Candidates known = threeOthers();
  EXPECT_TRUE(changes(known, "stranger"));
  near(known).state = MemberState::kRecovering;
  EXPECT_TRUE(changes(known, "near"));
}

TEST(SyncSourceChange, ComesWhenTheSourceIsFarBehindAnotherOne) {
  Candidates known = threeOthers();
  known.members[2].applied = second(149);
  EXPECT_FALSE(changes(known, "near"));
  known.members[2].applied = second(150);
  EXPECT_TRUE(changes(known, "near"));
  EXPECT_EQ(whyToChangeSource(known, {.host = "near"}, {"far"}, Mission::kFollow), "") << "the other cannot be chosen";
  known.members[2].state = MemberState::kDown;
  EXPECT_FALSE(changes(known, "near")) << "the other one is no better";
}

TEST(SyncSourceChange, ComesForARequestedSourceThatIsFarBehindOnceItsProbeHasTold) {
  Candidates known = threeOthers();
  known.members[2].applied = second(150);
  EXPECT_FALSE(changes(known, "near", true)) << "what heartbeats have told may be older";
  const PresentSource probed{.host = "near", .isRequested = true, .found = second(119)};
  EXPECT_EQ(whyToChangeSource(known, probed, {}, Mission::kFollow), "it is too far behind far");
}

TEST(SyncSourceChange, DoesNotComeWhereHeartbeatsKnowLessThanTheLogOfTheSource) {
  Candidates known = threeOthers();
  known.members[2].applied = second(150);
  near(known).applied = {};
  EXPECT_FALSE(changes(known, "near")) << "it has just come up";
  near(known).applied = second(10);
  EXPECT_TRUE(changes(known, "near"));
  const PresentSource probed{.host = "near", .found = second(120)};
  EXPECT_EQ(whyToChangeSource(known, probed, {}, Mission::kFollow), "") << "thirty seconds are not far";
}

TEST(SyncSourceChange, IsNeverToldOfASourceThatIsChosenAgain) {
  Candidates known = threeOthers();
  known.members[2].applied = second(200);
  known.members[2].traits.hidden = true;
  EXPECT_EQ(chosen(known), "far") << "the visible ones are too far behind it";
  EXPECT_FALSE(changes(known, "far"));
}

TEST(SyncSourceChange, ComesWhenChainingIsForbiddenMeanwhile) {
  Candidates known = threeOthers();
  known.chainingAllowed = false;
  EXPECT_TRUE(changes(known, "near"));
  EXPECT_FALSE(changes(known, "p"));
  EXPECT_FALSE(changes(known, "near", true)) << "an operator asked for it";
  EXPECT_FALSE(changes(known, "near", false, Mission::kCatchUp));
  known.primary.clear();
  EXPECT_FALSE(changes(known, "near")) << "without a primary there is nothing better";
}

TEST(SyncSourceChange, ComesWhenTheSourceHasNoneItselfAndNothingMore) {
  Candidates known = threeOthers();
  near(known).applied = known.own;
  EXPECT_FALSE(changes(known, "near")) << "whether it has a source is not known";
  near(known).syncsFrom = "p";
  EXPECT_FALSE(changes(known, "near"));
  near(known).syncsFrom = "";
  EXPECT_TRUE(changes(known, "near"));
  EXPECT_FALSE(changes(known, "near", true)) << "an operator asked for it";
  near(known).applied = second(101);
  EXPECT_FALSE(changes(known, "near"));
}

TEST(SyncSourceChange, ComesWhenTheSourceFetchesFromThisMember) {
  Candidates known = threeOthers();
  known.name = "me";
  near(known).applied = known.own;
  near(known).syncsFrom = "me";
  EXPECT_TRUE(changes(known, "near")) << "each would wait for the other";
  near(known).applied = second(101);
  EXPECT_FALSE(changes(known, "near"));
}

}  // namespace
}  // namespace troupe::replication::test
