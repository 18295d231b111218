#pragma once
#include <cstdint>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Evidence about a transaction that the engine has rolled back, or a write that has given up waiting for room in the
/// cache. The engine gives no reason of its own for a rollback, so it is concluded from the state of the cache. Bytes.
struct RollbackEvidence {
  bool waitedInVain = false;     ///< the cache is the reason, even if its figures look well by now
  int64_t transactionBytes = 0;  ///< written by this transaction
  int64_t cacheMax = 0;
  int64_t cacheInUse = 0;
  int64_t cacheDirty = 0;
};

/// Share of the cache that may hold what is not written yet; above it the engine writes pages on its own.
inline constexpr int kDirtyTargetPercent = 5;
/// Shares of the cache from which on the engine makes writers help with eviction, and rolls back when that is not
/// enough.
inline constexpr int kDirtyTriggerPercent = 20;
inline constexpr int kInUseTriggerPercent = 95;

/// TransactionTooLargeForCache when the cache is over a trigger and the transaction holds more than `tooLargeThreshold`
/// of its dirty bytes (STX-009; 1.0 never), TemporarilyUnavailable when it is over a trigger (STX-007), else
/// WriteConflict.
Status classifyRollback(const RollbackEvidence& evidence, double tooLargeThreshold);

}  // namespace troupe::storage
