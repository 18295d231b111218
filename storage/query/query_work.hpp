#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "messaging/errors/status.hpp"
#include "storage/operation/memory_budget.hpp"

namespace troupe::query {

/// The operation that a query works for, as far as the query needs it: the time, whether to go on, and the memory it
/// may hold. Outlives all that is parsed with it; one thread at a time.
class QueryWork {
 public:
  virtual ~QueryWork() = default;
  /// To end a slice of work. Cheap; may lag by some milliseconds.
  virtual std::chrono::steady_clock::time_point coarseNow() const = 0;
  /// The failure the operation has to end with now: killed, out of time, its client gone.
  virtual Status checkForInterrupt() { return Status::OK(); }
  /// Null: there is no limit.
  virtual storage::MemoryBudget* memory() { return nullptr; }

  /// To be called in every loop whose length a client decides, with the work of one turn: 1 for what takes up to a
  /// microsecond. Asks `checkForInterrupt` once in kStepsPerLook.
  Status step(int64_t work = 1) {
    if (counts(work)) [[likely]]
      return Status::OK();
    return look();
  }
  /// `step` in two parts, for the hottest loops: false when it is time to `look`.
  bool counts(int64_t work) { return (left_ -= work) > 0; }
  Status look() {
    Status status = checkForInterrupt();
    left_ = status.isOK() ? kStepsPerLook : 0;  // once it has to end, every further step says so
    return status;
  }

 private:
  static constexpr int64_t kStepsPerLook = 4096;
  int64_t left_ = kStepsPerLook;
};

/// The steps that reading or writing so many bytes counts for.
constexpr int64_t stepsFor(size_t bytes) { return static_cast<int64_t>(1 + (bytes >> 11)); }

/// The memory of a value while it is made: charged in steps as it grows, for the buffer and the copy that becomes the
/// value. Released at its end: the finished value has a charge of its own (Operand).
class Growth {
 public:
  /// `work` null: nothing is counted.
  explicit Growth(QueryWork* work) : work_(work) {}
  QueryWork* work() const { return work_; }
  /// After each piece of the value, with its size so far: the steps are those of writing the piece. Errors:
  /// ExceededMemoryLimit, those of an interrupt.
  Status to(size_t size) {
    if (!work_) return Status::OK();
    if (size > covered_) [[unlikely]]
      TROUPE_TRY(extend(size));
    const size_t piece = size > written_ ? size - written_ : 0;
    written_ = size;
    return work_->step(stepsFor(piece));
  }
  /// Before a value of a known size is made.
  Status reserve(size_t size) {
    if (!work_) return Status::OK();
    if (size <= covered_) return work_->step();
    TROUPE_TRY(extend(size));
    return work_->step(stepsFor(size));
  }

 private:
  Status extend(size_t size) {
    TROUPE_TRY(charge_.resize(work_->memory(), static_cast<int64_t>(2 * size)));
    covered_ = size + size / 2;
    return Status::OK();
  }
  QueryWork* work_;
  storage::MemoryCharge charge_;
  size_t covered_ = storage::MemoryBudget::kFree;
  size_t written_ = 0;  ///< told to `to`
};

/// The memory that a stage holds from one call to the next: rows, groups, results. Charged in chunks of 64 KiB, and not
/// at all below that.
class HeldMemory {
 public:
  explicit HeldMemory(QueryWork* work) : work_(work) {}
  /// `bytes`: all of it. Errors: ExceededMemoryLimit; the caller may hold less (spill) and go on.
  Status set(int64_t bytes) {
    const bool covered = bytes <= charge_.bytes() && charge_.bytes() - bytes < 2 * kChunk;
    if (!work_ || covered || (bytes <= kChunk && charge_.bytes() == 0)) [[likely]]
      return Status::OK();
    return charge_.resize(work_->memory(), bytes <= kChunk ? 0 : (bytes / kChunk + 1) * kChunk);
  }

 private:
  static constexpr int64_t kChunk = 64 * 1024;
  QueryWork* work_;
  storage::MemoryCharge charge_;
};

/// How much a stage that can spill may hold, which has a limit of its own: at most half of the operation's budget, so
/// that what it feeds has some left.
inline int64_t spillingLimit(QueryWork* work, int64_t own) {
  storage::MemoryBudget* const budget = work ? work->memory() : nullptr;
  return budget ? std::min(own, budget->limit() / 2) : own;
}

}  // namespace troupe::query
