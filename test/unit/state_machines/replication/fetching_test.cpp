#include "state_machines/replication/fetching.hpp"

#include "test/unit/state_machines/core/machine_page.hpp"
#include "test/unit/state_machines/replication/fetching_kit.hpp"

namespace troupe::replication::fetching_test {
namespace {

TEST(Fetching, BeginsWhenItIsToldToFollow) {  // REP-019
  EXPECT_EQ(machines::resumed<Fetching>({.self = "me"}).next.memory.phase, FetchPhase::kIdle);
  const FetchOutcome out = after(stopped(), Follow{});
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_TRUE(performed<LookAround>(out)->opens);
}

TEST(Fetching, GoesOnFollowingAfterItsActorHasFailed) {
  const auto out = machines::resumed<Fetching>(fetching().document);
  EXPECT_EQ(out.next.memory.phase, FetchPhase::kChoosing);
  EXPECT_TRUE(performed<LookAround>(out));
}

TEST(Fetching, ProbesTheSourceThatItChooses) {  // REP-007
  const FetchOutcome out = after(choosing(), around());
  EXPECT_EQ(phase(out), FetchPhase::kProbing);
  EXPECT_EQ(performed<Probe>(out)->source, "s");
}

TEST(Fetching, FetchesWithTheRollbackIdThatItFound) {  // REP-010
  const FetchOutcome out = after(probing(), healthy("s"));
  EXPECT_EQ(phase(out), FetchPhase::kFetching);
  const auto fetch = performed<Fetch>(out);
  EXPECT_EQ(fetch->source, "s");
  EXPECT_EQ(fetch->rollbackId, 7);
  EXPECT_EQ(syncSourceOf(out.next), "s");
}

TEST(Fetching, LooksAgainAfterASecondIfThereIsNoSource) {  // REP-006
  const FetchOutcome out = after(choosing(), Candidates{});
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_EQ(timer<RetryDue>(out)->delay, Millis(1000));
  EXPECT_TRUE(performed<LookAround>(after(out.next, RetryDue{})));
}

/// A frozen process answers no probe: members would wait for it though another one leads by now.
TEST(Fetching, DoesNotAwaitTheProbeOfASourceThatIsGone) {
  const FetchOutcome looks = after(probing(), SetChanged{});
  ASSERT_TRUE(performed<LookAround>(looks));
  EXPECT_FALSE(performed<LookAround>(looks)->opens);
  EXPECT_EQ(phase(after(looks.next, around())), FetchPhase::kProbing) << "it is as good as it was";
  Candidates known = around();
  known.members[1].state = MemberState::kDown;
  const FetchOutcome out = after(looks.next, known);
  EXPECT_TRUE(gaveUp<Probe>(out));
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_TRUE(out.next.memory.denied.empty());
  EXPECT_EQ(performed<Probe>(after(out.next, known))->source, "p");
}

TEST(Fetching, DeniesASourceThatCannotBeProbed) {  // REP-007
  const FetchOutcome out = after(probing(), ProbeFailed{"s", "no log"});
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_EQ(timer<DenialOver>(out)->delay, Millis(10'000));
  const FetchOutcome next = after(out.next, around());
  EXPECT_EQ(performed<Probe>(next)->source, "p");
  EXPECT_EQ(performed<Probe>(after(after(out.next, DenialOver{"s"}).next, around()))->source, "s");
}

TEST(Fetching, AsksASourceAgainThatFailedAndWasElectedSince) {
  Candidates known = around();
  known.primary.clear();
  const Fetcher failed = after(after(choosing(), known).next, ProbeFailed{"s", "no answer"}).next;
  const Fetcher waits = after(failed, known).next;
  EXPECT_TRUE(waits.memory.denied.contains("s")) << "nobody was elected";
  known.primary = "s";
  const FetchOutcome out = after(failed, known);
  EXPECT_EQ(performed<Probe>(out)->source, "s");
  EXPECT_TRUE(after(after(out.next, ProbeFailed{"s", "still none"}).next, known).next.memory.denied.contains("s"))
      << "it led when it failed";
}

TEST(Fetching, ASourceThatForgotItsHistoryIsNotAskedAgainForBeingElected) {
  Probed found = healthy("s");
  found.oldest = entryAt(101);
  const Fetcher denied = after(probing(), found).next;
  Candidates known = around();
  known.primary = "s";
  EXPECT_EQ(performed<Probe>(after(denied, known))->source, "p");
}

TEST(Fetching, DeniesASourceWhoseLogBeginsTooLate) {  // REP-008
  Probed found = healthy("s");
  found.oldest = entryAt(101);
  const FetchOutcome out = after(probing(), found);
  EXPECT_EQ(out.next.memory.denied.at("s"), Denial::kTooNew);
  EXPECT_EQ(timer<DenialOver>(out)->delay, Millis(60'000));
  found.oldest = entryAt(100);
  EXPECT_EQ(phase(after(probing(), found)), FetchPhase::kFetching) << "its oldest entry is this member's newest";
}

TEST(Fetching, DeniesASourceWithoutTheEntryUpToWhichItIsInconsistent) {  // REP-009
  Probed found = healthy("s");
  found.hasRequiredEntry = false;
  EXPECT_EQ(after(probing(), found).next.memory.denied.at("s"), Denial::kUnusable);
}

TEST(Fetching, DeniesASourceThatHasLess) {  // REP-013, REP-017
  Probed found = healthy("s");
  found.newest = entryAt(99);
  const FetchOutcome out = after(probing(), found);
  EXPECT_EQ(out.next.memory.denied.at("s"), Denial::kBehind);
  EXPECT_EQ(timer<DenialOver>(out)->delay, Millis(1000));
  EXPECT_EQ(after(fetching(), ended(FetchEnd::kBehind)).next.memory.denied.at("s"), Denial::kBehind);
}

TEST(Fetching, HearsNothingOfAProbeOfAnotherSource) {
  EXPECT_EQ(phase(after(probing(), healthy("p"))), FetchPhase::kProbing);
  EXPECT_EQ(phase(after(probing(), ProbeFailed{"p", "late"})), FetchPhase::kProbing);
}

TEST(Fetching, RollsBackWhenItHasDiverged) {  // REP-014
  const FetchOutcome out = after(fetching(), ended(FetchEnd::kDiverged));
  EXPECT_EQ(phase(out), FetchPhase::kDiverged);
  EXPECT_TRUE(performed<CloseBuffer>(out));
  EXPECT_EQ(performed<RollBack>(out)->source, "s");
  EXPECT_EQ(phase(after(out.next, RollbackEnded{})), FetchPhase::kChoosing);
}

TEST(Fetching, HasDivergedFromASourceOfALaterTermWithAnEarlierTime) {
  Probed found = healthy("s");
  found.newest = entryAt(99, 2);
  EXPECT_EQ(phase(after(probing(), found)), FetchPhase::kDiverged);
}

TEST(Fetching, OpensABrokenCursorThreeTimes) {  // REP-016
  Fetcher now = fetching();
  for (int i = 0; i < 3; ++i) {
    const FetchOutcome out = after(now, ended(FetchEnd::kBroken));
    EXPECT_EQ(phase(out), FetchPhase::kFetching);
    EXPECT_EQ(performed<Fetch>(out)->source, "s");
    now = out.next;
  }
  const FetchOutcome out = after(now, ended(FetchEnd::kBroken));
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_EQ(out.next.memory.denied.at("s"), Denial::kFailed);
}

TEST(Fetching, CountsAnewWhenABrokenCursorHadGivenSomething) {
  Fetcher now = fetching();
  for (int i = 0; i < 9; ++i) now = after(now, ended(FetchEnd::kBroken, true)).next;
  EXPECT_EQ(now.memory.phase, FetchPhase::kFetching);
}

TEST(Fetching, ChoosesAnewWhenItsSourceHasRolledBackOrIsUnfit) {  // REP-010, REP-034
  for (const auto how : {FetchEnd::kRolledBack, FetchEnd::kUnfit, FetchEnd::kClosed}) {
    const FetchOutcome out = after(fetching(), ended(how));
    EXPECT_EQ(phase(out), FetchPhase::kChoosing);
    EXPECT_TRUE(out.next.memory.denied.empty());
  }
}

TEST(Fetching, DeniesASourceWhoseEntriesAreNoLog) {
  EXPECT_EQ(after(fetching(), ended(FetchEnd::kDamaged)).next.memory.denied.at("s"), Denial::kUnusable);
}

TEST(Fetching, LooksAgainWhenTheSetHasChanged) {  // REP-034
  const FetchOutcome looks = after(fetching(), SetChanged{});
  EXPECT_FALSE(performed<LookAround>(looks)->opens);
  EXPECT_EQ(phase(after(looks.next, around())), FetchPhase::kFetching);
  Candidates changed = around();
  changed.members.pop_back();
  const FetchOutcome out = after(looks.next, changed);
  EXPECT_EQ(phase(out), FetchPhase::kEnding);
  EXPECT_TRUE(gaveUp<Fetch>(out));
  EXPECT_TRUE(performed<EndFetch>(out));
  EXPECT_EQ(phase(after(out.next, FetchIsOver{})), FetchPhase::kChoosing);
}

TEST(Fetching, StopsWhenTheFetchUnderWayIsOver) {  // REP-019
  const FetchOutcome out = after(fetching(), StopFetching{});
  EXPECT_EQ(phase(out), FetchPhase::kEnding);
  EXPECT_TRUE(performed<CloseBuffer>(out));
  EXPECT_TRUE(mayPush(phase(out)));
  const FetchOutcome over = after(out.next, FetchIsOver{});
  EXPECT_EQ(phase(over), FetchPhase::kIdle);
  EXPECT_FALSE(mayPush(phase(over)));
}

TEST(Fetching, ClosesTheBufferWhenItIsResumedAfterItWasToldToStop) {
  const Fetcher told = after(fetching(), StopFetching{}).next;
  const auto out = machines::resumed<Fetching>(told.document);
  EXPECT_EQ(out.next.memory.phase, FetchPhase::kIdle);
  EXPECT_TRUE(performed<CloseBuffer>(out)) << "the crash may have come first: the applier would wait for ever";
  EXPECT_FALSE(performed<CloseBuffer>(machines::resumed<Fetching>(fetching().document)));
}

TEST(Fetching, StopsAtOnceWithoutAFetch) {
  EXPECT_EQ(phase(after(choosing(), StopFetching{})), FetchPhase::kIdle);
  const FetchOutcome out = after(probing(), StopFetching{});
  EXPECT_EQ(phase(out), FetchPhase::kIdle);
  EXPECT_TRUE(gaveUp<Probe>(out));
}

TEST(Fetching, IsStoppedAfterARollbackDuringWhichItWasTold) {
  const Fetcher now = after(after(fetching(), ended(FetchEnd::kDiverged)).next, StopFetching{}).next;
  EXPECT_EQ(now.memory.phase, FetchPhase::kDiverged);
  EXPECT_EQ(phase(after(now, RollbackEnded{})), FetchPhase::kIdle);
}

TEST(Fetching, FollowsAgainAfterAStopThatHasNotEnded) {
  const Fetcher now = after(after(fetching(), StopFetching{}).next, Follow{}).next;
  EXPECT_EQ(now.memory.phase, FetchPhase::kEnding);
  EXPECT_EQ(phase(after(now, FetchIsOver{})), FetchPhase::kChoosing);
}

/// Writes wait for its followers.
TEST(Fetching, APrimaryThatLeadsOnIsAskedAgainSoonAfterItFailed) {
  const auto denialOf = [](const NodeName& source) {
    Candidates known = around();
    known.members.resize(source == "p" ? 1 : 2);
    const FetchOutcome out = after(after(choosing(), known).next, ProbeFailed{source});
    for (const auto& effect : out.effects)
      if (const auto* timer = std::get_if<machines::Arm<Fetching>>(&effect))
        if (std::holds_alternative<DenialOver>(timer->event)) return timer->delay;
    return Millis(0);
  };
  EXPECT_EQ(denialOf("p"), Fetching::kRetryPause);
  EXPECT_EQ(denialOf("s"), Fetching::denialOf(Denial::kFailed));
}

TEST(Fetching, AMemberThatRollsBackDoesNotCatchUp) {
  const Fetcher now = after(fetching(), ended(FetchEnd::kDiverged)).next;
  EXPECT_EQ(refusedWith(after(now, CatchUpTo{entryAt(130)})), ErrorCode::kConflictingOperationInProgress);
}

TEST(Fetching, AnOperatorsChoiceCountsOnce) {  // REP-003
  const FetchOutcome told = after(fetching(), SyncFrom{"p"});
  EXPECT_EQ(phase(told), FetchPhase::kEnding);
  EXPECT_TRUE(told.next.memory.requested == "p");
  const FetchOutcome out = after(after(told.next, FetchIsOver{}).next, around());
  EXPECT_EQ(performed<Probe>(out)->source, "p") << "the other one is nearer";
  const Fetcher failed = after(out.next, ProbeFailed{"p", "no log"}).next;
  EXPECT_EQ(performed<Probe>(after(failed, around()))->source, "s");
}

TEST(Fetching, AnOperatorIsToldThePreviousSource) {
  for (const auto& effect : after(fetching(), SyncFrom{"p"}).effects)
    if (const auto* reply = std::get_if<machines::Reply<Fetching>>(&effect)) {
      EXPECT_EQ(std::get<PreviousSource>(reply->message).host, "s");
      return;
    }
  FAIL() << "no reply";
}

TEST(Fetching, AnOperatorsChoiceTakesADenialBack) {
  const Fetcher denied = after(probing(), ProbeFailed{"s", "no log"}).next;
  EXPECT_EQ(performed<Probe>(after(after(denied, SyncFrom{"s"}).next, around()))->source, "s");
}

TEST(Fetching, AnImpossibleChoiceIsPassedOver) {
  EXPECT_EQ(performed<Probe>(after(after(choosing(), SyncFrom{"stranger"}).next, around()))->source, "s");
}

/// In a fresh set heartbeats may not have told yet what the others have.
TEST(Fetching, ARequestedSourceIsKeptThoughHeartbeatsKnowLessThanItsProbe) {  // REP-003
  Candidates stale = around();
  stale.own = entryAt(120);
  stale.members[1].applied = entryAt(80);
  const Fetcher asked = after(after(choosing(), SyncFrom{"s"}).next, stale).next;
  ASSERT_EQ(asked.memory.phase, FetchPhase::kProbing);
  EXPECT_EQ(phase(after(asked, stale)), FetchPhase::kProbing);
  const Fetcher fetches = after(asked, healthy("s")).next;
  ASSERT_EQ(fetches.memory.phase, FetchPhase::kFetching);
  EXPECT_EQ(whyToChange(fetches, stale), "");
  stale.members[0].applied = entryAt(151);
  EXPECT_EQ(whyToChange(fetches, stale), "it is too far behind p") << "the primary has gone on";
}

TEST(Fetching, OnlyASecondaryIsToldWhomToSyncFrom) {
  EXPECT_EQ(refusedWith(after(stopped(), SyncFrom{"p"})), ErrorCode::kNotSecondary);
  EXPECT_EQ(refusedWith(after(catchingUp(), SyncFrom{"p"})), ErrorCode::kNotSecondary);
}

TEST(Fetching, WithoutEntriesNeedsAnInitialSync) {
  Candidates known = around();
  known.own = {};
  const FetchOutcome out = after(after(choosing(), known).next, healthy("s"));
  EXPECT_EQ(phase(out), FetchPhase::kNeedsInitialSync);
  EXPECT_TRUE(performed<NeedInitialSync>(out));
  EXPECT_EQ(phase(after(out.next, InitialSyncEnded{})), FetchPhase::kChoosing);
}

TEST(Fetching, ItsPageShowsTheMachineAsItIs) {
  machines::test::expectPageShows<Fetching>("docs/protocols/fetching.md");
}

}  // namespace
}  // namespace troupe::replication::fetching_test
