// The applier and those who stop, hold or end it. What it applies is in oplog_applier_test.cpp.
#include "test/unit/actors/lock_holder.hpp"
#include "test/unit/actors/replication/applier_fixture.hpp"

namespace troupe::replication {

using namespace std::chrono_literals;
using bson::doc;
using storage::LockMode;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ApplierControlTest : public OplogApplierTest {
 protected:
  /// It has taken three entries, of which the first makes test.d: that batch is under way when the pause is asked for.
  static void pauseBehindTheFirst(Follower& member, const std::vector<bson::Document>& entries) {
    LockHolder other(member.locks, "test.d", LockMode::kX);
    member.push(entries);
    member.settle();
    ASSERT_EQ(member.figures().waiting, 3);
    const auto paused = member.ask(Pause{});
    other.release();
    member.settle();
    ASSERT_TRUE(paused->isDone());
  }
  /// The entries as the primary writes them at this moment of the member's clock, or `later` than that.
  static std::vector<bson::Document> writtenNow(const Follower& member, std::vector<bson::Document> entries,
                                                std::chrono::milliseconds later = {}) {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(member.time->wallNow().time_since_epoch());
    for (bson::Document& each : entries) {
      storage::OplogEntry entry = *storage::OplogEntry::parse(each);
      entry.wall = {(now + later).count()};
      each = entry.toDocument();
    }
    return entries;
  }
  /// It has test.c, and applies what is as old as the delay is then.
  std::unique_ptr<Follower> followLate(const Duration& delay) {
    auto member = std::make_unique<Follower>();
    EXPECT_TRUE(member->data.make(*current()));
    member->delay = [&delay] { return delay; };
    member->startApplier();
    return member;
  }
};

TEST_P(ApplierControlTest, ADrainEndsWhenAllThatWasFetchedIsVisible) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4, 5, 6}).isOK());
  const auto member = follow({.limits = {.maxEntries = 2}});
  const auto early = member->ask(DrainBuffer{});
  EXPECT_FALSE(early->answer) << "more may be fetched";
  member->push(log());
  member->node->run();
  EXPECT_FALSE(early->answer);
  member->buffer.close();
  member->node->run();
  EXPECT_TRUE(early->isDone());
  EXPECT_EQ(member->writes.visibility.get(), opTimeOf(log().back()).timestamp);
  EXPECT_TRUE(member->ask(DrainBuffer{})->isDone()) << "nothing is left";
  EXPECT_EQ(phaseOf(*member), "drained");
  // It follows again, later.
  ASSERT_TRUE(insertAll({7}).isOK());
  member->buffer.reopen();
  const auto again = member->ask(DrainBuffer{});
  member->push({log().back()});
  member->node->run();
  EXPECT_EQ(member->data.contents(), contents());
  EXPECT_FALSE(again->answer);
  member->buffer.close();
  member->node->run();
  EXPECT_TRUE(again->isDone());
}

// REP-024.
TEST_P(ApplierControlTest, APauseWaitsForTheBatchUnderWayAndNoneFollowsIt) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4}).isOK());
  const auto member = follow({.limits = {.maxEntries = 2}});
  LockHolder validation(member->locks, "test.c", LockMode::kX);
  member->push(log());
  member->settle();
  EXPECT_EQ(phaseOf(*member), "writing");
  EXPECT_THAT(member->ends, IsEmpty()) << "it waits for the collection, without a thread";
  const auto paused = member->ask(Pause{});
  EXPECT_FALSE(paused->answer);
  validation.release();
  member->settle();
  EXPECT_TRUE(paused->isDone());
  EXPECT_THAT(member->ends, SizeIs(1));
  EXPECT_EQ(phaseOf(*member), "paused");
  EXPECT_TRUE(member->ask(Pause{})->isDone()) << "it is already";
  member->node->tell(member->applier, local(Resume{}));
  member->settle();
  EXPECT_THAT(member->ends, SizeIs(2));
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(ApplierControlTest, NothingIsAppliedUntilTheDiskHasRoom) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4}).isOK());
  const auto member = follow({.limits = {.maxEntries = 2}});
  const auto before = member->data.contents();
  member->hasRoom = false;
  member->push(log());
  member->settle();
  EXPECT_EQ(phaseOf(*member), "full");
  EXPECT_EQ(member->data.contents(), before);
  EXPECT_THAT(member->ends, IsEmpty());
  EXPECT_GE(member->asksForRoom.front(), 2 * log().front().bytes().size()) << "the log takes it, too";
  EXPECT_TRUE(member->ask(Pause{})->isDone()) << "a rollback need not wait for room";
  member->hasRoom = true;
  member->node->advance(2s);
  EXPECT_THAT(member->ends, IsEmpty());
  member->node->tell(member->applier, local(Resume{}));
  member->settle();
  EXPECT_EQ(member->data.contents(), contents());
  EXPECT_THAT(member->failures, IsEmpty());
}

