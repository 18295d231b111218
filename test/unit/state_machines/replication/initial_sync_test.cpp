#include "state_machines/replication/initial_sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/state_machines/core/machine_page.hpp"

namespace troupe::replication::initial_sync_test {
namespace {

using machines::Durability;
using machines::Snapshot;
using Phase = InitialSync::Phase;
using Outcome = machines::Outcome<InitialSync>;

constexpr Phase kWorking[] = {Phase::kResetting, Phase::kBeginning, Phase::kCloning,   Phase::kFindingEnd,
                              Phase::kFetching,  Phase::kApplying,  Phase::kMakingSafe};

OpTime at(uint32_t seconds, int64_t term = 1) { return {term, {seconds, 1}}; }

Outcome when(const Snapshot<InitialSync>& now, InitialSync::Event event) {
  return machines::advance<InitialSync>(now, event);
}
Snapshot<InitialSync> in(Phase phase) {
  Snapshot<InitialSync> now;
  now.document.isUnderWay = phase != Phase::kIdle;
  now.memory.phase = phase;
  if (phase < Phase::kResetting) return now;
  now.document.attempt = 1;
  now.memory.source = "b:1";
  now.memory.isReset = phase > Phase::kResetting;
  if (phase < Phase::kCloning) return now;
  now.memory.beginFetching = at(4);
  now.memory.beginApplying = at(5);
  now.memory.rollbackId = 7;
  now.memory.isCloned = phase > Phase::kCloning;
  if (phase < Phase::kFetching) return now;
  now.memory.stop = at(9);
  now.memory.rollbackIdAtEnd = phase > Phase::kFetching ? 7 : 0;
  if (phase > Phase::kApplying) now.memory.applied = at(9);
  return now;
}
Phase phaseAfter(const Outcome& out) { return out.next.memory.phase; }
template <class A>
const A* did(const Outcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* todo = std::get_if<machines::Do<InitialSync>>(&effect))
      if (const auto* found = std::get_if<A>(&todo->action)) return found;
  return nullptr;
}
template <class E>
bool armed(const Outcome& out) {
  return std::ranges::any_of(out.effects, [](const auto& effect) {
    const auto* timer = std::get_if<machines::Arm<InitialSync>>(&effect);
    return timer && std::holds_alternative<E>(timer->event);
  });
}
Candidates members(std::vector<std::string> hosts) {
  Candidates known;
  known.primary = "p:1";
  for (auto& host : hosts) {
    SourceCandidate member;
    member.host = host;
    member.state = host == known.primary ? MemberState::kPrimary : MemberState::kSecondary;
    member.applied = at(5);
    member.ping = Millis(host == known.primary ? 9 : 5);
    known.members.push_back(std::move(member));
  }
  return known;
}

/// Too stale, and told by an operator to copy all anew; no source is known.
Snapshot<InitialSync> choosingWithData() {
  Snapshot<InitialSync> now;
  now.document.copied = at(2);
  now.memory.phase = Phase::kChoosing;
  return now;
}
Candidates nobodyButMe() {
  Candidates known = members({});
  known.own = at(3);
  return known;
}

TEST(InitialSync, ADurableMarkComesBeforeAnythingIsDropped) {  // ISY-002
  const Outcome out = when(choosingWithData(), members({"s:1"}));
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.durability, Durability::kJournaled);
  EXPECT_TRUE(out.next.document.isUnderWay);
  EXPECT_FALSE(out.next.document.copied) << "it says where data come from that go now";
  EXPECT_TRUE(did<ResetData>(out));
}

TEST(InitialSync, GivesNothingUpBeforeThereIsASource) {  // ISY-020
  Snapshot<InitialSync> before;
  before.document.copied = at(2);
  const Outcome begun = when(before, BeginInitialSync{});
  EXPECT_EQ(phaseAfter(begun), Phase::kEntering);
  EXPECT_TRUE(did<EnterStartup>(begun));
  const Outcome looks = when(choosingWithData(), nobodyButMe());
  EXPECT_EQ(phaseAfter(looks), Phase::kChoosing);
  EXPECT_TRUE(armed<LookDue>(looks));
  for (const Outcome& out : {begun, looks}) {
    EXPECT_FALSE(out.persist);
    EXPECT_EQ(out.next.document, before.document);
    EXPECT_EQ(phaseAfter(machines::resumed<InitialSync>(out.next.document)), Phase::kIdle) << "a start finds its data";
  }
}

