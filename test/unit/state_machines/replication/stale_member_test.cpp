// A member that lacks what all others have forgotten: REP-011, OPL-016, ISY-020.
#include "test/unit/state_machines/replication/fetching_kit.hpp"

namespace troupe::replication::fetching_test {
namespace {

Fetcher allTooNew() {
  Fetcher now = probing();
  for (const char* host : {"s", "p"}) {
    Probed found = healthy(host);
    found.oldest = entryAt(101);
    now = after(now, found).next;
    if (NodeName(host) == "s") now = after(now, around()).next;
  }
  return now;
}

TEST(Fetching, IsTooStaleWhenEverySourceHasForgottenWhatItNeeds) {  // REP-011, OPL-016
  const FetchOutcome out = after(allTooNew(), around());
  EXPECT_EQ(phase(out), FetchPhase::kTooStale);
  ASSERT_TRUE(performed<SetMaintenance>(out));
  EXPECT_TRUE(performed<SetMaintenance>(out)->on);
  EXPECT_TRUE(out.persist);
}

TEST(Fetching, IsNotTooStaleAsLongAsOneSourceMayHaveIt) {
  Fetcher now = allTooNew();
  now.memory.denied["p"] = Denial::kFailed;
  EXPECT_EQ(phase(after(now, around())), FetchPhase::kChoosing) << "nobody knows what p has";
  EXPECT_EQ(phase(after(allTooNew(), Candidates{})), FetchPhase::kChoosing) << "there is no source at all";
}

TEST(Fetching, ComesBackFromBeingTooStaleWhenASourceHasTheHistory) {
  Fetcher now = after(allTooNew(), around()).next;
  const FetchOutcome looks = after(now, DenialOver{"s"});
  EXPECT_TRUE(performed<LookAround>(looks));
  now = after(looks.next, around()).next;
  const FetchOutcome out = after(now, healthy("s"));
  EXPECT_EQ(phase(out), FetchPhase::kFetching);
  ASSERT_TRUE(performed<SetMaintenance>(out));
  EXPECT_FALSE(performed<SetMaintenance>(out)->on);
}

// The others are lost for good: an operator takes them out of the config by force, and this member has to lead.
TEST(Fetching, IsNotTooStaleWhereNobodyIsAhead) {
  const Fetcher stale = after(allTooNew(), around()).next;
  Candidates left = around();
  for (SourceCandidate& other : left.members) other.applied = left.own;
  for (const Candidates& known : {left, Candidates{.own = left.own}}) {
    const FetchOutcome out = after(stale, known);
    ASSERT_TRUE(performed<SetMaintenance>(out));
    EXPECT_FALSE(performed<SetMaintenance>(out)->on);
    EXPECT_NE(phase(out), FetchPhase::kTooStale);
    EXPECT_TRUE(out.persist);
  }
  Candidates down = around();
  for (SourceCandidate& other : down.members) other.state = MemberState::kDown;
  EXPECT_FALSE(performed<SetMaintenance>(after(stale, down))) << "they come back with what it lacks";
  for (SourceCandidate& other : down.members) other.applied = {};
  EXPECT_FALSE(performed<SetMaintenance>(after(stale, down))) << "what they had is forgotten after a while";
}

/// It stood, and won, in the moment in which its sources were all found too new: by what heartbeats had told they were
/// ahead, and by their votes they were not. No writes would be taken until somebody else is elected.
TEST(Fetching, AStaleMemberThatWasElectedCatchesUp) {
  const FetchOutcome elected = after(after(allTooNew(), around()).next, CatchUpTo{entryAt(100), 7});
  EXPECT_FALSE(refusedWith(elected));
  EXPECT_EQ(phase(elected), FetchPhase::kChoosing);
  EXPECT_TRUE(elected.next.memory.denied.empty()) << "each member is asked afresh";
  ASSERT_TRUE(performed<SetMaintenance>(elected));
  EXPECT_FALSE(performed<SetMaintenance>(elected)->on) << "it leads";
  Fetcher now = after(elected.next, aroundANewPrimary()).next;
  for (const char* host : {"s", "p"}) {
    ASSERT_EQ(now.memory.source, host);
    Probed found = healthy(host);
    found.oldest = entryAt(101);
    now = after(after(now, found).next, aroundANewPrimary()).next;
  }
  EXPECT_TRUE(performed<EndCatchUp>(after(now, aroundANewPrimary()))) << "what they have fits to nothing here";
}

TEST(Fetching, AnOperatorHasAStaleMemberCopyAllAnew) {  // ISY-020
  const FetchOutcome stale = after(allTooNew(), around());
  FetchOutcome out = after(stale.next, Resync{});
  EXPECT_EQ(phase(out), FetchPhase::kNeedsInitialSync);
  EXPECT_TRUE(performed<CloseBuffer>(out)) << "what it had fetched would be taken for its newest entry";
  EXPECT_TRUE(performed<NeedInitialSync>(out));
  EXPECT_FALSE(refusedWith(out));
  out = after(out.next, InitialSyncEnded{});
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_TRUE(out.next.memory.denied.empty()) << "it has another end of its log now";
  ASSERT_TRUE(performed<SetMaintenance>(out));
  EXPECT_FALSE(performed<SetMaintenance>(out)->on) << "it is in service again, whether it finds a source or not";
}

TEST(Fetching, AStaleMemberIsResyncedAlsoWhileItLooksForAnotherSource) {
  for (Fetcher now : {choosing(), probing()}) {
    now.document.maintenance = true;
    const FetchOutcome out = after(now, Resync{});
    EXPECT_EQ(phase(out), FetchPhase::kNeedsInitialSync);
    EXPECT_TRUE(performed<NeedInitialSync>(out));
    EXPECT_FALSE(refusedWith(out));
  }
}

TEST(Fetching, AMemberThatCanCatchUpIsNotResynced) {  // ISY-020
  for (const Fetcher& now : {stopped(), choosing(), probing(), fetching()}) {
    const FetchOutcome out = after(now, Resync{});
    EXPECT_EQ(refusedWith(out), ErrorCode::kNotSecondary);
    EXPECT_EQ(phase(out), now.memory.phase);
    EXPECT_FALSE(performed<NeedInitialSync>(out));
  }
}

}  // namespace
}  // namespace troupe::replication::fetching_test
