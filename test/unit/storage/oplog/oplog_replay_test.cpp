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
  StatusWith<Replayed> replay() {
    operation.reset();
    auto done = replayOplog(*catalog, *store, {.sessions = *pool}, harness->engine().recoveryTimestamp());
    begin();
    return done;
  }
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

// Its first entry may be later than the recovery time: older ones have been truncated, or there was no checkpoint.
TEST_P(OplogReplayTest, ItBeginsWithTheFirstEntryThatIsThere) {
  ASSERT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "d"}, {}).status(); }).isOK());
  ASSERT_TRUE(insertOne(1, "test.d").isOK());
  crashAndOpen();
  ASSERT_EQ(current("test.d"), nullptr);
  operation.reset();
  const auto done = replayOplog(*catalog, *store, {.sessions = *pool}, {1, 1});
  begin();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(done->entries, 2);
  EXPECT_THAT(ids("test.d"), ElementsAre(1));
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
  int told = 0;
  operation.reset();
  const auto done = replayOplog(*catalog, *store, {.sessions = *pool}, harness->engine().recoveryTimestamp(),
                                [&](const Replayed&) { ++told; });
  begin();
  ASSERT_TRUE(done.isOK()) << done.status().toString();
  EXPECT_EQ(told, 3);
  EXPECT_EQ(ids().size(), 2501u);
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