TEST(InitialSync, AMemberWithDataGoesBackToThemWhereNobodyIsASource) {  // ISY-020
  Outcome out = when(choosingWithData(), nobodyButMe());
  for (int looks = 1; looks < InitialSync::kMostLooks; ++looks) {
    EXPECT_EQ(phaseAfter(out), Phase::kChoosing) << looks;
    out = when(out.next, nobodyButMe());
  }
  EXPECT_EQ(phaseAfter(out), Phase::kReturning);
  EXPECT_TRUE(did<KeepData>(out));
  EXPECT_FALSE(armed<LookDue>(out));
  out = when(out.next, DataKept{});
  EXPECT_EQ(phaseAfter(out), Phase::kIdle);
  EXPECT_FALSE(isSyncing(out.next));
  EXPECT_EQ(out.next.document, choosingWithData().document);
  EXPECT_THAT(out.next.memory.why, testing::HasSubstr("no member could be the source"));
  EXPECT_TRUE(when(out.next, BeginInitialSync{}).next.memory.why.empty()) << "an operator may say so again";
}

TEST(InitialSync, OneThatHasDroppedItsDataWaitsForASourceAsLongAsItTakes) {
  Snapshot<InitialSync> now = in(Phase::kChoosing);
  for (int looks = 0; looks < 3 * InitialSync::kMostLooks; ++looks) now = when(now, nobodyButMe()).next;
  EXPECT_EQ(now.memory.phase, Phase::kChoosing);
  now = choosingWithData();
  for (int looks = 0; looks < 3 * InitialSync::kMostLooks; ++looks) now = when(now, members({})).next;
  EXPECT_EQ(now.memory.phase, Phase::kChoosing) << "nor has one with an empty log any to go back to";
}

TEST(InitialSync, AMemberThatHasCopiedDataBeforeMayDoSoAgain) {  // ISY-020
  Snapshot<InitialSync> done;
  done.document.attempt = 2;
  const Outcome out = when(done, BeginInitialSync{});
  EXPECT_EQ(phaseAfter(out), Phase::kEntering);
}

TEST(InitialSync, LooksForASourceInTheStateStartup2) {  // ISY-001
  const Outcome out = when(in(Phase::kEntering), StartupEntered{});
  EXPECT_EQ(phaseAfter(out), Phase::kChoosing);
  EXPECT_TRUE(did<LookForSource>(out));
}

TEST(InitialSync, WaitsForASource) {
  const Outcome out = when(in(Phase::kChoosing), members({}));
  EXPECT_EQ(phaseAfter(out), Phase::kChoosing);
  EXPECT_TRUE(armed<LookDue>(out));
  EXPECT_EQ(out.next.document.attempt, 0);
  EXPECT_TRUE(did<LookForSource>(when(out.next, LookDue{})));
}

TEST(InitialSync, DropsWhatIsThereBeforeItCopies) {  // ISY-004
  const Outcome out = when(in(Phase::kChoosing), members({"p:1", "s:1"}));
  EXPECT_EQ(phaseAfter(out), Phase::kResetting);
  EXPECT_EQ(out.next.memory.source, "s:1");
  EXPECT_TRUE(did<ResetData>(out));
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.next.document.attempt, 1);
  const Outcome reset = when(out.next, DataReset{});
  EXPECT_EQ(phaseAfter(reset), Phase::kBeginning);
  ASSERT_TRUE(did<FindBeginning>(reset));
  EXPECT_EQ(did<FindBeginning>(reset)->source, "s:1");
}

