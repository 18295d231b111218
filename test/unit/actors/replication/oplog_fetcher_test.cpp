#include "actors/replication/oplog_fetcher.hpp"

#include <gmock/gmock.h>

#include <set>

#include "messaging/bson/json.hpp"
#include "test/unit/actors/replication/fetcher_fixture.hpp"

namespace troupe::replication::test {
namespace {

using ::testing::Contains;
using ::testing::Pair;

TEST_F(OplogFetcherTest, FetchesNothingBeforeItIsTold) {
  spawn();
  node.advance(10s);
  EXPECT_EQ(members.logs["s"].opened, 0);
}

// REP-001, REP-012, REP-015
TEST_F(OplogFetcherTest, FetchesWhatFollowsItsNewestEntryAndWhatIsWrittenLater) {
  follow();
  EXPECT_EQ(phase(), FetchPhase::kFetching);
  EXPECT_EQ(taken(), range(6, 10));
  members.logs["s"].addRange(11, 12);
  node.run();
  EXPECT_EQ(taken(), range(11, 12));
  EXPECT_EQ(members.logs["s"].opened, 1);
}

TEST_F(OplogFetcherTest, CountsWhatItFetches) {
  follow();
  members.logs["s"].addRange(11, 12);
  node.run();
  const auto values = figures.get();
  EXPECT_EQ(values.readers, 1);
  EXPECT_EQ(values.entries, 7);
  EXPECT_GT(values.bytes, 7 * 20);
  EXPECT_GE(values.batches, 2);
  EXPECT_EQ(values.selections, 1);
  EXPECT_EQ(values.choseDifferent, 1);
}

TEST_F(OplogFetcherTest, GoesOnWhenNothingWasWrittenForAWhile) {
  follow();
  members.logs["s"].wake();
  node.run();
  members.logs["s"].addRange(11, 11);
  node.run();
  EXPECT_EQ(taken(), range(6, 11));
  EXPECT_EQ(members.logs["s"].opened, 1);
}

TEST_F(OplogFetcherTest, GoesOnAfterAFailureOfItsActor) {
  follow();
  node.kill(node.address(kFetcherPath), {ErrorCode::kInternalError, "it crashed"});
  node.run();
  members.logs["s"].addRange(11, 11);
  known.members[1].applied = entryAt(11);
  spawn();
  node.run();
  EXPECT_EQ(taken(), range(6, 11)) << "from its newest fetched entry on, though none of them is applied";
}

TEST_F(OplogFetcherTest, LooksForASourceOnceASecond) {  // REP-006
  const auto all = std::exchange(known.members, {});
  follow();
  node.advance(5s);
  EXPECT_EQ(phase(), FetchPhase::kChoosing);
  known.members = all;
  node.advance(1s);
  EXPECT_EQ(phase(), FetchPhase::kFetching);
}

TEST_F(OplogFetcherTest, ReadsNothingWhileTheBufferIsFull) {  // REP-018
  auto& log = members.logs["s"];
  log.addRange(11, 400);
  log.batchEntries = 10;
  const size_t bytes = 12 * (logEntry(entryAt(1)).bytes().size() + sizeof(FetchedEntry));
  OplogBuffer small(bytes);
  FetcherParts wanted = parts();
  wanted.buffer = &small;
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.advance(60s);
  EXPECT_LE(log.batches, 2);
  std::vector<uint32_t> all;
  for (size_t rounds = 0; rounds < 100 && (all.empty() || all.back() < 400); ++rounds) {
    for (const FetchedEntry& entry : small.take(3, bytes)) all.push_back(entry.opTime.timestamp.seconds);
    node.run();
    EXPECT_LE(small.figures().bytes, bytes);
    while (small.figures().entries > 0) {
      for (const FetchedEntry& entry : small.take(3, bytes)) all.push_back(entry.opTime.timestamp.seconds);
      node.run();
    }
  }
  EXPECT_EQ(all, range(6, 400));
  node.shutdown();
}

// REP-014
TEST_F(OplogFetcherTest, RollsBackWhenItsNewestEntryIsNotTheSources) {
  haveAnotherHistory();
  follow();
  // The buffer is opened when it follows, and again when it goes on after the rollback.
  EXPECT_EQ(notes, (std::vector<std::string>{"drained", "opened", "rolled back by s", "drained", "opened"}));
  EXPECT_EQ(taken(), range(6, 10));
  EXPECT_THAT(written, Contains(Pair(21280, log::Severity::kWarning)));
}

/// The buffer is closed for the rollback: opened by a look that began before, it would take entries, and the applier
/// apply them, while data are taken back.
TEST_F(OplogFetcherTest, ALookThatEndsDuringARollbackLeavesTheBufferClosed) {
  haveAnotherHistory();
  Promise<Status> ofTheLook, ofTheRollback;
  int drains = 0;
  FetcherParts with = parts();
  with.drained = [&] { return drains++ == 0 ? untilSet(ofTheLook) : noting("drained"); };
  with.rollBack = [&](const NodeName&) {
    applied = rolledBackTo;
    return untilSet(ofTheRollback);
  };
  buffer.close();
  node.spawn<OplogFetcher>(kFetcherPath, std::move(with));
  EXPECT_TRUE(tell(Follow{}).isOK());
  ASSERT_EQ(drains, 1);
  buffer.reopen();  // as another look does, which is behind the applier already
  node.tell(node.address(kFetcherPath), local(SetChanged{}));
  node.run();
  ASSERT_EQ(phase(), FetchPhase::kDiverged);
  ofTheLook.set(Status::OK());
  node.run();
  EXPECT_TRUE(buffer.isClosed());
  EXPECT_FALSE(hasNote("opened"));
  ofTheRollback.set(Status::OK());
  node.run();
  EXPECT_TRUE(hasNote("opened")) << "it follows again after the rollback";
  EXPECT_EQ(taken(), range(6, 10));
}

TEST_F(OplogFetcherTest, IsTooStaleUntilASourceHasTheHistory) {  // REP-008, REP-011, OPL-016
  for (const char* host : {"p", "s"})
    members.logs[host].entries.erase(members.logs[host].entries.begin(), members.logs[host].entries.begin() + 6);
  follow();
  EXPECT_EQ(phase(), FetchPhase::kTooStale);
  EXPECT_TRUE(hasNote("maintenance"));
  EXPECT_THAT(written, Contains(Pair(21279, log::Severity::kWarning)));
  EXPECT_TRUE(taken().empty());
  node.advance(90s);
  EXPECT_EQ(phase(), FetchPhase::kTooStale);
  EXPECT_EQ(std::ranges::count(lines, "This member is too stale to catch up"), 1) << "however often it has asked since";
  members.logs["p"].entries.clear();
  members.logs["p"].addRange(1, 10);
  node.advance(61s);
  EXPECT_EQ(phase(), FetchPhase::kFetching);
  EXPECT_EQ(notes.back(), "no maintenance");
  EXPECT_EQ(taken(), range(6, 10));
}

TEST_F(OplogFetcherTest, WarnsOfDataThatAnOperatorHasReplaced) {
  copiedUpTo = entryAt(7);
  for (const char* host : {"p", "s"})
    members.logs[host].entries.erase(members.logs[host].entries.begin(), members.logs[host].entries.begin() + 6);
  follow();
  EXPECT_TRUE(tell(Resync{}).isOK());
  EXPECT_THAT(written, Contains(Pair(21281, log::Severity::kWarning)));
}

TEST_F(OplogFetcherTest, AStaleMemberStaysWhatItWasWhereNobodyCouldBeCopied) {
  for (const char* host : {"p", "s"})
    members.logs[host].entries.erase(members.logs[host].entries.begin(), members.logs[host].entries.begin() + 6);
  FetcherParts wanted = parts();
  wanted.initialSync = [this] { return noting("nobody to copy", Status(ErrorCode::kNodeNotFound, "no source")); };
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.run();
  ASSERT_EQ(phase(), FetchPhase::kTooStale);
  EXPECT_TRUE(tell(Resync{}).isOK());
  node.run();
  EXPECT_TRUE(hasNote("nobody to copy"));
  EXPECT_EQ(phase(), FetchPhase::kTooStale);
  EXPECT_TRUE(seen.document.maintenance);
  EXPECT_FALSE(hasNote("no maintenance"));
  EXPECT_TRUE(tell(Resync{}).isOK()) << "an operator may say so again";
}

TEST_F(OplogFetcherTest, ASourceThatForgetsWhileItIsOpenedIsNotTakenForADivergedOne) {
  auto& log = members.logs["s"];
  log.beforeOpening = [&] { log.entries.erase(log.entries.begin(), log.entries.begin() + 6); };
  follow();
  EXPECT_FALSE(hasNote("rolled back by s"));
  EXPECT_EQ(seen.memory.denied.at("s"), Denial::kTooNew);
  EXPECT_EQ(seen.memory.source, "p");
}

// REP-016
TEST_F(OplogFetcherTest, OpensABrokenCursorThreeTimesAndThenChoosesAnother) {
  auto& log = members.logs["s"];
  for (int i = 0; i < 4; ++i) log.failures.emplace_back(ErrorCode::kCursorNotFound, "killed");
  follow();
  EXPECT_EQ(log.opened, 4);
  EXPECT_EQ(seen.memory.source, "p");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "Restarting the oplog cursor"), 3);
  for (const int id : {21275, 21276, 21277, 21278})  // restarts, choices, choices anew, denials
    EXPECT_THAT(written, Contains(Pair(id, log::Severity::kInfo)));
  EXPECT_EQ(taken(), range(6, 10));
}

