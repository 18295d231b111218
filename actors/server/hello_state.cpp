#include "actors/server/hello_state.hpp"

#include <algorithm>

namespace troupe::server {

int64_t HelloState::counter() const {
  const std::lock_guard lock(mutex_);
  return counter_;
}

bool HelloState::shuttingDown() const {
  const std::lock_guard lock(mutex_);
  return shuttingDown_;
}

void HelloState::wakeOnChange(int64_t known, const std::shared_ptr<Promise<Done>>& woken) {
  const std::lock_guard lock(mutex_);
  if (known != counter_ || shuttingDown_) {
    woken->set(Done{});
    return;
  }
  if (waiting_.size() >= pruneAt_) {
    std::erase_if(waiting_, [](const auto& waiter) { return waiter.expired(); });
    pruneAt_ = std::max<size_t>(64, waiting_.size() * 2);
  }
  waiting_.push_back(woken);
}

void HelloState::wakeAll() {
  std::vector<std::weak_ptr<Promise<Done>>> woken;
  {
    const std::lock_guard lock(mutex_);
    woken.swap(waiting_);
  }
  for (auto& waiter : woken) {
    if (const auto promise = waiter.lock()) promise->set(Done{});
  }
}

void HelloState::bump() {
  {
    const std::lock_guard lock(mutex_);
    ++counter_;
  }
  wakeAll();
}

void HelloState::beginShutdown() {
  {
    const std::lock_guard lock(mutex_);
    ++counter_;
    shuttingDown_ = true;
  }
  wakeAll();
}

}  // namespace troupe::server
