#include "storage/oplog/oplog_replay.hpp"

#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OplogReplayTest : public OplogWriterFixture {
 protected:
  /// The log is on the disk, nothing of what came after the last checkpoint is in a table.
  void crashAndOpen() {
    ASSERT_TRUE(harness->engine().flushLog().isOK());
    operation.reset();
    store.reset();
    close();
    harness->crash();
    open();
    openLog();
  }
  void checkpointAt(bson::Timestamp stable) {
    ASSERT_TRUE(catalog->flush().isOK());
    ASSERT_TRUE(harness->engine().setStableTimestamp(stable).isOK());
    ASSERT_TRUE(harness->engine().checkpoint({.stable = true}).isOK());
  }
  StatusWith<Replayed> replay() { return replay(harness->engine().recoveryTimestamp()); }
  StatusWith<Replayed> replay(bson::Timestamp after) {
    operation.reset();
    batches = 0;
    auto done = replayOplog(*catalog, *store, {.sessions = *pool}, after, [&](const Replayed&) { ++batches; });
    begin();
    return done;
  }

  int batches = 0;  ///< of the last replay
};

// REC-007, SRC-007.
TEST_P(OplogReplayTest, ACrashIsMadeUpForFromTheLastCheckpointOn) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  checkpointAt(writes->slots.newest());
  ASSERT_TRUE(insertAll({3, 4, 5}).isOK());
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); }).isOK());
  ASSERT_TRUE(insertOne(9, "test.d").isOK());
  crashAndOpen();
  ASSERT_THAT(ids(), ElementsAre(1, 2)) << "without its log the table holds the checkpoint";
  EXPECT_EQ(current("test.d"), nullptr);
  const auto done = replay();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(done->entries, 5);
  EXPECT_EQ(done->last, writes->visibility.get());
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ids("test.d"), ElementsAre(9));
  EXPECT_EQ(current()->records().count(), 5);
  ASSERT_TRUE(insertOne(6).isOK()) << "times go on behind the log";
  EXPECT_EQ(operations().back(), R"(i{ "_id" : 6 })");
}

TEST_P(OplogReplayTest, WithoutACheckpointItBeginsWithTheFirstEntryThatIsThere) {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); }).isOK());
  ASSERT_TRUE(insertOne(1, "test.d").isOK());
  crashAndOpen();
  ASSERT_EQ(current("test.d"), nullptr);
  const auto done = replay();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(done->entries, 2);
  EXPECT_THAT(ids("test.d"), ElementsAre(1));
}

TEST_P(OplogReplayTest, ALogThatBeginsBehindTheDataIsRefused) {
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  checkpointAt(writes->slots.newest());
  ASSERT_TRUE(insertAll({3}).isOK());
  crashAndOpen();
  const auto done = replay({1, 1});
  EXPECT_EQ(done.status().code(), ErrorCode::kManualInterventionRequired);
  EXPECT_THAT(ids(), ElementsAre(1, 2)) << "nothing was written";
}

// REC-007: a start whose data are of an unknown time replays all of the log over them.
TEST_P(OplogReplayTest, OverLaterDataItEndsWithTheDataOfTheLastEntry) {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); }).isOK());
  ASSERT_TRUE(insertOne(1, "test.d").isOK());
  ASSERT_TRUE(inUnit([&] { return dropCollection(*catalog, rec(), current("test.d")); }).isOK());
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); }).isOK());
  ASSERT_TRUE(insertOne(2, "test.d").isOK());
  ASSERT_TRUE(inUnit([&] {
                return renameCollection(*catalog, rec(), current("test.d"), {"test", "e"}, false).status();
              }).isOK());
  ASSERT_TRUE(insertAll({3, 4}).isOK());
  const auto done = replay(bson::Timestamp());
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(current("test.d"), nullptr);
  EXPECT_THAT(ids("test.e"), ElementsAre(2));
  EXPECT_THAT(ids(), ElementsAre(3, 4));
}

