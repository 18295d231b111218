#include "storage/transaction/conflict_retry.hpp"

#include <algorithm>

namespace troupe::storage {
namespace {

Status writeConflict(const Status& cause) { return {ErrorCode::kWriteConflict, cause.reason()}; }

}  // namespace

Status inTransactionError(Status status) {
  return status == ErrorCode::kTemporarilyUnavailable ? writeConflict(status) : status;
}

Status onSecondaryError(Status status) {
  return status == ErrorCode::kTemporarilyUnavailable || status == ErrorCode::kTransactionTooLargeForCache
             ? writeConflict(status)
             : status;
}

std::optional<std::chrono::milliseconds> ConflictRetry::next(const Status& status) { return pending_ = decide(status); }

std::optional<std::chrono::milliseconds> ConflictRetry::decide(const Status& status) {
  using std::chrono::milliseconds;
  const auto count = [&](std::atomic<int64_t> ConflictCounters::*counter) {
    if (counters_) (counters_->*counter).fetch_add(1, std::memory_order_relaxed);
  };
  if (status == ErrorCode::kTransactionTooLargeForCache) {
    count(&ConflictCounters::transactionTooLargeForCacheErrors);
    return std::nullopt;
  }
  if (status == ErrorCode::kTemporarilyUnavailable && options_.temporarilyUnavailable) {
    count(&ConflictCounters::temporarilyUnavailableErrors);
    if (++unavailable_ > options_.temporarilyUnavailableMaxRetries) {
      count(&ConflictCounters::temporarilyUnavailableErrorsEscaped);
      return std::nullopt;
    }
    return options_.temporarilyUnavailableBackoffBase * unavailable_;
  }
  if (!(status == ErrorCode::kWriteConflict) && !(status == ErrorCode::kTemporarilyUnavailable)) return std::nullopt;
  count(&ConflictCounters::writeConflicts);
  if (ofOperation_) ++*ofOperation_;
  if (++conflicts_ > options_.maxWriteConflictRetries) return std::nullopt;
  if (conflicts_ <= options_.immediateRetries) return milliseconds::zero();
  const int doublings = std::min(conflicts_ - options_.immediateRetries - 1, 20);
  return std::min(options_.conflictDelay * (int64_t{1} << doublings), options_.maxConflictDelay);
}

}  // namespace troupe::storage