TEST_F(OplogFetcherTest, GoesOnWhereABrokenCursorWas) {
  follow();
  auto& log = members.logs["s"];
  log.failures.emplace_back(ErrorCode::kCursorNotFound, "killed");
  log.addRange(11, 12);
  node.run();
  EXPECT_EQ(taken(), range(6, 12));
  EXPECT_EQ(log.opened, 2);
}

TEST_F(OplogFetcherTest, PassesOverASourceThatCannotBeReached) {  // REP-007
  members.logs["s"].isReachable = false;
  follow();
  EXPECT_EQ(seen.memory.source, "p");
  EXPECT_EQ(lines.front(), "Sync source denied");
  members.logs["s"].isReachable = true;
  node.advance(10s);
  EXPECT_TRUE(seen.memory.denied.empty());
}

TEST_F(OplogFetcherTest, ProbesASourceAnewThatHasRolledBackSinceItWasChosen) {  // REP-010, REP-017
  auto& log = members.logs["s"];
  log.beforeOpening = [&] {
    if (log.opened == 0) log.rollbackId = 3;
  };
  follow();
  EXPECT_EQ(log.opened, 2);
  EXPECT_EQ(seen.memory.rollbackId, 3);
  EXPECT_EQ(taken(), range(6, 10)) << "each once";
}

