#include "actors/commands/hello_state.hpp"

namespace troupe::commands {

int64_t HelloState::counter() const {
  const std::lock_guard lock(mutex_);
  return counter_;
}

bool HelloState::shuttingDown() const {
  const std::lock_guard lock(mutex_);
  return shuttingDown_;
}

Future<Done> HelloState::changedSince(int64_t known) {
  Promise<Done> promise;
  auto future = promise.future();
  const std::lock_guard lock(mutex_);
  if (known != counter_ || shuttingDown_) promise.set(Done{});
  else waiting_.push_back(std::move(promise));
  return future;
}

void HelloState::wakeAll() {
  std::vector<Promise<Done>> woken;
  {
    const std::lock_guard lock(mutex_);
    woken.swap(waiting_);
  }
  for (auto& promise : woken) promise.set(Done{});
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

}  // namespace troupe::commands
