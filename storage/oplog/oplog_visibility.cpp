#include "storage/oplog/oplog_visibility.hpp"

#include <utility>
#include <vector>

namespace troupe::storage {

void OplogVisibility::advance(bson::Timestamp to) {
  std::vector<Callback> resumed;
  {
    const std::lock_guard lock(mutex_);
    if (to <= get()) return;
    visible_.store(to.asUint64(), std::memory_order_release);
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      if (it->second.seen >= to) {
        ++it;
        continue;
      }
      resumed.push_back(std::move(it->second.resume));
      it = waiters_.erase(it);
    }
  }
  // Outside of the mutex: a callback may wait again at once.
  for (const Callback& resume : resumed) resume();
}

void OplogVisibility::reset(bson::Timestamp to) {
  const std::lock_guard lock(mutex_);
  visible_.store(to.asUint64(), std::memory_order_release);
}

OplogVisibility::WaiterId OplogVisibility::whenPast(bson::Timestamp seen, Callback resume) {
  {
    const std::lock_guard lock(mutex_);
    if (get() <= seen) {
      waiters_.emplace(nextWaiter_, Waiter{seen, std::move(resume)});
      return nextWaiter_++;
    }
  }
  resume();
  return 0;
}

bool OplogVisibility::withdraw(WaiterId waiter) {
  const std::lock_guard lock(mutex_);
  return waiters_.erase(waiter) > 0;
}

void OplogVisibility::resumeAll() {
  std::map<WaiterId, Waiter> resumed;
  {
    const std::lock_guard lock(mutex_);
    resumed.swap(waiters_);
  }
  for (auto& [id, waiter] : resumed) waiter.resume();
}

size_t OplogVisibility::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace troupe::storage
