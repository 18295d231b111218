#include "storage/transaction/conflict_retry.hpp"

#include <gtest/gtest.h>

#include "storage/engine/deterministic_engine.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

using std::chrono::milliseconds;
const Status kConflict(ErrorCode::kWriteConflict, "conflict");
const Status kPressure(ErrorCode::kTemporarilyUnavailable, "pressure");
const Status kTooLarge(ErrorCode::kTransactionTooLargeForCache, "too large");

TEST(ConflictRetry, RetriesAtOnceThenWaitsTwiceAsLongEachTimeUpToABound) {
  ConflictRetryOptions options;
  options.immediateRetries = 2;
  options.maxWriteConflictRetries = 7;
  options.conflictDelay = milliseconds(1);
  options.maxConflictDelay = milliseconds(5);
  ConflictCounters counters;
  ConflictRetry retry(options, &counters);
  std::vector<int64_t> delays;
  while (auto delay = retry.next(kConflict)) delays.push_back(delay->count());
  EXPECT_EQ(delays, (std::vector<int64_t>{0, 0, 1, 2, 4, 5, 5}));
  EXPECT_EQ(counters.writeConflicts, 8);
}

TEST(ConflictRetry, CachePressureBacksOffLinearlyThenEscapes) {
  ConflictRetryOptions options;
  options.temporarilyUnavailableMaxRetries = 3;
  ConflictCounters counters;
  ConflictRetry retry(options, &counters);
  EXPECT_EQ(retry.next(kPressure), milliseconds(1000));
  EXPECT_EQ(retry.next(kPressure), milliseconds(2000));
  EXPECT_EQ(retry.next(kPressure), milliseconds(3000));
  EXPECT_EQ(retry.next(kPressure), std::nullopt);
  EXPECT_EQ(counters.temporarilyUnavailableErrors, 4);
  EXPECT_EQ(counters.temporarilyUnavailableErrorsEscaped, 1);
}

TEST(ConflictRetry, WithTheParameterOffCachePressureIsAConflict) {
  ConflictRetryOptions options;
  options.temporarilyUnavailable = false;
  ConflictCounters counters;
  ConflictRetry retry(options, &counters);
  EXPECT_EQ(retry.next(kPressure), milliseconds(0));
  EXPECT_EQ(counters.writeConflicts, 1);
  EXPECT_EQ(counters.temporarilyUnavailableErrors, 0);
}

TEST(ConflictRetry, TooLargeAndOtherErrorsAreFinal) {
  ConflictCounters counters;
  ConflictRetry retry({}, &counters);
  EXPECT_EQ(retry.next(kTooLarge), std::nullopt);
  EXPECT_EQ(retry.next({ErrorCode::kDuplicateKey, "no"}), std::nullopt);
  EXPECT_EQ(retry.next(Status::OK()), std::nullopt);
  EXPECT_EQ(counters.transactionTooLargeForCacheErrors, 1);
  EXPECT_EQ(counters.writeConflicts, 0);
}

TEST(ConflictErrors, InATransactionCachePressureIsAConflict) {
  EXPECT_EQ(inTransactionError(kPressure).code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(inTransactionError(kTooLarge).code(), ErrorCode::kTransactionTooLargeForCache);
  EXPECT_TRUE(inTransactionError(Status::OK()).isOK());
}

TEST(ConflictErrors, OnASecondaryEverythingIsToBeRetried) {
  EXPECT_EQ(onSecondaryError(kPressure).code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(onSecondaryError(kTooLarge).code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(onSecondaryError({ErrorCode::kBadValue, ""}).code(), ErrorCode::kBadValue);
}

class WriteConflictRetry : public testing::Test {
 protected:
  WriteConflictRetry() : engine_(DeterministicEngine::open()), pool_(*engine_) {}
  std::unique_ptr<DeterministicEngine> engine_;
  SessionPool pool_;
};

TEST_F(WriteConflictRetry, RunsTheBodyAgainOnANewSnapshot) {
  const Table table = *engine_->createTable("t", {});
  RecoveryUnit unit(pool_);
  ConflictRetry retry;
  int attempts = 0;
  Status status = writeConflictRetry(retry, unit, [&]() -> Status {
    TROUPE_TRY(unit.begin());
    if (++attempts <= 2) {
      RecoveryUnit rival(pool_);
      WriteUnitOfWork work(rival);
      TROUPE_TRY((*rival.cursor(table))->put("k", "rival"));
      TROUPE_TRY(work.commit());
    }
    WriteUnitOfWork work(unit);
    {
      TROUPE_ASSIGN(auto cursor, unit.writeCursor(table));
      TROUPE_TRY(cursor->put("k", "mine"));
    }
    return work.commit();
  });
  EXPECT_TRUE(status.isOK()) << status.toString();
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(retry.conflicts(), 2);
}

TEST_F(WriteConflictRetry, HandsTheWaitToTheCaller) {
  ConflictRetryOptions options;
  options.immediateRetries = 1;
  RecoveryUnit unit(pool_);
  ConflictRetry retry(options);
  int attempts = 0;
  StatusWith<int> result = writeConflictRetry(retry, unit, [&]() -> StatusWith<int> {
    if (++attempts < 4) return kConflict;
    return attempts;
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(result.status().code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(retry.pendingDelay(), milliseconds(1));
}

TEST_F(WriteConflictRetry, WithinAUnitOfWorkThereIsNoRetry) {
  RecoveryUnit unit(pool_);
  WriteUnitOfWork work(unit);
  ConflictRetry retry;
  int attempts = 0;
  Status status = writeConflictRetry(retry, unit, [&] { return ++attempts, kConflict; });
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(status.code(), ErrorCode::kWriteConflict);
}

}  // namespace
}  // namespace troupe::storage