TEST_P(ApplierControlTest, RoomIsLookedForAgain) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const auto member = follow();
  member->hasRoom = false;
  member->push(log());
  member->settle();
  ASSERT_EQ(phaseOf(*member), "full");
  member->hasRoom = true;
  member->node->advance(1s);
  EXPECT_EQ(member->data.contents(), contents());
}

// REP-024: what was fetched from a log that is not followed any more is not applied.
TEST_P(ApplierControlTest, AFreshRunForgetsEntriesThatStoodBehindACommand) {
  make("test.d");
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const auto entries = log();
  const auto member = follow();
  pauseBehindTheFirst(*member, entries);
  EXPECT_EQ(member->figures().waiting, 2);
  member->buffer.reopen();
  member->push({entries[1], entries[2]});
  member->node->tell(member->applier, local(Resume{}));
  member->settle();
  EXPECT_THAT(member->failures, IsEmpty()) << "each entry once";
  EXPECT_EQ(member->logged(), entries);
}

// RBK-003: a fetcher that is started again in the middle of a rollback must not open the buffer; a member that is to
// lead gives the rollback up.
TEST_P(ApplierControlTest, APausedApplierHasDrainedForAMemberThatLeadsOnly) {
  make("test.d");
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const auto member = follow();
  pauseBehindTheFirst(*member, log());
  ASSERT_EQ(member->figures().waiting, 2);
  member->buffer.close();
  member->buffer.clear();
  const auto fetcher = member->ask(DrainBuffer{});
  EXPECT_FALSE(fetcher->answer);
  EXPECT_TRUE(member->ask(DrainBuffer{.toLead = true})->isDone()) << "what it had taken is of a log that is given up";
  member->node->tell(member->applier, local(Resume{}));
  member->settle();
  EXPECT_TRUE(fetcher->isDone());
  EXPECT_EQ(member->logged().size(), 1u) << "nothing more was applied";
}

TEST_P(ApplierControlTest, DataThatAreNotThoseOfTheLogEndTheNode) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  update(2, "a", 5);
  auto entries = log();
  entries.erase(entries.begin() + 1);  // the document that is updated
  const auto member = follow();
  const auto drained = member->ask(DrainBuffer{});
  member->push(entries);
  member->settle();
  ASSERT_THAT(member->failures, SizeIs(1));
  EXPECT_EQ(member->failures.front().code(), ErrorCode::kNoSuchKey);
  EXPECT_THAT(member->ends, IsEmpty()) << "no time has moved";
  EXPECT_EQ(member->writes.visibility.get(), bson::Timestamp());
  EXPECT_EQ(phaseOf(*member), "failed");
  ASSERT_TRUE(drained->answer);
  EXPECT_EQ(drained->answer->status().code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(member->ask(Pause{})->answer->status().code(), ErrorCode::kNoSuchKey);
  member->node->tell(member->applier, local(Resume{}));
  member->settle();
  EXPECT_THAT(member->failures, SizeIs(1)) << "it does not go on";
}

TEST_P(ApplierControlTest, ALogThatGoesBackEndsTheNode) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  const auto member = follow();
  member->applyAll(log());
  member->push({log()[1]});
  member->settle();
  ASSERT_THAT(member->failures, SizeIs(1));
  EXPECT_EQ(member->failures.front().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(member->logged(), log());
}

TEST_P(ApplierControlTest, AnEntryThatCannotBeReadEndsTheNode) {
  const auto member = follow();
  member->push({doc("ts", bson::Timestamp{5, 1}, "t", int64_t{1}, "op", "x")});
  member->settle();
  ASSERT_THAT(member->failures, SizeIs(1));
  EXPECT_EQ(member->failures.front().code(), ErrorCode::kFailedToParse);
}