TEST(InitialSync, PrefersASourceThatHasNotFailed) {
  Snapshot<InitialSync> second = in(Phase::kChoosing);
  second.memory.failed = 1;
  second.memory.failedWith = {"s:1"};
  EXPECT_EQ(when(second, members({"p:1", "s:1"})).next.memory.source, "p:1");
  EXPECT_EQ(when(second, members({"s:1"})).next.memory.source, "s:1") << "there is no other";
}

TEST(InitialSync, FetchesTheLogFromBeforeTheFirstDocument) {  // ISY-006 to 008
  const Outcome out = when(in(Phase::kBeginning), BeginningFound{at(4), at(5), 7});
  EXPECT_EQ(phaseAfter(out), Phase::kCloning);
  ASSERT_EQ(out.effects.size(), 2u);
  ASSERT_TRUE(did<FetchLog>(out));
  EXPECT_EQ(did<FetchLog>(out)->from, at(4));
  ASSERT_TRUE(did<CloneData>(out));
  EXPECT_EQ(did<CloneData>(out)->at, at(5));
  EXPECT_EQ(out.next.memory.rollbackId, 7);
}

TEST(InitialSync, AsksForTheStopTimeWhenAllIsCopied) {  // ISY-012
  const Outcome out = when(in(Phase::kCloning), DataCloned{});
  EXPECT_EQ(phaseAfter(out), Phase::kFindingEnd);
  ASSERT_TRUE(did<FindEnd>(out));
  const Outcome found = when(out.next, EndFound{at(9)});
  EXPECT_EQ(phaseAfter(found), Phase::kFetching);
  ASSERT_TRUE(did<FetchUpTo>(found));
  EXPECT_EQ(did<FetchUpTo>(found)->stop, at(9));
}

TEST(InitialSync, AnIdleSourceHasNothingToCarryOut) {  // ISY-013
  Outcome out = when(in(Phase::kFindingEnd), EndFound{at(5)});
  EXPECT_EQ(phaseAfter(out), Phase::kFetching);
  out = when(out.next, LogFetched{at(5), 7});
  ASSERT_TRUE(did<ApplyLog>(out));
  EXPECT_EQ(did<ApplyLog>(out)->after, did<ApplyLog>(out)->to);
}

TEST(InitialSync, CarriesOutAllThatWasFetched) {  // ISY-014
  const Outcome out = when(in(Phase::kFetching), LogFetched{at(11), 7});
  EXPECT_EQ(phaseAfter(out), Phase::kApplying);
  ASSERT_TRUE(did<ApplyLog>(out));
  EXPECT_EQ(did<ApplyLog>(out)->after, at(5));
  EXPECT_EQ(did<ApplyLog>(out)->to, at(11));
  EXPECT_EQ(out.next.memory.stop, at(11));
}

TEST(InitialSync, ASourceThatHasRolledBackSpoilsTheAttempt) {  // ISY-005
  const Outcome out = when(in(Phase::kFetching), LogFetched{at(9), 8});
  EXPECT_EQ(phaseAfter(out), Phase::kEnding);
  EXPECT_TRUE(did<EndAttempt>(out));
  EXPECT_EQ(out.next.memory.failed, 1);
  EXPECT_THAT(out.next.memory.why, testing::HasSubstr("rolled back"));
  EXPECT_EQ(phaseAfter(when(in(Phase::kFindingEnd), EndFound{at(4)})), Phase::kEnding);
}

TEST(InitialSync, ALogThatIsTooShortSpoilsTheAttempt) {
  EXPECT_EQ(phaseAfter(when(in(Phase::kFetching), LogFetched{at(8), 7})), Phase::kEnding);
  EXPECT_EQ(phaseAfter(when(in(Phase::kApplying), LogApplied{at(8)})), Phase::kEnding);
}

