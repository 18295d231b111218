#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace troupe::storage {

/// Announces that prepared transactions of one engine were committed or rolled back, so that an operation that failed
/// with PreparedTransactionInProgress can be retried. Waiting is by callback, no thread waits. An operation reads
/// `generation` before it touches data; after the conflict `whenPast` misses no decision made since. Any thread.
class PreparedDecisions {
 public:
  using Callback = std::function<void()>;
  using WaiterId = uint64_t;

  /// Number of decisions so far.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Calls `resume` once after a decision later than generation `seen`: at once on this thread when there was one, else
  /// on the thread that decides. It must not block nor throw. Zero when it was called already.
  WaiterId whenPast(uint64_t seen, Callback resume);
  /// Removes a waiter; false when its callback has been, or is being, called.
  bool withdraw(WaiterId waiter);
  size_t waiters() const;

  /// A prepared transaction was decided, or the engine closes: calls all waiters.
  void announce();

 private:
  mutable std::mutex mutex_;
  std::atomic<uint64_t> generation_{0};  ///< changed under the mutex
  WaiterId nextWaiter_ = 1;
  std::map<WaiterId, Callback> waiters_;
};

}  // namespace troupe::storage
