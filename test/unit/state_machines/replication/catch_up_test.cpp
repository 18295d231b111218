// A new primary that fetches what others have: ELE-018, ELE-019.
#include "test/unit/state_machines/replication/fetching_kit.hpp"

namespace troupe::replication::fetching_test {
namespace {

TEST(Fetching, AWinnerGivesUpItsSourceAndFetchesFromAnyMember) {  // ELE-018, ELE-019
  const FetchOutcome out = after(fetching(), CatchUpTo{entryAt(130)});
  EXPECT_EQ(phase(out), FetchPhase::kEnding);
  Candidates known = aroundANewPrimary();
  known.chainingAllowed = false;
  EXPECT_EQ(performed<Probe>(after(after(out.next, FetchIsOver{}).next, known))->source, "s");
}

TEST(Fetching, AWinnerAlsoAsksMembersThatFailedItAsSources) {  // ELE-019
  const Fetcher denied = after(probing(), ProbeFailed{"s"}).next;
  ASSERT_TRUE(denied.memory.denied.contains("s"));
  const FetchOutcome out = after(denied, CatchUpTo{entryAt(120)});
  EXPECT_TRUE(out.next.memory.denied.empty());
  EXPECT_EQ(performed<Probe>(after(out.next, aroundANewPrimary()))->source, "s");
}

TEST(Fetching, ACatchUpIsFruitlessAfterTwoLooksWithoutASource) {
  Fetcher now = after(stopped(), CatchUpTo{entryAt(120)}).next;
  for (const int looks : {1, 2, 2}) {
    const FetchOutcome out = after(now, Candidates{});
    now = out.next;
    EXPECT_EQ(now.memory.fruitless, looks);
    EXPECT_EQ(performed<EndCatchUp>(out).has_value(), looks == 2) << "told again and again: it may be lost";
  }
  now = after(now, aroundANewPrimary()).next;
  EXPECT_EQ(now.memory.fruitless, 0) << "somebody has come";
  EXPECT_EQ(after(choosing(), Candidates{}).next.memory.fruitless, 0) << "a follower goes on looking";
  EXPECT_FALSE(performed<EndCatchUp>(after(after(choosing(), Candidates{}).next, Candidates{})));
}

TEST(Fetching, FruitlessLooksOfAnotherTermOrTargetDoNotEndACatchUp) {
  const CatchUpTo wanted{entryAt(120), 3};
  const Fetcher once = after(after(stopped(), wanted).next, Candidates{}).next;
  const FetchOutcome same = after(after(once, wanted).next, Candidates{});
  ASSERT_TRUE(performed<EndCatchUp>(same)) << "told again of the same";
  EXPECT_EQ(performed<EndCatchUp>(same)->term, 3);
  for (const CatchUpTo& other : {CatchUpTo{entryAt(120), 4}, CatchUpTo{entryAt(130), 3}}) {
    const FetchOutcome first = after(after(once, other).next, Candidates{});
    EXPECT_FALSE(performed<EndCatchUp>(first));
    const FetchOutcome second = after(first.next, Candidates{});
    ASSERT_TRUE(performed<EndCatchUp>(second));
    EXPECT_EQ(performed<EndCatchUp>(second)->term, other.term);
  }
  EXPECT_EQ(after(once, Follow{}).next.document.term, 0) << "it leads no more";
}

TEST(Fetching, ANewPrimaryDeniesASourceInsteadOfRollingBack) {
  const FetchOutcome out = after(catchingUp(), ended(FetchEnd::kDiverged));
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_EQ(out.next.memory.left.at("s"), Denial::kUnusable);
  EXPECT_FALSE(performed<RollBack>(out));
  EXPECT_FALSE(timer<DenialOver>(out)) << "its branch of history stays what it is";
}

TEST(Fetching, ANewPrimaryLeavesASilentSourceForAnotherMember) {
  const FetchOutcome out = after(catchingUp(), SourceSilent{"s", "me"});
  EXPECT_EQ(phase(out), FetchPhase::kEnding);
  EXPECT_EQ(performed<Probe>(after(after(out.next, FetchIsOver{}).next, aroundANewPrimary()))->source, "p");
  EXPECT_EQ(phase(after(fetching(), SourceSilent{"s", "me"})), FetchPhase::kFetching) << "not before it is told to";
}

/// Else two that are silent by turns would hold it for ever.
TEST(Fetching, ANewPrimaryAsksNobodyTwiceThatWasSilent) {
  FetchOutcome out = after(catchingUp(), SourceSilent{"s", "me"});
  EXPECT_FALSE(timer<DenialOver>(out));
  out = after(after(out.next, FetchIsOver{}).next, aroundANewPrimary());
  ASSERT_EQ(performed<Probe>(out)->source, "p");
  out = unanswered(out.next);
  EXPECT_FALSE(timer<DenialOver>(out));
  Candidates known = aroundANewPrimary();
  for (const char* primary : {"me", "p"}) {  // p is said to have been elected meanwhile
    known.primary = primary;
    EXPECT_TRUE(performed<EndCatchUp>(after(after(out.next, known).next, known))) << primary;
  }
  out = after(after(out.next, aroundANewPrimary()).next, aroundANewPrimary());
  const FetchOutcome later = after(after(out.next, CatchUpTo{entryAt(120), 8}).next, aroundANewPrimary());
  EXPECT_EQ(performed<Probe>(later)->source, "s") << "in another term";
  const FetchOutcome follows = after(after(out.next, Follow{}).next, around());
  EXPECT_EQ(performed<Probe>(follows)->source, "s") << "as a follower";
  const FetchOutcome stops = after(after(out.next, StopFetching{}).next, Follow{});
  EXPECT_EQ(performed<Probe>(after(stops.next, around()))->source, "s") << "after it has led";
}

/// A link to the only member ahead that is down for an instant.
TEST(Fetching, ANewPrimaryAsksASourceAgainThatFailed) {
  Candidates known = aroundANewPrimary();
  known.members[0].applied = {};
  FetchOutcome out = after(after(stopped(), CatchUpTo{entryAt(120), 7}).next, known);
  for (int times = 0; times < 5; ++times) {
    out = after(out.next, ProbeFailed{"s", "no way to it"});
    ASSERT_EQ(timer<DenialOver>(out)->delay, Fetching::kRetryPause);
    for (int looks = 0; looks < 3; ++looks) {
      out = after(out.next, known);
      EXPECT_FALSE(performed<EndCatchUp>(out)) << "it may be back in a second";
    }
    out = after(after(out.next, DenialOver{"s"}).next, known);
    ASSERT_EQ(performed<Probe>(out)->source, "s");
  }
  EXPECT_EQ(phase(after(out.next, healthy("s"))), FetchPhase::kFetching);
}

TEST(Fetching, ThePatienceOfANewPrimaryWithAFailingSourceEnds) {
  Candidates known = aroundANewPrimary();
  known.members[0].applied = {};
  const FetchOutcome begins = after(stopped(), CatchUpTo{entryAt(120), 7});
  EXPECT_EQ(timer<PatienceOver>(begins)->delay, Fetching::kLongSilence);
  const Fetcher waits = after(after(begins.next, known).next, PatienceOver{}).next;
  const FetchOutcome out = after(waits, ProbeFailed{"s", "no way to it"});
  EXPECT_FALSE(timer<DenialOver>(out));
  EXPECT_TRUE(performed<EndCatchUp>(after(after(out.next, known).next, known)));

  const Fetcher denied = after(after(begins.next, known).next, ProbeFailed{"s", "no way to it"}).next;
  const Fetcher over = after(denied, PatienceOver{}).next;
  EXPECT_TRUE(performed<EndCatchUp>(after(after(over, known).next, known))) << "while it is denied, too";
  EXPECT_FALSE(after(after(over, CatchUpTo{entryAt(120), 8}).next, known).next.memory.isImpatient) << "another term";
  EXPECT_FALSE(after(over, Follow{}).next.memory.isImpatient);
}

TEST(Fetching, ThePatienceOfANewPrimaryBeginsAnewWithWhatItGets) {
  const Fetcher fetches = after(catchingUp(), PatienceOver{}).next;
  ASSERT_TRUE(fetches.memory.isImpatient);
  EXPECT_TRUE(after(fetches, ended(FetchEnd::kBroken)).next.memory.isImpatient);
  const FetchOutcome out = after(fetches, ended(FetchEnd::kBroken, true));
  EXPECT_FALSE(out.next.memory.isImpatient);
  EXPECT_TRUE(timer<PatienceOver>(out));
}

TEST(Fetching, ACatchUpThatIsResumedHasItsPatience) {
  const auto out = machines::resumed<Fetching>(catchingUp().document);
  EXPECT_EQ(timer<PatienceOver>(out)->delay, Fetching::kLongSilence);
  EXPECT_FALSE(timer<PatienceOver>(machines::resumed<Fetching>(fetching().document)));
}

TEST(Fetching, ANewPrimaryLeadsWithoutWhatASilentSourceAloneHas) {
  Candidates known = aroundANewPrimary();
  known.members[0].applied = {};
  const FetchOutcome asked = after(after(stopped(), CatchUpTo{entryAt(120), 7}).next, known);
  EXPECT_EQ(performed<Probe>(asked)->source, "s");
  EXPECT_EQ(timer<ProbeOverdue>(asked)->delay, Fetching::kLongSilence);
  const FetchOutcome looked = after(unanswered(asked.next).next, known);
  EXPECT_FALSE(performed<EndCatchUp>(looked));
  const FetchOutcome again = after(looked.next, known);
  ASSERT_TRUE(performed<EndCatchUp>(again));
  EXPECT_EQ(performed<EndCatchUp>(again)->term, 7);
}

}  // namespace
}  // namespace troupe::replication::fetching_test
