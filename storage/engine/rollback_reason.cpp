#include "storage/engine/rollback_reason.hpp"

namespace troupe::storage {

Status classifyRollback(const RollbackEvidence& evidence, double tooLargeThreshold) {
  const bool pressure =
      evidence.waitedInVain ||
      (evidence.cacheMax > 0 && (evidence.cacheDirty * 100 >= evidence.cacheMax * kDirtyTriggerPercent ||
                                 evidence.cacheInUse * 100 >= evidence.cacheMax * kInUseTriggerPercent));
  if (!pressure) {
    return {
        ErrorCode::kWriteConflict,
        "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation "
        "or multi-document transaction."};
  }
  const double share = static_cast<double>(evidence.transactionBytes);
  if (tooLargeThreshold < 1.0 && evidence.transactionBytes > 0 &&
      share > tooLargeThreshold * static_cast<double>(evidence.cacheDirty)) {
    return {
        ErrorCode::kTransactionTooLargeForCache,
        "transaction is too large and will not fit in the storage engine cache; make it smaller or the cache larger"};
  }
  return {ErrorCode::kTemporarilyUnavailable, "the storage cache is under pressure; retry later"};
}

}  // namespace troupe::storage
