#include "actors/environment/timer_queue.hpp"

namespace troupe {

TimerId TimerQueue::add(TimePoint when, std::function<void()> action) {
  const TimerId id = ++last_;
  queue_.emplace(std::pair(when, id), std::move(action));
  due_.emplace(id, when);
  return id;
}

std::optional<std::function<void()>> TimerQueue::remove(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return std::nullopt;
  auto removed = queue_.extract(std::pair(found->second, timer));
  due_.erase(found);
  return std::move(removed.mapped());
}

std::optional<TimePoint> TimerQueue::nextDue() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first.first;
}

std::optional<std::pair<TimePoint, std::function<void()>>> TimerQueue::takeDue(TimePoint now) {
  if (queue_.empty() || queue_.begin()->first.first > now) return std::nullopt;
  auto first = queue_.begin();
  std::pair result(first->first.first, std::move(first->second));
  due_.erase(first->first.second);
  queue_.erase(first);
  return result;
}

}  // namespace troupe
