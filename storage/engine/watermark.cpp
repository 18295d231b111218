#include "storage/engine/watermark.hpp"

#include <utility>
#include <vector>

#include "messaging/bson/types.hpp"

namespace troupe::storage {

/// Callbacks run outside of the mutex: one may wait again at once.
template <class T>
void Watermark<T>::move(std::unique_lock<std::mutex> lock, T to) {
  word_.store(wordOf(to), std::memory_order_release);
  std::vector<Callback> resumed;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.seen >= to) {
      ++it;
      continue;
    }
    resumed.push_back(std::move(it->second.resume));
    it = waiters_.erase(it);
  }
  lock.unlock();
  for (const Callback& resume : resumed) resume();
}

template <class T>
void Watermark<T>::advance(T to) {
  std::unique_lock lock(mutex_);
  if (to > get()) move(std::move(lock), to);
}

template <class T>
void Watermark<T>::increment() {
  std::unique_lock lock(mutex_);
  const T next = fromWord(wordOf(get()) + 1);
  move(std::move(lock), next);
}

template <class T>
void Watermark<T>::reset(T to) {
  {
    const std::lock_guard lock(mutex_);
    word_.store(wordOf(to), std::memory_order_release);
  }
  resumeAll();
}

template <class T>
typename Watermark<T>::WaiterId Watermark<T>::whenPast(T seen, Callback resume) {
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

template <class T>
bool Watermark<T>::withdraw(WaiterId waiter) {
  const std::lock_guard lock(mutex_);
  return waiters_.erase(waiter) > 0;
}

template <class T>
void Watermark<T>::resumeAll() {
  std::map<WaiterId, Waiter> resumed;
  {
    const std::lock_guard lock(mutex_);
    resumed.swap(waiters_);
  }
  for (auto& [id, waiter] : resumed) waiter.resume();
}

template <class T>
size_t Watermark<T>::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

template class Watermark<uint64_t>;
template class Watermark<bson::Timestamp>;

}  // namespace troupe::storage
