#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

class FlowTickets;

/// One pending request for a flow control ticket. It ends once: granted, or failed by the first who calls `fail`. Any
/// thread.
class FlowWait {
 public:
  using Callback = std::function<void(const Status& outcome)>;
  explicit FlowWait(FlowTickets& tickets) : tickets_(tickets) {}
  /// Ends the wait with `why` (killed, out of time) unless it has ended; the callback gets it. Returns whether it did.
  bool fail(const Status& why);
  /// Ends the wait without its callback. A ticket that was granted meanwhile is spent.
  void giveUp();

 private:
  friend class FlowTickets;
  FlowTickets& tickets_;
  std::chrono::steady_clock::time_point since_;
  // Guarded by the mutex of the tickets.
  bool waiting_ = true;
  std::list<std::shared_ptr<FlowWait>>::iterator place_;
  Callback done_;
};

/// Tickets of flow control: how many acquisitions of the global lock in mode IX begin in a period (LCK-016). `refresh`
/// begins a period with a number of tickets. Tickets that are left over expire. Requests that find none wait for the
/// next period, first come, first served. Tickets are not given back. No thread waits: grants come by callback, without
/// a mutex held. Thread-safe.
class FlowTickets {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  /// From this number on nothing is held back.
  static constexpr int64_t kUnlimited = 1'000'000'000;

  explicit FlowTickets(Clock now) : now_(std::move(now)) {}
  FlowTickets(const FlowTickets&) = delete;
  FlowTickets& operator=(const FlowTickets&) = delete;

  /// A ticket when one is left and nobody waits.
  bool tryTake() { return waiting_.load() == 0 && takeOne(); }
  /// Waits for a ticket that `tryTake` did not give. `done` is called once, unless the wait is given up, possibly
  /// before this returns.
  std::shared_ptr<FlowWait> wait(FlowWait::Callback done);
  /// Begins a period with so many tickets. One caller; unlimited before the first call.
  void refresh(int64_t tickets);

  /// Tickets of the present period.
  int64_t rate() const { return rate_.load(std::memory_order_relaxed); }
  int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  /// Since the start of the node: tickets taken, requests that had to wait, and how long those have waited.
  int64_t acquired() const { return taken_.load(std::memory_order_relaxed); }
  int64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  int64_t waitMicros() const { return waitMicros_.load(std::memory_order_relaxed); }

 private:
  friend class FlowWait;
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

  bool takeOne();
  // Under the mutex.
  void handOut(std::vector<FlowWait::Callback>& granted);
  void remove(FlowWait& wait);

  const Clock now_;
  alignas(64) std::atomic<int64_t> taken_{0};
  std::atomic<int64_t> end_{kNoEnd};  ///< the value of `taken_` at which the period has no ticket left
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> rate_{kUnlimited}, waits_{0}, waitMicros_{0};
  std::mutex mutex_;
  std::list<std::shared_ptr<FlowWait>> queue_;
};

}  // namespace troupe::storage
