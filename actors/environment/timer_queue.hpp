#pragma once
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "actors/environment/environment.hpp"

namespace troupe {

/// Timers in the order in which they fire: by due time, then by age. Not thread-safe: its environment locks.
class TimerQueue {
 public:
  TimerId add(TimePoint when, std::function<void()> action);
  /// Gives its action, which is not to be destroyed under the lock: it may hold what cancels timers. Nothing: it has
  /// fired.
  std::optional<std::function<void()>> remove(TimerId timer);
  std::optional<TimePoint> nextDue() const;
  /// Takes the next action due at or before `now`.
  std::optional<std::pair<TimePoint, std::function<void()>>> takeDue(TimePoint now);
  size_t size() const { return queue_.size(); }

 private:
  std::map<std::pair<TimePoint, TimerId>, std::function<void()>> queue_;
  std::unordered_map<TimerId, TimePoint> due_;
  TimerId last_ = 0;
};

}  // namespace troupe
