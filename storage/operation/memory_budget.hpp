#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The memory of all operations of a node, in bytes: budgets reserve from it, and are refused once its limit is
/// reached, so that the operation that wants more fails and not the process. Thread-safe; outlives every budget.
/// Source: RES-002.
class MemoryGovernor {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  /// `total`: of all operations together; `operation`: of each one. Both may change: they count for what is reserved,
  /// and for operations that begin, from then on.
  MemoryGovernor(const std::atomic<int64_t>& total, const std::atomic<int64_t>& operation)
      : total_(total), operation_(operation) {}
  MemoryGovernor(const MemoryGovernor&) = delete;

  /// False when the limit would be passed.
  bool tryReserve(int64_t bytes);
  void release(int64_t bytes) { reserved_.fetch_sub(bytes, std::memory_order_relaxed); }

  int64_t limit() const { return total_.load(std::memory_order_relaxed); }
  int64_t operationLimit() const { return operation_.load(std::memory_order_relaxed); }
  int64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  const std::atomic<int64_t>& total_;
  const std::atomic<int64_t>& operation_;
  std::atomic<int64_t> reserved_{0}, peak_{0}, refusals_{0};
};

/// The memory that one operation may hold, in bytes. Values and buffers whose size a client decides are charged; small
/// ones are not (kFree). Belongs to the operation, and to its cursor between two commands: used by one thread at a
/// time, but for `used` and `peak`. Reserves from the node's governor in chunks. Source: RES-001.
class MemoryBudget {
 public:
  /// Values of up to so many bytes are not charged: they cannot add up without a buffer that is.
  static constexpr size_t kFree = 4096;

  /// `governor` null: only the own limit counts.
  explicit MemoryBudget(int64_t limit = MemoryGovernor::kUnlimited, MemoryGovernor* governor = nullptr)
      : limit_(limit), governor_(governor) {}
  MemoryBudget(const MemoryBudget&) = delete;
  ~MemoryBudget();

  /// Errors: ExceededMemoryLimit (146), the operation's limit or the node's; nothing is charged then.
  Status charge(int64_t bytes);
  /// What `charge` would answer.
  Status tryCharge(int64_t bytes);
  void release(int64_t bytes);

  int64_t limit() const { return limit_; }
  /// Any thread.
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kChunk = int64_t{1} << 18;
  Status reserve(int64_t bytes);

  const int64_t limit_;
  MemoryGovernor* const governor_;
  int64_t reserved_ = 0;  ///< from the governor; at least `used_`
  std::atomic<int64_t> used_{0}, peak_{0};
};

/// Bytes reserved from the node's governor alone, released with this object: what has limits of its own (a message has
/// its largest size), and counts for the node, not against its operation's limit. Must not outlive the governor.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(const MemoryReservation&) = delete;
  ~MemoryReservation() { reset(); }
  void reset() {
    if (bytes_ > 0) governor_->release(std::exchange(bytes_, 0));
  }
  /// Reserves so that at least `bytes` are: in chunks, and nothing for small amounts. Never less than before.
  /// `governor` null: nothing is counted. Errors: ExceededMemoryLimit; the reservation is as before then.
  Status grow(MemoryGovernor* governor, int64_t bytes) {
    if (bytes <= bytes_ + kFree) [[likely]]
      return Status::OK();
    return extend(governor, bytes);
  }
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int64_t kFree = 64 * 1024, kChunk = 256 * 1024;
  Status extend(MemoryGovernor* governor, int64_t bytes);
  MemoryGovernor* governor_ = nullptr;
  int64_t bytes_ = 0;
};

/// Bytes charged to a budget, released with this object. Move-only; must not outlive the budget.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() {
    if (bytes_ > 0) budget_->release(bytes_);
  }

  /// Charges what `bytes` is more than before, or releases what it is less. `budget` null: nothing is counted. Errors:
  /// ExceededMemoryLimit; the charge is as before then.
  Status resize(MemoryBudget* budget, int64_t bytes);
  int64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace troupe::storage
