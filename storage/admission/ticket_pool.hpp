#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/admission/admission_priority.hpp"

namespace troupe::storage {

class TicketPool;

/// One pending request for a ticket. It ends once: granted, or failed by the first who calls `fail`. Any thread.
class TicketWait {
 public:
  using Callback = std::function<void(const Status& outcome)>;
  TicketWait(TicketPool& pool, AdmissionPriority priority) : pool_(pool), priority_(priority) {}
  /// Ends the wait with `why` (killed, out of time) unless it has ended; the callback gets it. Returns whether it did.
  bool fail(const Status& why);
  /// Ends the wait without its callback. Returns true when a ticket was granted meanwhile, which the caller then owns.
  bool giveUp();

 private:
  friend class TicketPool;
  enum class State : uint8_t { kWaiting, kGranted, kFailed };

  TicketPool& pool_;
  const AdmissionPriority priority_;
  std::chrono::steady_clock::time_point since_;
  // Guarded by the pool's mutex.
  State state_ = State::kWaiting;
  std::list<std::shared_ptr<TicketWait>>::iterator place_;
  Callback done_;
};

/// A ticket that is held; goes back to its own pool (LCK-011) at the end of its life. Movable between threads.
class Ticket {
 public:
  Ticket() = default;
  Ticket(TicketPool& pool, AdmissionPriority priority, std::chrono::steady_clock::time_point since)
      : pool_(&pool), priority_(priority), since_(since) {}
  Ticket(Ticket&& other) noexcept { *this = std::move(other); }
  Ticket& operator=(Ticket&& other) noexcept {
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
    priority_ = other.priority_;
    since_ = other.since_;
    return *this;
  }
  ~Ticket() { reset(); }
  void reset();
  explicit operator bool() const { return pool_ != nullptr; }
  TicketPool* pool() const { return pool_; }

 private:
  TicketPool* pool_ = nullptr;
  AdmissionPriority priority_ = AdmissionPriority::kNormal;
  std::chrono::steady_clock::time_point since_;
};

/// A bounded number of tickets for operations in storage: a free one is taken at once, else the request queues by its
/// priority. A ticket that comes back goes to the first normal waiter, else to the first low one, else to the pool
/// (LCK-013); after `lowBypassThreshold` grants in a row that passed a low waiter, a low one is next (LCK-014).
/// No thread waits: grants come by callback, without a mutex held. Thread-safe.
class TicketPool {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  TicketPool(Clock now, int64_t tickets) : now_(std::move(now)), total_(tickets), available_(tickets) {}
  TicketPool(const TicketPool&) = delete;
  TicketPool& operator=(const TicketPool&) = delete;

  /// A ticket when one is free and nobody waits, or the priority is immediate; else an empty one.
  Ticket tryTake(AdmissionPriority priority);
  /// Waits for a ticket that `tryTake` did not give. `done` is called once, unless the wait is given up, possibly
  /// before this returns; on success the waiter then owes `granted`.
  std::shared_ptr<TicketWait> wait(AdmissionPriority priority, TicketWait::Callback done);
  /// The ticket of a wait that was granted.
  Ticket granted(AdmissionPriority priority) { return Ticket(*this, priority, now_()); }

  /// Changes the number of tickets: more go to waiters at once, fewer are withheld as they come back.
  void resize(int64_t tickets);
  /// 0: low waiters may be passed without end.
  void setLowBypassThreshold(int64_t threshold) { lowBypassThreshold_.store(threshold, std::memory_order_relaxed); }

  /// Of one priority since the start of the node; times in microseconds.
  struct QueueStatistics {
    int64_t addedToQueue = 0, removedFromQueue = 0, canceled = 0;
    int64_t startedProcessing = 0, finishedProcessing = 0;
    int64_t totalTimeQueuedMicros = 0, totalTimeProcessingMicros = 0;
    int64_t expedited = 0;  ///< low ones that went before a waiting normal one
    int64_t queueLength() const { return addedToQueue - removedFromQueue; }
    int64_t processing() const { return startedProcessing - finishedProcessing; }
  };
  QueueStatistics statistics(AdmissionPriority priority) const;
  int64_t total() const { return total_.load(std::memory_order_relaxed); }
  int64_t available() const { return available_.load(std::memory_order_relaxed); }
  /// Tickets in use; may exceed the total for a while after it was lowered.
  int64_t out() const { return total() - available(); }
  /// Operations that finished since the start, those without ticket not counted: what a tuner measures.
  int64_t finished() const;
  /// Whether somebody had to queue since the last call.
  bool takeExhausted() { return exhausted_.exchange(false, std::memory_order_relaxed); }

 private:
  friend class Ticket;
  friend class TicketWait;
  using Queue = std::list<std::shared_ptr<TicketWait>>;
  struct alignas(64) Figures {
    std::atomic<int64_t> added{0}, removed{0}, canceled{0}, started{0}, finished{0};
    std::atomic<int64_t> queuedMicros{0}, processingMicros{0}, expedited{0};
  };

  Figures& figures(AdmissionPriority priority) { return figures_[static_cast<size_t>(priority)]; }
  bool takeFree();
  void giveBack(AdmissionPriority priority, std::chrono::steady_clock::time_point since);
  // Under the mutex.
  Queue& queueOf(AdmissionPriority priority) { return priority == AdmissionPriority::kLow ? low_ : normal_; }
  void handOut(std::vector<TicketWait::Callback>& granted);
  TicketWait& nextWaiter();
  void remove(TicketWait& wait);

  const Clock now_;
  std::atomic<int64_t> total_;
  /// Negative after the pool shrank: that many returning tickets are withheld.
  alignas(64) std::atomic<int64_t> available_;
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> lowBypassThreshold_{500};
  std::atomic<bool> exhausted_{false};
  std::array<Figures, 3> figures_;
  std::mutex mutex_;
  Queue normal_, low_;
  int64_t passedLow_ = 0;  ///< grants to normal waiters in a row while a low one waited
};

}  // namespace troupe::storage
