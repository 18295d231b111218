#include "storage/engine/rollback_reason.hpp"

#include <gtest/gtest.h>

namespace troupe::storage {
namespace {

RollbackEvidence evidence(int64_t mine, int64_t dirty, int64_t inUse = 50) {
  return {.transactionBytes = mine, .cacheMax = 100, .cacheInUse = inUse, .cacheDirty = dirty};
}

TEST(RollbackReason, WithoutPressureItIsAConflict) {
  EXPECT_EQ(classifyRollback(evidence(19, 19), 0.75).code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(classifyRollback({}, 0.75).code(), ErrorCode::kWriteConflict);
}

TEST(RollbackReason, UnderPressureItIsTemporary) {
  EXPECT_EQ(classifyRollback(evidence(1, 20), 0.75).code(), ErrorCode::kTemporarilyUnavailable);
  EXPECT_EQ(classifyRollback(evidence(1, 5, 95), 0.75).code(), ErrorCode::kTemporarilyUnavailable);
}

TEST(RollbackReason, ATransactionThatHoldsMostOfTheDirtyCacheIsTooLarge) {
  EXPECT_EQ(classifyRollback(evidence(16, 20), 0.75).code(), ErrorCode::kTransactionTooLargeForCache);
  EXPECT_EQ(classifyRollback(evidence(15, 20), 0.75).code(), ErrorCode::kTemporarilyUnavailable);
}

TEST(RollbackReason, AfterWaitingInVainItIsTheCacheWhateverItsFiguresAreByThen) {
  auto waited = evidence(1, 5);
  waited.waitedInVain = true;
  EXPECT_EQ(classifyRollback(waited, 0.75).code(), ErrorCode::kTemporarilyUnavailable);
  waited.transactionBytes = 4;
  EXPECT_EQ(classifyRollback(waited, 0.75).code(), ErrorCode::kTransactionTooLargeForCache);
  waited.transactionBytes = waited.cacheDirty = 0;
  EXPECT_EQ(classifyRollback(waited, 0.75).code(), ErrorCode::kTemporarilyUnavailable) << "a reader holds nothing";
}

TEST(RollbackReason, AThresholdOfOneDisablesTooLarge) {
  EXPECT_EQ(classifyRollback(evidence(40, 20), 1.0).code(), ErrorCode::kTemporarilyUnavailable);
}

}  // namespace
}  // namespace troupe::storage
