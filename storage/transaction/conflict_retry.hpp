#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "messaging/errors/status.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

/// Counters of `serverStatus.metrics.operation`; shared by all operations of a node. Any thread.
struct ConflictCounters {
  std::atomic<int64_t> writeConflicts{0};
  std::atomic<int64_t> temporarilyUnavailableErrors{0};
  std::atomic<int64_t> temporarilyUnavailableErrorsEscaped{0};
  std::atomic<int64_t> transactionTooLargeForCacheErrors{0};
};

struct ConflictRetryOptions {
  int immediateRetries = 4;                    ///< of a write conflict, before any wait
  int maxWriteConflictRetries = 1000;          ///< then the conflict is the operation's error
  std::chrono::milliseconds conflictDelay{1};  ///< doubled with each further retry
  std::chrono::milliseconds maxConflictDelay{100};
  bool temporarilyUnavailable = true;  ///< enableTemporarilyUnavailableExceptions; else as a conflict
  int temporarilyUnavailableMaxRetries = 10;
  std::chrono::milliseconds temporarilyUnavailableBackoffBase{1000};  ///< times the number of the retry
};

/// The error which a multi-document transaction shows for a storage error: cache pressure is a conflict there, for the
/// client to retry (STX-008).
Status inTransactionError(Status status);
/// The error which an oplog applier acts on: everything is to be retried (STX-010).
Status onSecondaryError(Status status);

/// Decides for one operation whether and when to run its body again after a storage conflict (STX-006, STX-007): pure,
/// without clock, so that actors wait by message and the simulator in virtual time. Not shared between operations.
class ConflictRetry {
 public:
  /// `ofOperation`: the operation's count of conflicts, to which this one's are added; outlives this. Null: none.
  explicit ConflictRetry(const ConflictRetryOptions& options = {}, ConflictCounters* counters = nullptr,
                         int64_t* ofOperation = nullptr)
      : options_(options), counters_(counters), ofOperation_(ofOperation) {}

  /// The delay before the next attempt (zero: at once), or nothing when `status` is final: it is no conflict, or the
  /// retries are used up.
  std::optional<std::chrono::milliseconds> next(const Status& status);
  /// Attempts that failed so far.
  int conflicts() const { return conflicts_; }
  int temporarilyUnavailable() const { return unavailable_; }
  /// The answer of the last `next`.
  std::optional<std::chrono::milliseconds> pendingDelay() const { return pending_; }

 private:
  std::optional<std::chrono::milliseconds> decide(const Status& status);

  ConflictRetryOptions options_;
  ConflictCounters* counters_;
  int64_t* ofOperation_;
  int conflicts_ = 0;
  int unavailable_ = 0;
  std::optional<std::chrono::milliseconds> pending_;
};

namespace detail {
inline const Status& statusOf(const Status& status) { return status; }
template <class T>
const Status& statusOf(const StatusWith<T>& with) {
  return with.status();
}
}  // namespace detail

/// Runs `body` (which returns a Status or StatusWith) until it succeeds, fails for good, or has to wait: then the
/// conflict is returned and `retry.pendingDelay()` says how long to wait before calling again. Never sleeps. The
/// snapshot is abandoned before each further attempt; within a unit of work there is none (the unit is lost anyway).
template <class Body>
auto writeConflictRetry(ConflictRetry& retry, RecoveryUnit& unit, Body&& body) {
  for (;;) {
    auto result = body();
    const Status& status = detail::statusOf(result);
    if (status.isOK() || unit.inUnitOfWork()) return result;
    auto delay = retry.next(status);
    if (delay) unit.abandonSnapshot();
    if (!delay || delay->count() > 0) return result;
  }
}

}  // namespace troupe::storage
