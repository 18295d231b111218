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

/// The second batch is a large one, as those of a source that is far ahead: the third may be as well.
TEST_F(OplogFetcherTest, ALargeBatchMayTakeLong) {
  auto& log = members.logs["s"];
  log.batchEntries = 2;
  FetcherParts wanted = parts();
  wanted.credit =
      2 * logEntry(entryAt(1)).bytes().size() + 1;  // a batch is no more than that, and no small share of it
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.run();
  ASSERT_EQ(taken(), range(6, 10));
  node.advance(8s);
  EXPECT_EQ(seen.memory.source, "s");
  log.wake();
  node.advance(3s);
  EXPECT_EQ(seen.memory.source, "p") << "it has read all";
}

TEST_F(OplogFetcherTest, ASourceMayTakeLongAfterItsFirstBatch) {
  follow();
  node.advance(8s);
  EXPECT_EQ(seen.memory.source, "s") << "a first batch is a small one, whatever follows";
  node.advance(3s);
  EXPECT_EQ(seen.memory.source, "p");
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
  beElected();
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
  beElected();
  spawn();
  EXPECT_TRUE(tell(CatchUpTo{entryAt(12), 3}).isOK());
  node.advance(9s);
  EXPECT_TRUE(endedCatchUps.empty());
  EXPECT_FALSE(errors.contains(21290));
  node.advance(3s);
  ASSERT_FALSE(endedCatchUps.empty());
  EXPECT_EQ(endedCatchUps.front(), 3);
  EXPECT_THAT(written, Contains(Pair(21290, log::Severity::kWarning)));
  EXPECT_THAT(errors[21290], StartsWith("nothing has come from it"));
}

/// The applier may need long for what is in the buffer.
TEST_F(OplogFetcherTest, ANewPrimaryThatHasFetchedAllLeavesNobody) {
  beElected();
  members.logs["s"].addRange(11, 12);
  spawn();
  EXPECT_TRUE(tell(CatchUpTo{entryAt(12), 3}).isOK());
  node.advance(60s);
  EXPECT_EQ(seen.memory.source, "s");
  EXPECT_TRUE(tell(CatchUpTo{entryAt(13), 3}).isOK());
  node.advance(2s);
  EXPECT_EQ(seen.memory.left.at("s"), Denial::kSilent) << "now it lacks something";
}

/// A link that is down for a moment.
TEST_F(OplogFetcherTest, ANewPrimaryAsksTheOnlySourceAgainThatFailed) {
  beElected();
  auto& log = members.logs["s"];
  log.isReachable = false;
  spawn();
  EXPECT_TRUE(tell(CatchUpTo{entryAt(12), 3}).isOK());
  node.advance(4s);
  EXPECT_EQ(seconds[21278], 1);
  log.isReachable = true;
  log.addRange(11, 11);
  node.advance(1s);
  EXPECT_EQ(taken(), range(6, 11));
  node.advance(8s);
  for (int i = 0; i < 4; ++i) log.failures.emplace_back(ErrorCode::kHostUnreachable, "the link is down");
  log.addRange(12, 12);
  node.advance(2s);
  EXPECT_EQ(taken(), range(12, 12)) << "it has had entries since";
  EXPECT_TRUE(endedCatchUps.empty());
}

TEST_F(OplogFetcherTest, ANewPrimaryLeadsWithoutWhatASourceHasThatFailsOnAndOn) {
  beElected();
  members.logs["s"].isReachable = false;
  spawn();
  EXPECT_TRUE(tell(CatchUpTo{entryAt(12), 3}).isOK());
  node.advance(9s);
  EXPECT_TRUE(endedCatchUps.empty());
  node.advance(4s);
  ASSERT_FALSE(endedCatchUps.empty());
  EXPECT_THAT(errors[21290], ::testing::HasSubstr("s is gone"));
}

}  // namespace
}  // namespace troupe::replication::test
