#include "actors/replication/oplog_applier.hpp"

#include <numeric>
#include <set>

#include "storage/oplog/oplog_replay.hpp"
#include "test/unit/actors/lock_holder.hpp"
#include "test/unit/actors/replication/follower.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::replication {

using namespace std::chrono_literals;
using bson::doc;
using storage::LockMode;
using storage::NodeContents;
using storage::StorageUnderTest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The test is the primary; followers apply its log.
class OplogApplierTest : public storage::PrimaryFixture {
 protected:
  NodeContents contents() { return {*catalog, *pool}; }
  void update(int id, const char* field, int value) {
    const auto done = inUnit([&]() -> Status {
      const bson::Value key(id);
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), key.element()));
      bson::Document before;
      TROUPE_TRY(current()->find(rec(), *at, [&](bson::View found) { before = bson::Document(found); }).status());
      return current()->update(rec(), *at, before, doc("_id", id, field, value));
    });
    ASSERT_TRUE(done.isOK()) << done.toString();
  }
  /// With test.c, which is older than the log.
  std::unique_ptr<Follower> follow(const Follower::Options& options = {}) {
    auto follower = std::make_unique<Follower>(options);
    EXPECT_TRUE(follower->data.make(*current()));
    follower->startApplier();
    follower->node->run();
    return follower;
  }
  /// Those of the log from an index on.
  std::vector<bson::Document> logFrom(size_t first) {
    const auto entries = log();
    return {entries.begin() + static_cast<ptrdiff_t>(first), entries.end()};
  }
  static OpTime opTimeOf(const bson::Document& entry) { return {entry["t"].asInt64(), entry["ts"].asTimestamp()}; }
  static std::string phaseOf(Follower& follower) {
    const auto rows = follower.node->registry().rows({.type = "OplogApplier"});
    return rows.empty() ? "none" : rows.front().phase;
  }
};

// OPL-010, REP-020, REP-021.
TEST_P(OplogApplierTest, BatchesGiveAMemberTheDataAndTheLogOfThePrimary) {
  workOnDocuments(200);
  workOnTheCatalog();
  for (const size_t atATime : {1u, 7u, 1000u}) {
    const auto member = follow({.limits = {.maxEntries = 40}, .unit = {.maxEntries = 5}});
    member->pushInParts(log(), atATime);
    member->settle();
    ASSERT_THAT(member->failures, IsEmpty()) << member->failures.front().toString();
    EXPECT_EQ(member->data.contents(), contents()) << atATime;
    EXPECT_EQ(member->logged(), log()) << atATime;
    EXPECT_EQ(member->ends.back(), opTimeOf(log().back()));
    EXPECT_EQ(member->writes.slots.newest(), writes->slots.newest()) << "a step-up goes on behind it";
    EXPECT_EQ(member->locks.inUse(), 0u);
  }
}

// REP-020: each update depends on the one before.
TEST_P(OplogApplierTest, UpdatesOfADocumentKeepTheirOrder) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4, 5}).isOK());
  for (int round = 0; round < 60; ++round) update(1 + round % 5, round % 3 == 0 ? "b" : "a", round);
  const auto member = follow({.writers = 5});
  member->applyAll(log());
  EXPECT_THAT(member->failures, IsEmpty());
  EXPECT_EQ(member->data.contents(), contents());
  EXPECT_THAT(member->ends, SizeIs(1)) << "in one batch";
}

// REP-022.
TEST_P(OplogApplierTest, EntriesOfACollectionShareUnitsOfWork) {
  std::vector<int> ids(300);
  std::iota(ids.begin(), ids.end(), 1);
  ASSERT_TRUE(insertAll(ids).isOK());
  const auto member = follow({.unit = {.maxEntries = 50}});
  member->applyAll(log());
  EXPECT_EQ(member->data.contents(), contents());
  EXPECT_GE(member->writer->figures().units, 6);
  EXPECT_LE(member->writer->figures().units, 9) << "three writers, fifty entries each time";
}