TEST_P(ApplierControlTest, ADelayedMemberAppliesLaterButNotWhenItIsToLead) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const Duration delay = 1h;
  const auto member = followLate(delay);
  member->push(writtenNow(*member, {log()[0]}));
  member->node->advance(59min);
  EXPECT_THAT(member->ends, IsEmpty());
  EXPECT_EQ(phaseOf(*member), "delaying");
  member->node->advance(61s);
  EXPECT_THAT(member->ends, SizeIs(1));
  member->push(writtenNow(*member, {log()[1]}, 1h));
  member->settle();
  EXPECT_THAT(member->ends, SizeIs(1));
  member->buffer.close();
  EXPECT_TRUE(member->ask(DrainBuffer{.toLead = true})->isDone());
  EXPECT_THAT(member->ends, SizeIs(2));
  EXPECT_EQ(member->data.contents(), contents());
  ASSERT_TRUE(insertAll({3}).isOK());
  member->buffer.reopen();
  member->push(writtenNow(*member, {log()[2]}));
  member->settle();
  EXPECT_EQ(phaseOf(*member), "delaying") << "it does not lead any more";
}

// A delayed member that was removed and is added again goes on where it was.
TEST_P(ApplierControlTest, TheDelayHoldsWhenAFetcherBeginsAnew) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  const Duration delay = 1h;
  const auto member = followLate(delay);
  member->push(writtenNow(*member, {log()[0]}, -2h));
  const auto young = writtenNow(*member, {log()[1], log()[2]});
  member->push({young[0]});
  member->settle();
  EXPECT_THAT(member->ends, SizeIs(1));
  EXPECT_EQ(phaseOf(*member), "delaying");
  member->push({young[1]});
  member->node->run();
  ASSERT_EQ(member->buffer.figures().entries, 1u);
  member->buffer.close();
  EXPECT_TRUE(member->ask(DrainBuffer{})->isDone());
  EXPECT_THAT(member->ends, SizeIs(1)) << "what is too young is not applied";
  EXPECT_EQ(member->buffer.figures().entries, 0u) << "and leaves no gap before what is fetched next";
  EXPECT_EQ(member->buffer.newest(), std::nullopt) << "which begins behind what is applied";
  EXPECT_EQ(member->figures().waiting, 0);
  member->buffer.reopen();
  member->push(young);
  member->node->advance(58min);
  EXPECT_THAT(member->ends, SizeIs(1));
  member->node->advance(3min);
  EXPECT_EQ(member->data.contents(), contents());
  EXPECT_EQ(member->logged().size(), 3u) << "each entry once";
  EXPECT_THAT(member->failures, IsEmpty());
}

TEST_P(ApplierControlTest, ARemovedMemberAppliesNothingMore) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  Duration delay = Duration::max();
  const auto member = followLate(delay);
  member->push(writtenNow(*member, log(), -24h));
  member->node->advance(1h);
  EXPECT_THAT(member->ends, IsEmpty());
  member->buffer.close();
  delay = {};
  EXPECT_TRUE(member->ask(DrainBuffer{})->isDone()) << "it is added again";
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(ApplierControlTest, AConflictIsWaitedOut) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  update(1, "a", 5);
  const auto entries = log();
  const auto member = follow();
  member->applyAll({entries[0], entries[1]});
  {
    const OpenUpdate other(*member, 1);
    member->push({entries[2]});
    member->settle();
    EXPECT_THAT(member->ends, SizeIs(1));
    EXPECT_GT(member->writer->figures().conflicts, 0);
  }
  member->settle();
  EXPECT_THAT(member->ends, SizeIs(2));
  EXPECT_EQ(member->data.contents(), contents());
}

/// Fails writes as the engine does under cache pressure.
class FullCache final : public storage::WriteObserver {
 public:
  bool observes(const storage::CatalogEntry& entry) const override { return entry.ns.toString() == "test.c"; }
  Status onInsert(storage::RecoveryUnit&, const storage::Collection&, const storage::InsertOperation&) override {
    if (failures.empty()) return Status::OK();
    const ErrorCode code = failures.back();
    failures.pop_back();
    return {code, "the cache is full"};
  }
  std::vector<ErrorCode> failures;
};