TEST_F(OplogFetcherTest, DropsASourceWithoutAnEntryFromItsOwnOn) {  // REP-013
  auto& log = members.logs["s"];
  log.beforeOpening = [&] { log.entries.resize(3); };
  follow();
  EXPECT_EQ(seen.memory.denied.at("s"), Denial::kBehind);
  EXPECT_EQ(seen.memory.source, "p");
}

TEST_F(OplogFetcherTest, PushesNoEntriesThatDoNotFollowEachOther) {
  auto& log = members.logs["s"];
  log.entries.insert(log.entries.begin() + 7, logEntry(entryAt(20)));
  follow();
  EXPECT_EQ(seen.memory.denied.at("s"), Denial::kUnusable);
  EXPECT_EQ(taken(), range(6, 10)) << "all of them of the other source";
}

TEST_F(OplogFetcherTest, ReevaluatesItsSourceBeforeEachBatch) {  // REP-034
  follow();
  EXPECT_EQ(seen.memory.source, "s");
  known.members[1].state = MemberState::kRecovering;
  members.logs["s"].wake();
  node.run();
  EXPECT_EQ(seen.memory.source, "p");
}

TEST_F(OplogFetcherTest, ChangesItsSourceWhenItIsToldThatTheSetHasChanged) {
  follow();
  known.chainingAllowed = false;
  node.tell(node.address(kFetcherPath), local(SetChanged{}));
  node.run();
  EXPECT_EQ(seen.memory.source, "p") << "though the other source sends nothing";
  members.logs["s"].addRange(11, 11);
  node.run();
  EXPECT_EQ(taken(), range(6, 10)) << "of a fetch that was given up nothing more comes";
}

TEST_F(OplogFetcherTest, AnOperatorChoosesTheSource) {  // REP-003
  follow();
  const Answer answer = tell(SyncFrom{"p"});
  ASSERT_TRUE(answer.isOK()) << answer.status().toString();
  EXPECT_EQ(answer->local<PreviousSource>().host, "s");
  node.run();
  EXPECT_EQ(seen.memory.source, "p");
  known.members[1].applied = entryAt(11);
  members.logs["p"].isReachable = false;
  for (int i = 0; i < 4; ++i) members.logs["p"].failures.emplace_back(ErrorCode::kHostUnreachable, "gone");
  members.logs["p"].wake();
  node.run();
  EXPECT_EQ(seen.memory.source, "s") << "once, not for ever";
}

TEST_F(OplogFetcherTest, AnOperatorIsToldOfASourceThatCannotBe) {
  follow();
  EXPECT_EQ(tell(SyncFrom{"stranger"}).status().code(), ErrorCode::kInvalidOptions);
  EXPECT_EQ(seen.memory.source, "s");
}