TEST_P(OplogApplierTest, ACappedCollectionHasTheOrderOfTheLog) {
  make("test.capped", doc("capped", true, "size", 100'000, "max", 20));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(addDocument("test.capped", doc("_id", i * 37 % 50)).isOK());
  const auto member = follow({.unit = {.maxEntries = 7}});
  member->applyAll(log());
  const auto idsIn = [](storage::SessionPool& sessions, const storage::CollectionPtr& collection) {
    storage::OperationContext reader({.sessions = sessions});
    auto cursor = collection->records().cursor(reader.recoveryUnit());
    std::vector<int> found;
    while (*cursor->next()) found.push_back(cursor->document()["_id"].asInt32());
    return found;
  };
  ASSERT_THAT(member->failures, IsEmpty());
  EXPECT_EQ(idsIn(*member->data.pool, member->data.current("test.capped")), idsIn(*pool, current("test.capped")));
}

/// Two counters that are written together, in entries of their own, in two collections.
class CounterPairTest : public OplogApplierTest {
 protected:
  static constexpr int kRounds = 30;

  CounterPairTest() {
    make("test.d");
    EXPECT_TRUE(insertOne(1).isOK());
    EXPECT_TRUE(insertOne(1, "test.d").isOK());
    for (int round = 1; round <= kRounds; ++round) {
      EXPECT_TRUE(inUnit([&]() -> Status {
                    TROUPE_TRY(countTo("test.c", round));
                    return countTo("test.d", round);
                  }).isOK());
    }
  }
  Status countTo(const char* ns, int value) {
    const bson::Value key(1);
    TROUPE_ASSIGN(const auto at, current(ns)->findById(rec(), key.element()));
    bson::Document before;
    TROUPE_TRY(current(ns)->find(rec(), *at, [&](bson::View found) { before = bson::Document(found); }).status());
    return current(ns)->update(rec(), *at, before, doc("_id", 1, "n", value));
  }
  /// Both counters, of one snapshot.
  static std::pair<int, int> countersAt(Follower& member, storage::ReadSource source) {
    storage::OperationContext reader(member.services());
    storage::RecoveryUnit& unit = reader.recoveryUnit();
    EXPECT_TRUE(unit.setReadSource(source).isOK());
    const auto counter = [&](const char* ns) {
      auto cursor = member.data.current(ns)->records().cursor(unit);
      EXPECT_TRUE(cursor.isOK()) << cursor.status().toString();
      return cursor.isOK() && *cursor->next() ? static_cast<int>(cursor->document()["n"].toInt64()) : -1;
    };
    const int first = counter("test.c");
    return {first, counter("test.d")};
  }
};

// REP-023.
TEST_P(CounterPairTest, ReadersAtLastAppliedNeverSeeTheInsideOfABatch) {
  const auto member = follow({.limits = {.maxEntries = 6}, .unit = {.maxEntries = 1}});
  const auto entries = log();
  member->applyAll({entries.begin(), entries.begin() + 3});
  int inside = 0;
  std::set<int> seen;
  member->push(logFrom(3));
  while (member->node->step()) {
    const auto [first, second] = countersAt(*member, storage::ReadSource::kLastApplied);
    ASSERT_EQ(first, second);
    seen.insert(first);
    const auto newest = countersAt(*member, storage::ReadSource::kNoTimestamp);
    if (newest.first != newest.second) ++inside;
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kRounds / 3 + 1)) << "the times moved with each batch";
  EXPECT_GT(inside, 0) << "the test looked into batches";
  EXPECT_EQ(*seen.rbegin(), kRounds);
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(CounterPairTest, TheVisibleEndOfTheLogMovesWithTheBatchToo) {
  const auto member = follow({.limits = {.maxEntries = 6}, .unit = {.maxEntries = 1}});
  member->push(log());
  while (member->node->step()) {
    const auto visible = member->logged();
    ASSERT_EQ(visible.empty(), member->ends.empty());
    if (!visible.empty()) {
      ASSERT_EQ(opTimeOf(visible.back()), member->ends.back());
    }
  }
  EXPECT_EQ(member->logged(), log());
  EXPECT_GT(member->ends.size(), 10u);
}

// OPL-010: the two are separate storage transactions.
TEST_P(OplogApplierTest, AStartMakesUpForACrashBetweenLogAndData) {
  make("test.d");
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  update(2, "a", 5);
  const auto before = log();
  const auto member = follow();
  member->applyAll(before);
  ASSERT_TRUE(insertAll({4, 5}).isOK());
  ASSERT_TRUE(insertOne(9, "test.d").isOK());
  ASSERT_TRUE(removeOne("test.c", 4).isOK());
  update(2, "a", 6);
  const auto batch = logFrom(before.size());
  ASSERT_TRUE(member->node->wait(member->writer->writeLog(member->batchOf(batch))).isOK());
  const auto stable = member->ends.back().timestamp;
  ASSERT_TRUE(member->data.catalog->flush().isOK());
  ASSERT_TRUE(member->data.harness->engine().setStableTimestamp(stable).isOK());
  ASSERT_TRUE(member->data.harness->engine().checkpoint({.stable = true}).isOK());
  member->crash();
  ASSERT_EQ(member->logged(), log()) << "the entries are there";
  ASSERT_NE(member->data.contents(), contents()) << "the documents are not";
  const auto replayed = storage::replayOplog(*member->data.catalog, *member->log, {.sessions = *member->data.pool},
                                             member->data.harness->engine().recoveryTimestamp());
  ASSERT_TRUE(replayed.isOK()) << replayed.status().toString();
  EXPECT_EQ(replayed->entries, static_cast<int64_t>(batch.size()));
  EXPECT_EQ(member->data.contents(), contents());
  ASSERT_TRUE(insertAll({7}).isOK());
  member->startApplier();
  member->applyAll({log().back()});
  EXPECT_THAT(member->failures, IsEmpty());
  EXPECT_EQ(member->data.contents(), contents());
}

TEST_P(OplogApplierTest, ABatchMayBeWrittenAgainOverItsOwnData) {
  workOnDocuments(60);
  const auto entries = log();
  Follower member({.mode = storage::ApplyMode::kReplaying});
  ASSERT_TRUE(member.data.make(*current()));
  member.applyAll(entries);
  ASSERT_EQ(member.data.contents(), contents());
  const auto onlyDocuments = [&] {  // without the commands at the beginning, which are batches of their own
    std::vector<bson::Document> found;
    for (const bson::Document& each : entries)
      if (each["op"].asString() != "c") found.push_back(each);
    return found;
  }();
  ASSERT_TRUE(member.node->wait(member.writer->writeDocuments(member.batchOf(onlyDocuments))).isOK());
  EXPECT_EQ(member.data.contents(), contents());
}

TEST_P(OplogApplierTest, ADrainEndsWhenAllThatWasFetchedIsVisible) {
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
TEST_P(OplogApplierTest, APauseWaitsForTheBatchUnderWayAndNoneFollowsIt) {
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

// REP-021.
TEST_P(OplogApplierTest, ACommandInTheMiddleIsABatchOfItsOwn) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  make("test.d");
  ASSERT_TRUE(insertOne(1, "test.d").isOK());
  ASSERT_TRUE(insertAll({3}).isOK());
  const auto entries = log();
  const auto member = follow();
  member->applyAll(entries);
  EXPECT_THAT(member->ends, ElementsAre(opTimeOf(entries[1]), opTimeOf(entries[2]), opTimeOf(entries[4])));
  EXPECT_EQ(member->data.contents(), contents());
}

// REP-024: what was fetched from a log that is not followed any more is not applied.
TEST_P(OplogApplierTest, AFreshRunForgetsEntriesThatStoodBehindACommand) {
  make("test.d");
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  const auto entries = log();
  const auto member = follow();
  LockHolder other(member->locks, "test.d", LockMode::kX);
  member->push(entries);
  member->settle();
  ASSERT_EQ(member->figures().waiting, 3);
  const auto paused = member->ask(Pause{});
  other.release();
  member->settle();
  ASSERT_TRUE(paused->isDone());
  EXPECT_EQ(member->figures().waiting, 2);
  member->buffer.reopen();
  member->push({entries[1], entries[2]});
  member->node->tell(member->applier, local(Resume{}));
  member->settle();
  EXPECT_THAT(member->failures, IsEmpty()) << "each entry once";
  EXPECT_EQ(member->logged(), entries);
}

TEST_P(OplogApplierTest, DataThatAreNotThoseOfTheLogEndTheNode) {
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

TEST_P(OplogApplierTest, ALogThatGoesBackEndsTheNode) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  const auto member = follow();
  member->applyAll(log());
  member->push({log()[1]});
  member->settle();
  ASSERT_THAT(member->failures, SizeIs(1));
  EXPECT_EQ(member->failures.front().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(member->logged(), log());
}

TEST_P(OplogApplierTest, AnEntryThatCannotBeReadEndsTheNode) {
  const auto member = follow();
  member->push({doc("ts", bson::Timestamp{5, 1}, "t", int64_t{1}, "op", "x")});
  member->settle();
  ASSERT_THAT(member->failures, SizeIs(1));
  EXPECT_EQ(member->failures.front().code(), ErrorCode::kFailedToParse);
}

TEST_P(OplogApplierTest, ADelayedMemberAppliesLaterButNotWhenItIsToLead) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  auto entries = log();
  const auto member = std::make_unique<Follower>();
  ASSERT_TRUE(member->data.make(*current()));
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(member->time->wallNow().time_since_epoch());
  for (bson::Document& each : entries) {  // the primary wrote them just now
    storage::OplogEntry entry = *storage::OplogEntry::parse(each);
    entry.wall = {wall.count()};
    each = entry.toDocument();
  }
  member->delay = [] { return 1h; };
  member->startApplier();
  member->push({entries[0]});
  member->node->advance(59min);
  EXPECT_THAT(member->ends, IsEmpty());
  EXPECT_EQ(phaseOf(*member), "delaying");
  member->node->advance(61s);
  EXPECT_THAT(member->ends, SizeIs(1));
  storage::OplogEntry late = *storage::OplogEntry::parse(entries[1]);
  late.wall.millis += 2 * 3600 * 1000;
  member->push({late.toDocument()});
  member->settle();
  EXPECT_THAT(member->ends, SizeIs(1));
  member->buffer.close();
  EXPECT_TRUE(member->ask(DrainBuffer{})->isDone());
  EXPECT_THAT(member->ends, SizeIs(2));
}

/// An update of a document of test.c that is not committed, over which no other is written. Ends with its life.
class OpenUpdate {
 public:
  OpenUpdate(Follower& member, int id)
      : operation_({.sessions = *member.data.pool}, storage::OperationOrigin::kApplier) {
    operation_.setWriteMode(storage::WriteMode::kApplied);
    operation_.setAppliedTime({2000, 1});
    work_.emplace(operation_.recoveryUnit());
    const bson::Value key(id);
    const auto collection = member.data.current();
    const auto at = collection->findById(operation_.recoveryUnit(), key.element());
    EXPECT_TRUE(collection->update(operation_.recoveryUnit(), **at, doc("_id", id), doc("_id", id, "b", 1)).isOK());
  }

 private:
  storage::OperationContext operation_;
  std::optional<storage::WriteUnitOfWork> work_;
};

TEST_P(OplogApplierTest, AConflictIsWaitedOut) {
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

TEST_P(OplogApplierTest, AStopEndsTheBatchAndTheNextLifeGoesOnWithWhatWasTaken) {
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

TEST_P(OplogApplierTest, ABatchThatWaitsForItsLocksHasWrittenNothingAndMayBeBegunAnew) {
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

TEST_P(OplogApplierTest, AnEndInTheMiddleOfABatchEndsTheNode) {
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
TEST_P(OplogApplierTest, TheGlobalLockIsGrantedBetweenBatches) {
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

TEST_P(OplogApplierTest, ItShowsWhatItHasDone) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  const auto member = follow();
  member->applyAll(log());
  const auto details = member->node->wait(member->node->inspect(kOplogApplierPath, 1s));
  ASSERT_TRUE(details);
  EXPECT_EQ(details->state["applied"].asTimestamp(), opTimeOf(log().back()).timestamp);
  EXPECT_EQ(details->state["batches"].toInt64(), 1);
  EXPECT_EQ(details->state["entries"].toInt64(), 3);
  EXPECT_GT(details->state["bytes"].toInt64(), 100);
  EXPECT_EQ(details->state["bufferedEntries"].toInt64(), 0);
  EXPECT_TRUE(details->state["lagMillis"].ok());
  EXPECT_EQ(member->figures().applied, opTimeOf(log().back()));
}

TROUPE_ON_BOTH_ENGINES(OplogApplierTest);
TROUPE_ON_BOTH_ENGINES(CounterPairTest);

}  // namespace troupe::replication
