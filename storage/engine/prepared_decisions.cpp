#include "storage/engine/prepared_decisions.hpp"

#include <utility>

namespace troupe::storage {

PreparedDecisions::WaiterId PreparedDecisions::whenPast(uint64_t seen, Callback resume) {
  {
    const std::lock_guard lock(mutex_);
    if (generation_ <= seen) {
      waiters_.emplace(nextWaiter_, std::move(resume));
      return nextWaiter_++;
    }
  }
  resume();
  return 0;
}

bool PreparedDecisions::withdraw(WaiterId waiter) {
  const std::lock_guard lock(mutex_);
  return waiters_.erase(waiter) > 0;
}

size_t PreparedDecisions::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

void PreparedDecisions::announce() {
  std::map<WaiterId, Callback> resumed;
  {
    const std::lock_guard lock(mutex_);
    ++generation_;
    resumed.swap(waiters_);
  }
  // Outside of the mutex: a callback may wait again at once.
  for (auto& [waiter, resume] : resumed) resume();
}

}  // namespace troupe::storage