// REP-019
TEST_F(OplogFetcherTest, AStopIsAnsweredAtOnceWhenItsSourceIsIdle) {
  follow();
  const auto answered = begin(StopFetching{});
  EXPECT_TRUE(*answered);
  EXPECT_TRUE(buffer.isClosed());
  members.logs["s"].addRange(11, 12);
  node.run();
  EXPECT_EQ(taken(), range(6, 10)) << "what was fetched is left to be applied";
}

TEST_F(OplogFetcherTest, AStopEndsAFetchThatWaitsForRoom) {
  OplogBuffer small(1);
  FetcherParts wanted = parts();
  wanted.buffer = &small;
  members.logs["s"].batchEntries = 3;
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.run();
  const auto before = small.newest();
  ASSERT_TRUE(before);
  EXPECT_LT(*before, entryAt(10)) << "it waits for room";
  EXPECT_TRUE(*begin(StopFetching{}));
  (void)small.take(100, 1 << 20);
  node.run();
  EXPECT_EQ(small.newest(), before);
  node.shutdown();
}

TEST_F(OplogFetcherTest, ANewFetchBeginsWhenTheLastOneCanPushNothingMore) {
  OplogBuffer small(1);
  FetcherParts wanted = parts();
  wanted.buffer = &small;
  for (const char* host : {"p", "s"}) members.logs[host].batchEntries = 3;
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.run();
  EXPECT_TRUE(tell(SyncFrom{"p"}).isOK());
  node.run();
  EXPECT_EQ(phase(), FetchPhase::kEnding) << "its entries may still enter the buffer";
  std::vector<uint32_t> all;
  while (small.figures().entries > 0) {
    for (const FetchedEntry& entry : small.take(1, 1 << 20)) all.push_back(entry.opTime.timestamp.seconds);
    node.run();
  }
  EXPECT_EQ(all, range(6, 10)) << "each once";
  EXPECT_EQ(seen.memory.source, "p");
  node.shutdown();
}

TEST_F(OplogFetcherTest, FollowsAnewWhenAllIsAppliedThatWasFetchedBefore) {
  follow();
  EXPECT_TRUE(*begin(StopFetching{}));
  notes.clear();
  applied = entryAt(10);
  members.logs["s"].addRange(11, 12);
  known.members[1].applied = entryAt(12);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.run();
  EXPECT_EQ(notes, (std::vector<std::string>{"drained", "opened"}));
  EXPECT_EQ(taken(), range(11, 12));
}

TEST_F(OplogFetcherTest, ANewPrimaryCatchesUpFromAnyMember) {  // ELE-019
  known.name = known.primary = "me";
  known.members[0].state = MemberState::kSecondary;
  known.chainingAllowed = false;
  spawn();
  EXPECT_TRUE(tell(CatchUpTo{entryAt(10)}).isOK());
  node.run();
  EXPECT_EQ(taken(), range(6, 10));
  EXPECT_EQ(tell(SyncFrom{"p"}).status().code(), ErrorCode::kNotSecondary);
}

TEST_F(OplogFetcherTest, AFreshMemberGoesOnFromWhatItHasCopied) {
  applied = {};
  copiedUpTo = entryAt(7);
  follow();
  EXPECT_THAT(notes, Contains("copied"));
  EXPECT_EQ(taken(), range(8, 10));
  EXPECT_THAT(written, Contains(Pair(21281, log::Severity::kInfo))) << "every new member does so";
}

TEST_F(OplogFetcherTest, AFreshMemberFetchesNothingBeforeItHasData) {
  applied = {};
  FetcherParts wanted = parts();
  wanted.initialSync = nullptr;
  node.spawn<OplogFetcher>(kFetcherPath, wanted);
  EXPECT_TRUE(tell(Follow{}).isOK());
  node.run();
  EXPECT_EQ(phase(), FetchPhase::kNeedsInitialSync);
  EXPECT_EQ(members.logs["s"].opened, 0);
}

TEST_F(OplogFetcherTest, ShowsItsSourceAndWhatItHasFetched) {
  members.logs["p"].isReachable = false;
  known.members[1].ping = std::chrono::milliseconds(100);
  follow();
  const auto details = node.wait(node.inspect(kFetcherPath, 1s));
  ASSERT_TRUE(details);
  const bson::View shown = details->state.view();
  EXPECT_EQ(shown.at("fetch.syncSource").toStringOr(), "s") << bson::toRelaxedJson(shown);
  EXPECT_EQ(shown.at("fetch.entries").toInt64(), 5);
  EXPECT_EQ(shown.at("buffer.entries").toInt64(), 5);
  EXPECT_EQ(shown.at("memory.denied.p").toStringOr(), "failed");
  EXPECT_EQ(shown["lagSecs"].toInt64(-1), 0);
}

}  // namespace
}  // namespace troupe::replication::test
