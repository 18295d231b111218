#include "test/unit/actors/replication/fetcher_fixture.hpp"

/// Sources that say nothing, to a follower and to a new primary.
namespace troupe::replication::test {
namespace {

using ::testing::Contains;
using ::testing::Pair;
using ::testing::StartsWith;

TEST_F(OplogFetcherTest, LeavesASourceThatSaysNothingForTwoSecondsThoughItSeemsToBeAhead) {
  known.members[1].applied = entryAt(12);  // as it says, and does not send
  follow();
  for (int second = 0; second < 5; ++second) {
    members.logs["s"].wake();
    node.advance(1s);
  }
  EXPECT_EQ(seen.memory.source, "s") << "it has nothing new, and says so";
  node.advance(1s);  // two seconds now
  EXPECT_EQ(seen.memory.source, "s");
  node.advance(600ms);
  EXPECT_EQ(seen.memory.source, "p");
  EXPECT_EQ(seen.memory.denied.at("s"), Denial::kSilent);
  members.logs["s"].addRange(11, 12);
  members.logs["p"].addRange(11, 11);
  node.run();
  EXPECT_EQ(taken(), range(6, 11)) << "of a fetch that was given up nothing more comes";
}

/// What has come lies in the socket when the timers of a process that was stopped are due.
TEST_F(OplogFetcherTest, DoesNotTakeItsOwnSleepForTheSilenceOfItsSource) {
  follow();
  node.advance(1s);
  time->jumpTo(time->now() + 60s);
  node.run();
  EXPECT_EQ(seen.memory.source, "s");
  members.logs["s"].wake();
  node.advance(1s);
  EXPECT_EQ(seen.memory.source, "s");
}

TEST_F(OplogFetcherTest, LeavesASourceThatDoesNotAnswerWhenAnotherMemberLeads) {
  members.logs["s"].answers = false;
  known.primary.clear();
  follow();
  node.advance(5s);
  EXPECT_EQ(phase(), FetchPhase::kProbing);
  EXPECT_EQ(seen.memory.source, "s");
  known.primary = "p";
  node.tell(node.address(kFetcherPath), local(SetChanged{}));
  node.advance(2s + Fetching::kSecondLook);
  EXPECT_EQ(seen.memory.source, "p");
  EXPECT_EQ(errors[21278], "it has not answered its probe");
  EXPECT_EQ(phase(), FetchPhase::kFetching);
}

TEST_F(OplogFetcherTest, ALargeBatchMayTakeLong) {
  auto& log = members.logs["s"];
  FetcherParts wanted = parts();
  wanted.credit = 16;  // any entry is more than a share of it
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.advance(8s);
  EXPECT_EQ(seen.memory.source, "s");
  log.wake();
  node.advance(3s);
  EXPECT_EQ(seen.memory.source, "p") << "it has read all";
}

TEST_F(OplogFetcherTest, AwaitsASilentSourceWhileNobodyElseLeads) {
  known.name = "me";
  for (const char* primary : {"s", "", "me"}) {
    known.primary = primary;
    if (seen.memory.source.empty()) follow();
    node.advance(30s);
    EXPECT_EQ(seen.memory.source, "s") << primary;
  }
  known.primary = "p";
  node.advance(1s);
  EXPECT_EQ(seen.memory.source, "p");
}

TEST_F(OplogFetcherTest, ANewPrimaryLeavesASourceThatSaysNothingForTenSeconds) {
  known.name = known.primary = "me";
  for (auto& member : known.members) member.applied = entryAt(12);
  members.logs["p"].addRange(11, 12);
  spawn();
  EXPECT_TRUE(tell(CatchUpTo{entryAt(12)}).isOK());
  for (int second = 0; second < 9; ++second) {
    members.logs["s"].wake();
    node.advance(1s);
  }
  EXPECT_EQ(seen.memory.source, "s");
  members.logs["s"].wake();
  node.advance(2s);
  EXPECT_EQ(seen.memory.source, "p") << "an empty batch is nothing";
  EXPECT_EQ(taken(), range(6, 12));
}

TEST_F(OplogFetcherTest, ANewPrimaryLeadsWithoutWhatNobodyGives) {
  known.name = known.primary = "me";
  known.members[1].applied = entryAt(12);
  std::vector<int64_t> ended;
  FetcherParts wanted = parts();
  wanted.endCatchUp = [&](int64_t term) { ended.push_back(term); };
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(CatchUpTo{entryAt(12), 3}).isOK());
  node.advance(9s);
  EXPECT_TRUE(ended.empty());
  EXPECT_FALSE(errors.contains(21290));
  node.advance(3s);
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended.front(), 3);
  EXPECT_THAT(written, Contains(Pair(21290, log::Severity::kWarning)));
  EXPECT_THAT(errors[21290], StartsWith("nothing has come from it"));
}

}  // namespace
}  // namespace troupe::replication::test
