#include "storage/journal/durability_tracker.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace troupe::storage {

bool DurabilityTracker::wait(DurabilityTicket ticket, Callback done) {
  Status outcome;
  {
    std::lock_guard lock(mutex_);
    if (!isDurable(ticket)) {
      if (!closed_) {
        const bool covered = flushing_ && ticket <= flushUpTo_;
        (covered ? covered_ : waiting_).push_back(std::move(done));
        // Beyond the flush under way, one wake-up is enough for all.
        return !covered && !std::exchange(wakeRequested_, true);
      }
      outcome = closeReason_;
    }
  }
  done(outcome);
  return false;
}

bool DurabilityTracker::claimWake() {
  if (!isExpected_.load()) return false;
  std::lock_guard lock(mutex_);
  const DurabilityTicket due = flushing_ ? flushUpTo_ : durable();
  return isExpected_.exchange(false) && due < taken() && !std::exchange(wakeRequested_, true);
}

bool DurabilityTracker::isWakeRequested() const {
  std::lock_guard lock(mutex_);
  return wakeRequested_;
}

bool DurabilityTracker::hasWork() const {
  std::lock_guard lock(mutex_);
  return !covered_.empty() || !waiting_.empty() || durable() < taken();
}

size_t DurabilityTracker::waiters() const {
  std::lock_guard lock(mutex_);
  return covered_.size() + waiting_.size();
}

DurabilityTicket DurabilityTracker::beginFlush() {
  std::lock_guard lock(mutex_);
  if (flushing_) throw std::logic_error("a flush is under way already");
  flushing_ = true;
  wakeRequested_ = false;
  isExpected_.exchange(false);  // what is expected from here on may not be covered
  covered_.swap(waiting_);
  return flushUpTo_ = taken();
}

void DurabilityTracker::endFlush(const Status& outcome, std::chrono::microseconds duration) {
  std::vector<Callback> completed;
  {
    std::lock_guard lock(mutex_);
    if (!flushing_) throw std::logic_error("no flush is under way");
    flushing_ = false;
    completed.swap(covered_);
    if (outcome.isOK()) {
      statistics_.commitsFlushed += static_cast<int64_t>(flushUpTo_ - durable());
      durable_.store(flushUpTo_, std::memory_order_release);
      ++statistics_.flushes;
    } else {
      ++statistics_.failedFlushes;
    }
    const auto group = static_cast<int64_t>(completed.size());
    statistics_.waitersCompleted += group;
    statistics_.largestGroup = std::max(statistics_.largestGroup, group);
    statistics_.totalMicros += duration.count();
    const auto bucket = std::lower_bound(kDurationBounds.begin(), kDurationBounds.end(), duration.count());
    ++statistics_.durations[static_cast<size_t>(bucket - kDurationBounds.begin())];
  }
  for (Callback& done : completed) done(outcome);
}

void DurabilityTracker::close(Status reason) {
  std::vector<Callback> completed;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    closeReason_ = reason;
    completed.swap(covered_);
    std::move(waiting_.begin(), waiting_.end(), std::back_inserter(completed));
    waiting_.clear();
  }
  for (Callback& done : completed) done(reason);
}

DurabilityTracker::Statistics DurabilityTracker::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace troupe::storage
