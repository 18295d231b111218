#include "actors/kernel/task.hpp"

namespace troupe {

TaskHost::TaskHost(bool shared) : mutex_(shared ? std::make_unique<std::mutex>() : nullptr) {}

std::unique_lock<std::mutex> TaskHost::lock() const {
  return mutex_ ? std::unique_lock(*mutex_) : std::unique_lock<std::mutex>();
}

void TaskHost::start(Task<void> task) {
  auto handle = task.release();
  auto& promise = handle.promise();
  promise.executor = this;
  promise.host = this;
  promise.self = handle;
  {
    const auto held = lock();
    promise.next = first_;
    if (first_) first_->previous = &promise;
    first_ = &promise;
  }
  handle.resume();
}

void TaskHost::unlink(detail::TaskPromiseBase& promise) {
  const auto held = lock();
  if (promise.previous) promise.previous->next = promise.next;
  else first_ = promise.next;
  if (promise.next) promise.next->previous = promise.previous;
}

void detail::TaskPromiseBase::finished(TaskPromiseBase& promise) noexcept {
  TaskHost* host = promise.host;
  if (!host) return;  // no host owns the frame: its Task destroys it
  host->unlink(promise);
  const auto failure = std::move(promise.failure);
  promise.self.destroy();
  if (failure) host->taskFailed(failure);
}

size_t TaskHost::taskCount() const {
  const auto held = lock();
  size_t count = 0;
  for (auto* p = first_; p; p = p->next) ++count;
  return count;
}

void TaskHost::destroyTasks() noexcept {
  // One by one: destroying a frame may complete or drop others.
  for (;;) {
    detail::TaskPromiseBase* promise;
    {
      const auto held = lock();
      promise = first_;
    }
    if (!promise) return;
    unlink(*promise);
    promise->self.destroy();
  }
}

}  // namespace troupe