// Counters are written at other times than checkpoints: they say nothing of what is there.
TEST_P(OplogReplayTest, AnIndexOfAnEmptiedCollectionIsMadeWhateverItsCounterSays) {
  ASSERT_TRUE(insertAll({0}).isOK());
  checkpointAt(writes->slots.newest());
  ASSERT_TRUE(insertAll({1, 2}).isOK());
  ASSERT_TRUE(inUnit([&] { return current()->truncate(rec()); }).isOK());
  ASSERT_TRUE(inUnit([&] {
                return createEmptyIndex(*catalog, rec(), current(),
                                        *parseIndexSpec(doc("key", doc("a", 1), "name", "a")))
                    .status();
              }).isOK());
  crashAndOpen();
  current()->records().correctSize(10, 1000);
  const auto done = replay();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_TRUE(current()->findIndex("a"));
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_P(OplogReplayTest, AReplayIsNotLogged) {
  ASSERT_TRUE(insertAll({1}).isOK());
  checkpointAt(writes->slots.newest());
  ASSERT_TRUE(insertAll({2, 3}).isOK());
  const size_t before = log().size();
  crashAndOpen();
  ASSERT_TRUE(replay().isOK());
  EXPECT_EQ(log().size(), before);
}

TEST_P(OplogReplayTest, ASecondCrashBeforeACheckpointIsMadeUpForLikewise) {
  ASSERT_TRUE(insertAll({1}).isOK());
  checkpointAt(writes->slots.newest());
  ASSERT_TRUE(insertAll({2, 3}).isOK());
  for (int crashes = 0; crashes < 2; ++crashes) {
    crashAndOpen();
    ASSERT_TRUE(replay().isOK());
    EXPECT_THAT(ids(), ElementsAre(1, 2, 3));
  }
}

TEST_P(OplogReplayTest, LargeLogsAreReadInBatches) {
  ASSERT_TRUE(insertAll({0}).isOK());
  checkpointAt(writes->slots.newest());
  std::vector<int> wanted;
  for (int i = 1; i <= 2500; ++i) wanted.push_back(i);
  ASSERT_TRUE(insertAll(wanted).isOK());
  crashAndOpen();
  const auto done = replay();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(done->entries, 2500);
  wanted.insert(wanted.begin(), 0);
  EXPECT_EQ(ids(), wanted);
  const auto entries = log();
  for (size_t i = 0; i < entries.size(); i += 250)
    EXPECT_EQ(countAt(entries[i]["ts"].asTimestamp()), static_cast<int64_t>(i) + 1) << "each at its own time";
}

TEST_P(OplogReplayTest, BatchesAreLimitedByTheirBytes) {
  ASSERT_TRUE(insertAll({0}).isOK());
  checkpointAt(writes->slots.newest());
  const std::string large(size_t{1} << 20, 'x');
  for (int i = 1; i <= 20; ++i)
    ASSERT_TRUE(inUnit([&] { return current()->insert(rec(), doc("_id", i, "x", large)).status(); }).isOK());
  crashAndOpen();
  const auto done = replay();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(batches, 3) << "of 8 MiB each";
  EXPECT_EQ(ids().size(), 21u);
}

// Data and log that do not belong together: nothing is made up.
TEST_P(OplogReplayTest, AnEntryThatDoesNotFitEndsIt) {
  ASSERT_TRUE(insertAll({1}).isOK());
  checkpointAt(writes->slots.newest());
  ASSERT_TRUE(insertAll({2}).isOK());
  crashAndOpen();
  operation.reset();
  ASSERT_TRUE(write([&]() -> Status {
                TROUPE_TRY(unit->setCommitTimestamp(writes->visibility.get()));
                return dropCollection(*catalog, *unit, current());
              }).isOK());
  const auto done = replay();
  EXPECT_EQ(done.status().code(), ErrorCode::kNamespaceNotFound);
  EXPECT_THAT(done.status().reason(), ::testing::HasSubstr("the log could not be replayed"));
}

TROUPE_ON_BOTH_ENGINES(OplogReplayTest);

}  // namespace troupe::storage
