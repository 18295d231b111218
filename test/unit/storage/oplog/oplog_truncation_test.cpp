// TRN: the oplog loses its oldest entries, a marker at a time.
#include "test/unit/storage/oplog/oplog_fixture.hpp"

namespace troupe::storage {
namespace {

/// A limit of 100 kB makes markers of 10 kB: ten entries of a little over 1000 bytes.
class OplogTruncation : public OplogFixture {
 protected:
  void fill(uint32_t from, uint32_t to) {
    for (uint32_t i = from; i <= to; ++i) writeVisibly({i}, 1000);
  }
  bool truncate(std::optional<bson::Timestamp> pin = {}, int64_t nowMillis = 1'000'000'000) {
    RecoveryUnit unit(*pool_);
    auto went = oplog_->truncateOldest(unit, nowMillis, pin);
    EXPECT_TRUE(went.isOK()) << went.status().toString();
    return *went;
  }
  int truncateAll(std::optional<bson::Timestamp> pin = {}, int64_t nowMillis = 1'000'000'000) {
    int count = 0;
    while (truncate(pin, nowMillis)) ++count;
    return count;
  }
  uint32_t oldest() {
    RecoveryUnit unit(*pool_);
    return (*oplog_->oldest(unit))->seconds;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, OplogTruncation, engineKinds(), engineKindName);

// TRN-001, TRN-005
TEST_P(OplogTruncation, GoesByMarkersOnceTheLimitIsPassed) {
  fill(1, 90);
  EXPECT_EQ(oplog_->markers().size(), 9U);
  const bson::Document shown = oplog_->markers().describe();
  EXPECT_EQ(shown["count"].toInt64(), 9);
  EXPECT_EQ(shown.view().at("first.last").asTimestamp(), time(10));
  EXPECT_EQ(shown.view().at("last.last").asTimestamp(), time(90));
  EXPECT_FALSE(truncate());
  fill(91, 130);
  EXPECT_GT(oplog_->bytes(), limits_.maxBytes);
  EXPECT_TRUE(truncate());
  EXPECT_EQ(oldest(), 11U) << "the first marker as a whole";
  truncateAll();
  EXPECT_LE(oplog_->bytes(), limits_.maxBytes);
  EXPECT_GT(oplog_->bytes(), limits_.maxBytes - 2 * oplog_->markers().markerBytes());
  RecoveryUnit unit(*pool_);
  auto cursor = oplog_->cursor(unit);
  int64_t records = 0, bytes = 0;
  while (*cursor->next()) {
    ++records;
    bytes += cursor->entry().size();
  }
  EXPECT_EQ(oplog_->records(), records);
  EXPECT_EQ(oplog_->bytes(), bytes);
}

// TRN-006
TEST_P(OplogTruncation, KeepsWhatIsPinned) {
  fill(1, 150);
  EXPECT_EQ(truncateAll(time(10)), 0) << "the first marker ends with the pinned entry";
  EXPECT_EQ(truncateAll(time(11)), 1);
  EXPECT_EQ(oldest(), 11U);
  EXPECT_EQ(truncateAll(time(25)), 1);
  EXPECT_EQ(oldest(), 21U);
  EXPECT_GT(truncateAll(), 0);
}

// TRN-007
TEST_P(OplogTruncation, KeepsEntriesForTheLeastRetention) {
  fill(1, 150);
  oplog_->markers().setLimits({.maxBytes = limits_.maxBytes, .minRetentionMillis = 60'000});
  EXPECT_EQ(truncateAll({}, 10'000 + 59'999), 0);
  EXPECT_EQ(truncateAll({}, 10'000 + 60'000), 1);
  EXPECT_EQ(truncateAll({}, 30'000 + 60'000), 2);
  EXPECT_EQ(oldest(), 31U);
}

TEST_P(OplogTruncation, AReaderThatIsOvertakenIsTold) {
  fill(1, 30);
  RecoveryUnit unit(*pool_);
  auto cursor = oplog_->cursor(unit);
  ASSERT_TRUE(*cursor->next());
  cursor->save();
  unit.abandonSnapshot();
  fill(31, 150);
  EXPECT_GT(truncateAll(), 0);
  EXPECT_EQ(cursor->restore(unit).code(), ErrorCode::kCappedPositionLost);
}

TEST_P(OplogTruncation, AnOpenReaderKeepsItsSnapshot) {
  fill(1, 120);
  RecoveryUnit unit(*pool_);
  auto cursor = oplog_->cursor(unit);
  ASSERT_TRUE(*cursor->next());
  EXPECT_GT(truncateAll(), 0);
  ASSERT_TRUE(*cursor->next());
  EXPECT_EQ(cursor->time(), time(2));
}

TEST_P(OplogTruncation, EntriesCommittedOutOfOrderGoWithTheirRange) {
  auto late = begin({5}, 1000);
  for (uint32_t i = 1; i <= 150; ++i) {
    if (i != 5) ASSERT_TRUE(write({i}, 1000).isOK());
  }
  ASSERT_TRUE(late->work.commit().isOK());
  oplog_->visibility().advance(time(150));
  EXPECT_GT(truncateAll(), 3);
  EXPECT_GT(oldest(), 30U);
  EXPECT_EQ(oplog_->markers().size() > 0, true);
}

// TRN-004
TEST_P(OplogTruncation, MarkersComeBackAfterAStartWithoutHoldingItUp) {
  fill(1, 85);
  const int64_t records = oplog_->records(), bytes = oplog_->bytes();
  crash();
  EXPECT_EQ(oplog_->records(), 0) << "not known yet";
  RecoveryUnit unit(*pool_);
  int steps = 0;
  fill(86, 90);  // beside the scan
  for (auto done = oplog_->scan(unit, 20);; done = oplog_->scan(unit, 20)) {
    ASSERT_TRUE(done.isOK());
    unit.abandonSnapshot();
    ++steps;
    if (*done) break;
  }
  EXPECT_EQ(steps, 5);
  EXPECT_EQ(oplog_->records(), records + 5);
  EXPECT_EQ(oplog_->bytes(), bytes + 5 * entry(86, 1000).view().size());
  EXPECT_EQ(oplog_->markers().size(), 8U);
  fill(91, 130);
  EXPECT_GT(truncateAll(), 0);
  EXPECT_EQ(oldest() % 10, 1U);
  EXPECT_LE(oplog_->bytes(), limits_.maxBytes);
}

TEST_P(OplogTruncation, SurvivesACrashAndGoesOnFromThere) {
  fill(1, 150);
  EXPECT_GT(truncateAll(), 0);
  const uint32_t first = oldest();
  crash();
  EXPECT_EQ(oldest(), first);
}

}  // namespace
}  // namespace troupe::storage
