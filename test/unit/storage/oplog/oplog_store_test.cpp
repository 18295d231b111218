#include "test/unit/storage/oplog/oplog_fixture.hpp"

namespace troupe::storage {
namespace {

using OplogStoreTest = OplogFixture;
INSTANTIATE_TEST_SUITE_P(Engines, OplogStoreTest, engineKinds(), engineKindName);

TEST_P(OplogStoreTest, HoldsEntriesInTheOrderOfTheirTimes) {
  ASSERT_TRUE(write({5, 3}).isOK());
  ASSERT_TRUE(write({1, 256, 70'000}).isOK());
  oplog_->visibility().advance(time(100'000));
  EXPECT_EQ(walk(), "1 3 5 256 70000");
  EXPECT_EQ(walk(false), "70000 256 5 3 1");
  EXPECT_EQ(write({3}).code(), ErrorCode::kDuplicateKey);
  EXPECT_EQ(oplog_->records(), 5);
}

// TRN-008
TEST_P(OplogStoreTest, ForwardReadersStopAtTheFirstHole) {
  writeVisibly({1, 2});
  auto slow = begin({3});
  ASSERT_TRUE(write({4, 5}).isOK());
  // The reserver of times knows that 3 is open.
  EXPECT_EQ(walk(), "1 2");
  EXPECT_EQ(walk(false), "5 4 2 1") << "TRN-009: backward walks ignore it";
  ASSERT_TRUE(slow->work.commit().isOK());
  oplog_->visibility().advance(time(5));
  EXPECT_EQ(walk(), "1 2 3 4 5");
}

TEST_P(OplogStoreTest, AReaderPassesOverNothingThatIsCommittedWhileItReads) {
  writeVisibly({1});
  auto slow = begin({2});
  ASSERT_TRUE(write({3}).isOK());
  RecoveryUnit unit(*pool_);
  auto cursor = oplog_->cursor(unit);
  ASSERT_TRUE(*cursor->next());
  // The hole is filled after the snapshot was taken: the reader must not see 3 before 2.
  ASSERT_TRUE(slow->work.commit().isOK());
  oplog_->visibility().advance(time(3));
  EXPECT_FALSE(*cursor->next());
  cursor->save();
  unit.abandonSnapshot();
  ASSERT_TRUE(cursor->restore(unit).isOK());
  EXPECT_EQ(rest(*cursor), "2 3");
}

TEST_P(OplogStoreTest, AForwardWalkEndsAtThePointBeforeItsSnapshotWheneverItBegins) {
  writeVisibly({1});
  auto slow = begin({2});
  ASSERT_TRUE(write({3}).isOK());
  RecoveryUnit unit(*pool_);
  ASSERT_TRUE(unit.begin().isOK());
  ASSERT_TRUE(slow->work.commit().isOK());
  oplog_->visibility().advance(time(3));
  auto late = oplog_->cursor(unit);
  EXPECT_EQ(rest(*late), "1") << "this snapshot has 3 and not 2";
  EXPECT_EQ(late->restore(unit).code(), ErrorCode::kIllegalOperation);
  auto backward = oplog_->cursor(unit, false);
  EXPECT_EQ(rest(*backward), "3 1");
}

/// Entries without commit times, as those that a member has fetched.
TEST_P(OplogStoreTest, AReadAtAChosenTimeEndsThereInBothDirections) {
  writeVisibly({1, 2, 3, 4});
  for (const bool forward : {true, false}) {
    SCOPED_TRACE(forward);
    RecoveryUnit unit(*pool_);
    ASSERT_TRUE(unit.setReadSource(ReadSource::kProvided, time(2)).isOK());
    auto cursor = oplog_->cursor(unit, forward);
    ASSERT_TRUE(cursor.isOK());
    EXPECT_EQ(rest(*cursor), forward ? "1 2" : "2 1");
    auto sought = oplog_->cursor(unit, forward);
    EXPECT_EQ(*sought->seek(time(3)), !forward) << "nothing follows, but something goes before";
    if (!forward) EXPECT_EQ(sought->time(), time(2));
    sought->save();
    unit.abandonSnapshot();
    ASSERT_TRUE(unit.setReadSource(ReadSource::kProvided, time(3)).isOK());
    ASSERT_TRUE(sought->restore(unit).isOK());
    EXPECT_EQ(rest(*sought), forward ? "3" : "1") << "in a later snapshot it goes on";
  }
}

TEST_P(OplogStoreTest, TailsWakeWithTheVisibilityPoint) {
  writeVisibly({1});
  RecoveryUnit unit(*pool_);
  auto cursor = oplog_->cursor(unit);
  EXPECT_EQ(rest(*cursor), "1");
  cursor->save();
  unit.abandonSnapshot();
  std::string tailed;
  oplog_->visibility().whenPast(time(1), [&] {
    ASSERT_TRUE(cursor->restore(unit).isOK());
    tailed = rest(*cursor);
  });
  ASSERT_TRUE(write({2, 3}).isOK());
  EXPECT_EQ(tailed, "");
  oplog_->visibility().advance(time(2));
  EXPECT_EQ(tailed, "2");
}

TEST_P(OplogStoreTest, SeeksByTime) {
  writeVisibly({10, 20, 30});
  ASSERT_TRUE(write({40}).isOK());
  const auto at = [&](uint32_t seconds, bool forward) -> int64_t {
    RecoveryUnit unit(*pool_);
    auto cursor = oplog_->cursor(unit, forward);
    return *cursor->seek(time(seconds)) ? int64_t{cursor->time().seconds} : -1;
  };
  EXPECT_EQ(at(20, true), 20);
  EXPECT_EQ(at(21, true), 30);
  EXPECT_EQ(at(31, true), -1) << "40 is not visible";
  EXPECT_EQ(at(19, false), 10);
  EXPECT_EQ(at(99, false), 40);
  EXPECT_EQ(at(9, false), -1);
  RecoveryUnit unit(*pool_);
  {
    // The entry may become visible later.
    auto tail = oplog_->cursor(unit);
    EXPECT_FALSE(*tail->seek(time(31)));
    EXPECT_FALSE(*tail->next());
    tail->save();
    unit.abandonSnapshot();
    oplog_->visibility().advance(time(40));
    ASSERT_TRUE(tail->restore(unit).isOK());
    EXPECT_EQ(rest(*tail), "40");
  }
  EXPECT_EQ(**oplog_->newest(unit), time(40));
  EXPECT_EQ(**oplog_->oldest(unit), time(10));
}

TEST_P(OplogStoreTest, WhatIsRolledBackCountsNothing) {
  {
    auto writer = begin({1, 2}, 500);
    ASSERT_TRUE(writer->status.isOK());
  }
  EXPECT_EQ(oplog_->records(), 0);
  EXPECT_EQ(oplog_->bytes(), 0);
  writeVisibly({3}, 500);
  EXPECT_EQ(oplog_->records(), 1);
  EXPECT_EQ(oplog_->bytes(), entry(3, 500).view().size());
}

TEST_P(OplogStoreTest, ACrashKeepsWhatWasFlushedAndShowsAllOfIt) {
  ASSERT_TRUE(write({1, 3}).isOK());
  crash();
  EXPECT_EQ(oplog_->visibility().get(), time(3));
  EXPECT_EQ(walk(), "1 3");
}

// TRN-010
TEST_P(OplogStoreTest, IsCutBehindAPoint) {
  writeVisibly({1, 2, 3, 4}, 100);
  const int64_t each = oplog_->bytes() / 4;
  RecoveryUnit unit(*pool_);
  ASSERT_TRUE(oplog_->cutAfter(unit, time(2)).isOK());
  EXPECT_EQ(walk(), "1 2");
  EXPECT_EQ(walk(false), "2 1");
  EXPECT_EQ(oplog_->records(), 2);
  EXPECT_EQ(oplog_->bytes(), 2 * each);
  EXPECT_EQ(oplog_->visibility().get(), time(2));
  writeVisibly({3}, 100);
  EXPECT_EQ(walk(), "1 2 3");
}

}  // namespace
}  // namespace troupe::storage
