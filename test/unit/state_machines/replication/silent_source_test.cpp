// Sources that say nothing, to a follower.
#include "test/unit/state_machines/replication/fetching_kit.hpp"

namespace troupe::replication::fetching_test {
namespace {

/// As an old primary is that still hears nobody: what it has and does not send keeps it ahead.
TEST(Fetching, LeavesASilentSourceForThePrimary) {
  const FetchOutcome out = after(fetching(), SourceSilent{"s", "p"});
  EXPECT_EQ(phase(out), FetchPhase::kEnding);
  EXPECT_TRUE(gaveUp<Fetch>(out));
  EXPECT_TRUE(performed<EndFetch>(out));
  EXPECT_EQ(timer<DenialOver>(out)->delay, Millis(10'000));
  EXPECT_EQ(performed<Probe>(after(after(out.next, FetchIsOver{}).next, around()))->source, "p");
}

TEST(Fetching, AwaitsASilentSourceThatLeadsOrThatNobodyLeadsInsteadOf) {
  EXPECT_EQ(phase(after(fetching(), SourceSilent{"s", "s"})), FetchPhase::kFetching);
  EXPECT_EQ(phase(after(fetching(), SourceSilent{"s", ""})), FetchPhase::kFetching);
  EXPECT_EQ(phase(after(fetching(), SourceSilent{"earlier", "p"})), FetchPhase::kFetching);
  Fetcher tried = fetching();
  tried.memory.primary = "p";
  tried.memory.denied["p"] = Denial::kFailed;
  EXPECT_EQ(phase(after(tried, SourceSilent{"s", "p"})), FetchPhase::kFetching) << "the primary cannot be read";
  tried.memory.primary = "other";
  const FetchOutcome elected = after(tried, SourceSilent{"s", "p"});
  EXPECT_EQ(phase(elected), FetchPhase::kEnding) << "it failed before it was elected";
  EXPECT_FALSE(elected.next.memory.denied.contains("p"));
}

TEST(Fetching, LeavesASourceThatDoesNotAnswerItsProbeForThePrimary) {
  const FetchOutcome asked = after(choosing(), around());
  ASSERT_EQ(timer<ProbeOverdue>(asked)->delay, Fetching::kSilence);
  const FetchOutcome suspects = after(asked.next, ProbeOverdue{});
  EXPECT_EQ(phase(suspects), FetchPhase::kProbing) << "this process may have been stopped";
  ASSERT_EQ(timer<ProbeOverdue>(suspects)->delay, Fetching::kSecondLook);
  const FetchOutcome out = after(suspects.next, ProbeOverdue{});
  EXPECT_TRUE(gaveUp<Probe>(out));
  EXPECT_EQ(timer<DenialOver>(out)->delay, Millis(10'000));
  EXPECT_EQ(performed<Probe>(after(out.next, around()))->source, "p");
}

TEST(Fetching, SilentSourcesAreAskedAgainWhereThereIsNoOther) {
  Candidates known = around();
  known.members.push_back(known.members[1]);
  known.members.back().host = "t";
  Fetcher now = unanswered(after(choosing(), known).next).next;
  FetchOutcome out = after(now, known);
  EXPECT_EQ(performed<Probe>(out)->source, "t");
  now = unanswered(out.next).next;
  EXPECT_EQ(performed<Probe>(after(now, known))->source, "p") << "nearer ones are silent";
  known.members[0].state = MemberState::kDown;
  out = after(now, known);
  EXPECT_EQ(performed<Probe>(out)->source, "s") << "better than none";
  EXPECT_FALSE(out.next.memory.denied.contains("s"));
  EXPECT_TRUE(out.next.memory.denied.contains("t")) << "it is not asked";
  known.members[1].state = known.members[2].state = MemberState::kDown;
  EXPECT_EQ(after(now, known).next.memory.denied, now.memory.denied) << "none of them can be asked";
}

TEST(Fetching, AwaitsAProbeUntilAnotherMemberLeads) {
  Candidates known = around();
  known.primary.clear();
  const FetchOutcome waits = after(after(choosing(), known).next, ProbeOverdue{});
  EXPECT_EQ(phase(waits), FetchPhase::kProbing);
  EXPECT_EQ(timer<ProbeOverdue>(waits)->delay, Fetching::kSilence);
  const Fetcher heard = after(waits.next, around()).next;
  EXPECT_EQ(phase(unanswered(heard)), FetchPhase::kChoosing);
}

/// p leads and its log cannot be read; s takes three seconds for an answer.
TEST(Fetching, AwaitsASlowSourceWhereNoOtherCanBeRead) {
  Fetcher now = unanswered(after(choosing(), around()).next).next;
  FetchOutcome out = after(now, around());
  ASSERT_EQ(performed<Probe>(out)->source, "p");
  out = after(after(out.next, ProbeFailed{"p", "an error"}).next, around());
  ASSERT_EQ(performed<Probe>(out)->source, "s") << "better than none";
  now = after(out.next, DenialOver{"p"}).next;
  now = after(after(now, SetChanged{}).next, around()).next;
  for (int times = 0; times < 3; ++times) {
    out = unanswered(now);
    EXPECT_EQ(phase(out), FetchPhase::kProbing) << "from its beginning it would never come to its end";
    EXPECT_TRUE(timer<ProbeOverdue>(out));
    now = out.next;
  }
  out = after(now, healthy("s"));
  EXPECT_EQ(phase(out), FetchPhase::kFetching);
  EXPECT_EQ(phase(after(out.next, SourceSilent{"s", "p"})), FetchPhase::kEnding) << "it has answered; p may by now";
}

TEST(Fetching, AwaitsASlowSourceWhereThePrimaryHasLess) {
  Candidates known = around();
  known.members[0].applied = entryAt(99);
  const Fetcher left = unanswered(after(choosing(), known).next).next;
  const FetchOutcome again = after(left, known);
  ASSERT_EQ(performed<Probe>(again)->source, "s");
  EXPECT_EQ(phase(unanswered(again.next)), FetchPhase::kProbing);
}

TEST(Fetching, LeavesTheLastSilentSourceWhenAnotherMemberIsElectedOrItFails) {
  Candidates known = around();
  known.members[0].applied = entryAt(99);
  const Fetcher waits = after(unanswered(after(choosing(), known).next).next, known).next;
  EXPECT_EQ(after(waits, ProbeFailed{"s", "no answer"}).next.memory.denied.at("s"), Denial::kFailed);
  known.members.push_back(known.members[0]);
  known.members.back().host = known.primary = "q";
  known.members.back().applied = entryAt(130);
  const FetchOutcome out = unanswered(after(waits, known).next);
  EXPECT_EQ(phase(out), FetchPhase::kChoosing);
  EXPECT_EQ(performed<Probe>(after(out.next, known))->source, "q");
}

/// Of a source that was overdue once and had to be waited for a second look is taken again.
TEST(Fetching, ASecondLookIsTakenEachTime) {
  const Fetcher suspects = after(probing(), ProbeOverdue{}).next;
  Candidates known = around();
  known.primary.clear();
  const FetchOutcome waits = after(after(suspects, known).next, ProbeOverdue{});
  EXPECT_FALSE(waits.next.memory.isOverdue);
  EXPECT_EQ(phase(after(after(waits.next, around()).next, ProbeOverdue{})), FetchPhase::kProbing);
}

}  // namespace
}  // namespace troupe::replication::fetching_test