// STX-010: a client is told, and comes back later; an applier has nobody to tell.
TEST_P(ApplierControlTest, AFullCacheIsWaitedOut) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  FullCache cache;
  const auto member = std::make_unique<Follower>(Follower::Options{.unit = {.maxEntries = 1}});
  member->closeNode();
  member->data.observers = {&cache};
  member->data.restart();
  member->openNode();
  ASSERT_TRUE(member->data.make(*current()));
  member->startApplier();
  cache.failures = {ErrorCode::kTransactionTooLargeForCache, ErrorCode::kTemporarilyUnavailable,
                    ErrorCode::kTransactionTooLargeForCache};
  member->push(log());
  member->settle();
  EXPECT_THAT(member->failures, IsEmpty());
  EXPECT_THAT(cache.failures, IsEmpty());
  EXPECT_EQ(member->writer->figures().conflicts, 3);
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(ApplierControlTest, AStopEndsTheBatchAndTheNextLifeGoesOnWithWhatWasTaken) {
  ASSERT_TRUE(insertAll({1}).isOK());
  const auto member = follow();
  member->applyAll(log());
  make("test.d");
  update(1, "a", 5);
  make("test.e");
  ASSERT_TRUE(insertAll({2}).isOK());
  const auto entries = logFrom(1);
  {
    const OpenUpdate other(*member, 1);
    member->push(entries);
    member->settle();
    member->node->requestStop(member->applier);
    member->settle();
    EXPECT_EQ(phaseOf(*member), "writing");
  }
  member->settle();
  EXPECT_EQ(phaseOf(*member), "none");
  EXPECT_EQ(member->ends.back(), opTimeOf(entries[1]));
  member->startApplier();
  member->settle();
  EXPECT_THAT(member->failures, IsEmpty());
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(ApplierControlTest, ABatchThatWaitsForItsLocksHasWrittenNothingAndMayBeBegunAnew) {
  make("test.d");
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  ASSERT_TRUE(insertOne(1, "test.d").isOK());
  const auto entries = log();
  const auto member = follow();
  member->applyAll({entries[0]});
  LockHolder other(member->locks, "test.d", LockMode::kX);
  member->push({entries.begin() + 1, entries.end()});
  member->settle();
  EXPECT_EQ(phaseOf(*member), "writing");
  EXPECT_EQ(member->data.countAt({2000, 1}, "test.c"), 0);
  member->node->kill(member->applier, {ErrorCode::kInternalError, "killed by the test"});
  member->settle();
  EXPECT_THAT(member->failures, IsEmpty());
  member->startApplier();
  other.release();
  member->settle();
  EXPECT_EQ(member->logged(), entries);
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(ApplierControlTest, AnEndInTheMiddleOfABatchEndsTheNode) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  update(1, "a", 5);
  const auto entries = log();
  const auto member = follow();
  member->applyAll({entries[0], entries[1]});
  const OpenUpdate other(*member, 1);
  member->push({entries[2]});
  member->settle();
  member->node->kill(member->applier, {ErrorCode::kInternalError, "killed by the test"});
  member->settle();
  ASSERT_THAT(member->failures, SizeIs(1));
  EXPECT_THAT(member->failures.front().reason(), ::testing::HasSubstr("in the middle of a batch"));
}

/// A shutdown or a rollback takes the node for itself between two batches, never within one.
TEST_P(ApplierControlTest, TheGlobalLockIsGrantedBetweenBatches) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  update(1, "a", 5);
  ASSERT_TRUE(insertAll({3}).isOK());
  const auto entries = log();
  const auto member = follow();
  member->applyAll({entries[0], entries[1]});
  storage::Locker drain(member->locks);
  bool granted = false;
  {
    const OpenUpdate other(*member, 1);
    member->push({entries[2]});
    member->settle();
    const auto taken = drain.acquire(storage::ResourceId::global(), LockMode::kX, {},
                                     [&](const Status& status) { granted = status.isOK(); });
    ASSERT_TRUE(taken.wait) << "a batch is under way";
    member->settle();
    EXPECT_FALSE(granted);
  }
  member->settle();
  EXPECT_TRUE(granted);
  EXPECT_THAT(member->ends, SizeIs(2));
  member->push({entries[3]});
  member->settle();
  EXPECT_THAT(member->ends, SizeIs(2));
  drain.releaseAll();
  member->settle();
  EXPECT_EQ(member->data.contents(), contents());
}

TROUPE_ON_BOTH_ENGINES(ApplierControlTest);

}  // namespace troupe::replication
