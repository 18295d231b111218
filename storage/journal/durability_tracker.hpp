#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The place of a commit in the order in which commits become durable; 0 is before all.
using DurabilityTicket = uint64_t;

/// Bookkeeping of group commit (JRN-002, JRN-003): writers commit without a sync and take a ticket; who needs the write
/// on disk waits for its ticket; one flusher makes everything committed before `beginFlush` durable with a single flush
/// and completes all those waiters. Without a journal the flush is a checkpoint (JRN-004): see FlushKind. Does no I/O
/// and reads no clock. Any thread; taking a ticket is one atomic add.
///   writer:  commit; auto ticket = tracker.take(); tracker.wait(ticket, callback);
///   flusher: tracker.beginFlush(); status = engine.flushLog(); tracker.endFlush(status, duration);
class DurabilityTracker {
 public:
  /// Called once, outside the tracker's lock, on the flusher's thread, or on the waiter's when its ticket is already
  /// durable.
  using Callback = std::function<void(const Status&)>;

  /// To be called after the engine's commit has returned.
  DurabilityTicket take() { return taken_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  DurabilityTicket taken() const { return taken_.load(std::memory_order_acquire); }
  DurabilityTicket durable() const { return durable_.load(std::memory_order_acquire); }
  bool isDurable(DurabilityTicket ticket) const { return ticket <= durable(); }

  /// Completes `done` once the ticket is durable, or with the failure of the flush that was to make it so. True when
  /// the caller has to wake the flusher: no flush covers the ticket, and nobody was told so since the last beginFlush.
  bool wait(DurabilityTicket ticket, Callback done);
  /// Commits have to be durable soon, and more of them are on their way: the next `claimWake` is to wake the flusher.
  void expectFlush() { isExpected_.store(true); }
  /// Whether a flush is expected and nobody was told to wake the flusher since the last one began: the caller has to.
  bool claimWake();
  /// Somebody was told to wake the flusher, which has begun no flush since.
  bool isWakeRequested() const;
  /// Whether there is anything not yet durable, or somebody waiting.
  bool hasWork() const;
  size_t waiters() const;

  /// Begins a flush that covers every ticket taken so far, and returns the last of them. One flush at a time
  /// (throws std::logic_error otherwise).
  DurabilityTicket beginFlush();
  /// Ends it: completes the waiters up to what beginFlush returned. After a failure they get it, and nothing became
  /// durable.
  void endFlush(const Status& outcome, std::chrono::microseconds duration);
  /// Completes all waiters with `reason`, as at shutdown; later waiters get it too.
  void close(Status reason);

  /// Upper bounds of the histogram's buckets in microseconds; the last bucket has none.
  static constexpr std::array<int64_t, 9> kDurationBounds{100, 250, 500, 1000, 2500, 5000, 10000, 50000, 250000};
  struct Statistics {
    int64_t flushes = 0;
    int64_t failedFlushes = 0;
    int64_t waitersCompleted = 0;
    int64_t largestGroup = 0;    ///< most waiters completed by one flush
    int64_t commitsFlushed = 0;  ///< tickets made durable
    int64_t totalMicros = 0;
    std::array<int64_t, kDurationBounds.size() + 1> durations{};
  };
  Statistics statistics() const;

 private:
  // Each writer adds to the first; what changes with every waiter stays off its cache line.
  alignas(64) std::atomic<DurabilityTicket> taken_{0};
  alignas(64) std::atomic<DurabilityTicket> durable_{0};
  mutable std::mutex mutex_;
  std::vector<Callback> covered_;  ///< by the flush under way
  std::vector<Callback> waiting_;  ///< for the next: all their tickets are taken when it begins
  bool flushing_ = false;
  DurabilityTicket flushUpTo_ = 0;
  bool wakeRequested_ = false;  ///< somebody was told to wake the flusher, which has not begun since
  std::atomic<bool> isExpected_{false};
  bool closed_ = false;
  Status closeReason_;
  Statistics statistics_;
};

/// The mechanism that makes commits durable: the log where there is one, else a checkpoint (JRN-004).
enum class FlushKind { kLog, kCheckpoint };
inline FlushKind flushKind(bool journalEnabled) { return journalEnabled ? FlushKind::kLog : FlushKind::kCheckpoint; }

}  // namespace troupe::storage
