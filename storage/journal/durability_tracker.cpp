#include "storage/journal/durability_tracker.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe::storage {

bool DurabilityTracker::wait(DurabilityTicket ticket, Callback done) {
  Status outcome;
  {
    std::lock_guard lock(mutex_);
    if (!isDurable(ticket)) {
      if (!closed_) {
        waiters_.emplace(ticket, std::move(done));
        // A flush that is under way covers tickets up to flushUpTo_; beyond that, one wake-up is enough for all.
        const bool covered = (flushing_ && ticket <= flushUpTo_) || wakeRequested_;
        if (!covered) wakeRequested_ = true;
        return !covered;
      }
      outcome = closeReason_;
    }
  }
  done(outcome);
  return false;
}

bool DurabilityTracker::hasWork() const {
  std::lock_guard lock(mutex_);
  return !waiters_.empty() || durable() < taken();
}

size_t DurabilityTracker::waiters() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

DurabilityTicket DurabilityTracker::beginFlush() {
  std::lock_guard lock(mutex_);
  if (flushing_) throw std::logic_error("a flush is under way already");
  flushing_ = true;
  wakeRequested_ = false;
  return flushUpTo_ = taken();
}

void DurabilityTracker::endFlush(const Status& outcome, std::chrono::microseconds duration) {
  std::vector<Callback> completed;
  {
    std::lock_guard lock(mutex_);
    if (!flushing_) throw std::logic_error("no flush is under way");
    flushing_ = false;
    completed = takeWaiters(flushUpTo_);
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
    completed = takeWaiters(UINT64_MAX);
  }
  for (Callback& done : completed) done(reason);
}

DurabilityTracker::Statistics DurabilityTracker::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

std::vector<DurabilityTracker::Callback> DurabilityTracker::takeWaiters(DurabilityTicket upTo) {
  std::vector<Callback> taken;
  const auto end = waiters_.upper_bound(upTo);
  for (auto it = waiters_.begin(); it != end; ++it) taken.push_back(std::move(it->second));
  waiters_.erase(waiters_.begin(), end);
  return taken;
}

}  // namespace troupe::storage
