#include "actors/replication/oplog_applier.hpp"

#include <map>
#include <numeric>
#include <set>

#include "actors/storage/storage_waits.hpp"
#include "storage/oplog/oplog_replay.hpp"
#include "test/unit/actors/replication/applier_fixture.hpp"

namespace troupe::replication {

using namespace std::chrono_literals;
using bson::doc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

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

// REP-054: the lock that each read takes (tryLockForReading) is to be had at once at every step.
TEST_P(CounterPairTest, AReaderGetsItsLockInTheMiddleOfABatch) {
  const auto member = follow({.limits = {.maxEntries = 6}, .unit = {.maxEntries = 1}});
  int inside = 0;
  member->push(log());
  while (member->node->step()) {
    if (member->locks.inUse() > 0) ++inside;
    storage::OperationContext reader(member->services());
    storage::HeldLock lock(reader, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
    ASSERT_TRUE(tryAcquireLock(reader, lock)) << "after " << inside << " steps with locks of a batch";
  }
  EXPECT_GT(inside, kRounds) << "the test looked into batches";
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

TEST_P(OplogApplierTest, ItCountsEntriesByTheirKind) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  update(1, "a", 1);
  update(2, "a", 1);
  make("test.d", {});
  const auto member = follow();
  member->applyAll(log());
  const auto figures = member->figures();
  EXPECT_EQ(figures.inserts, 3);
  EXPECT_EQ(figures.updates, 2);
  EXPECT_EQ(figures.removes, 0);
  EXPECT_EQ(figures.commands, 1);
}

TEST_P(OplogApplierTest, ItTellsOfEachUnitOfWork) {
  ASSERT_TRUE(insertAll({1, 2, 3, 4, 5}).isOK());
  make("test.d", {});
  const auto member = follow({.unit = {.maxEntries = 2}});
  member->applyAll(log());
  std::map<std::string, size_t> entries;
  for (const auto& [ns, count] : member->units) entries[ns] += count;
  EXPECT_THAT(entries, ElementsAre(Pair("test.$cmd", 1u), Pair("test.c", 5u)));
  EXPECT_THAT(member->units, SizeIs(4)) << "three of the collection, and the command alone";
}

// `buildIndexes: false`
TEST_P(OplogApplierTest, AMemberThatBuildsNoIndexesScansForNone) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  ASSERT_TRUE(buildIndex("test.c", bson::doc("key", bson::doc("a", 1), "name", "a_1")).isOK());
  update(1, "a", 5);
  const auto member = follow();
  member->data.catalog->setBuildsIndexes(false);
  member->applyAll(log());
  EXPECT_THAT(member->failures, IsEmpty());
  EXPECT_THAT(member->scanned, IsEmpty());
  EXPECT_EQ(member->ends.back(), opTimeOf(log().back()));
  EXPECT_EQ(member->data.contents(), storage::NodeContents(*catalog, *pool, storage::ShownIndexes::kOfIdsAlone));
}

TROUPE_ON_BOTH_ENGINES(OplogApplierTest);
TROUPE_ON_BOTH_ENGINES(CounterPairTest);

}  // namespace troupe::replication