TEST(InitialSync, TheMarkGoesWhenACheckpointHoldsTheData) {  // ISY-018
  Outcome out = when(in(Phase::kApplying), LogApplied{at(9)});
  EXPECT_EQ(phaseAfter(out), Phase::kMakingSafe);
  EXPECT_FALSE(out.persist);
  ASSERT_TRUE(did<MakeDataSafe>(out));
  EXPECT_EQ(did<MakeDataSafe>(out)->at, at(9));
  out = when(out.next, DataSafe{});
  EXPECT_EQ(phaseAfter(out), Phase::kLeaving);
  EXPECT_TRUE(out.persist);
  EXPECT_EQ(out.durability, Durability::kJournaled);
  EXPECT_FALSE(out.next.document.isUnderWay);
  EXPECT_EQ(out.next.document.copied, at(9));
  ASSERT_TRUE(did<LeaveStartup>(out));
  EXPECT_EQ(did<LeaveStartup>(out)->at, at(9));
  EXPECT_TRUE(isSyncing(out.next));
  out = when(out.next, StartupLeft{});
  EXPECT_EQ(phaseAfter(out), Phase::kIdle);
  EXPECT_EQ(out.next.memory, InitialSync::Memory{});
  EXPECT_FALSE(isSyncing(out.next));
}

TEST(InitialSync, AFailureEndsTheAttemptWhereverItIs) {
  for (const Phase phase : kWorking) {
    const Outcome out = when(in(phase), AttemptFailed{"the disk is full"});
    EXPECT_EQ(phaseAfter(out), Phase::kEnding);
    EXPECT_TRUE(did<EndAttempt>(out));
    EXPECT_EQ(out.next.memory.why, "the disk is full");
    EXPECT_EQ(out.next.memory.failedWith, std::set<machines::NodeName>{"b:1"});
    EXPECT_TRUE(out.next.document.isUnderWay);
  }
}

TEST(InitialSync, TriesAgainWhenNothingOfTheLastAttemptIsUnderWay) {
  Outcome out = when(in(Phase::kCloning), AttemptFailed{"gone"});
  out = when(out.next, AttemptFailed{"gone, too"});
  EXPECT_EQ(out.next.memory.failed, 1) << "one attempt fails once";
  out = when(out.next, AttemptEnded{});
  EXPECT_EQ(phaseAfter(out), Phase::kPausing);
  EXPECT_TRUE(armed<AttemptDue>(out));
  out = when(out.next, AttemptDue{});
  EXPECT_EQ(phaseAfter(out), Phase::kChoosing);
  EXPECT_TRUE(did<LookForSource>(out));
  EXPECT_FALSE(out.next.memory.isReset);
}

TEST(InitialSync, TheTenthFailureIsTheLast) {
  Snapshot<InitialSync> ninth = in(Phase::kEnding);
  ninth.memory.failed = 9;
  EXPECT_EQ(phaseAfter(when(ninth, AttemptEnded{})), Phase::kPausing);
  Snapshot<InitialSync> tenth = in(Phase::kEnding);
  tenth.memory.failed = 10;
  tenth.memory.why = "b:1 is gone";
  const Outcome out = when(tenth, AttemptEnded{});
  EXPECT_EQ(phaseAfter(out), Phase::kFailed);
  ASSERT_TRUE(did<GiveUpSync>(out));
  EXPECT_THAT(did<GiveUpSync>(out)->why, testing::HasSubstr("failed 10 times"));
  EXPECT_THAT(did<GiveUpSync>(out)->why, testing::HasSubstr("b:1 is gone"));
}

TEST(InitialSync, AfterACrashItBeginsAnewIfTheMarkIsThere) {
  Outcome out = machines::resumed<InitialSync>(in(Phase::kApplying).document);
  EXPECT_EQ(phaseAfter(out), Phase::kEntering);
  EXPECT_TRUE(did<EnterStartup>(out));
  EXPECT_EQ(out.next.document.attempt, 1);
  out = machines::resumed<InitialSync>({});
  EXPECT_EQ(phaseAfter(out), Phase::kIdle);
  EXPECT_TRUE(out.effects.empty());
}

TEST(InitialSync, ItsPageShowsTheMachineAsItIs) {
  machines::test::expectPageShows<InitialSync>("docs/protocols/initial-sync.md");
}

}  // namespace
}  // namespace troupe::replication::initial_sync_test
