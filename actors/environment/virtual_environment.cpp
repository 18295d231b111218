#include "actors/environment/virtual_environment.hpp"

namespace troupe {

namespace {
constexpr auto kWallStart = std::chrono::system_clock::time_point(std::chrono::seconds(1704067200));
constexpr auto kStart = TimePoint(std::chrono::hours(1));
}  // namespace

VirtualEnvironment::VirtualEnvironment(uint64_t seed) : now_(kStart), random_(seed) {}

TimePoint VirtualEnvironment::now() const {
  std::lock_guard lock(mutex_);
  return now_;
}

WallTime VirtualEnvironment::wallNow() const {
  std::lock_guard lock(mutex_);
  return kWallStart + (now_ - kStart) + wallOffset_;
}

uint64_t VirtualEnvironment::random() {
  std::lock_guard lock(mutex_);
  return random_();
}

std::optional<DiskSpace> VirtualEnvironment::diskSpace(const std::string&) const {
  std::lock_guard lock(mutex_);
  return diskSpace_;
}

TimerId VirtualEnvironment::schedule(TimePoint when, std::function<void()> action) {
  std::lock_guard lock(mutex_);
  return timers_.add(when, std::move(action));
}

bool VirtualEnvironment::cancel(TimerId timer) {
  std::optional<std::function<void()>> action;
  const std::lock_guard lock(mutex_);
  action = timers_.remove(timer);
  return action.has_value();
}

std::optional<TimePoint> VirtualEnvironment::nextTimer() const {
  std::lock_guard lock(mutex_);
  return timers_.nextDue();
}

size_t VirtualEnvironment::advanceTo(TimePoint when) {
  for (size_t fired = 0;; ++fired) {
    std::optional<std::pair<TimePoint, std::function<void()>>> due;
    {
      std::lock_guard lock(mutex_);
      due = timers_.takeDue(when);
      now_ = std::max(now_, due ? due->first : when);
    }
    if (!due) return fired;
    due->second();
  }
}

size_t VirtualEnvironment::jumpTo(TimePoint when) {
  {
    std::lock_guard lock(mutex_);
    now_ = std::max(now_, when);
  }
  return advanceTo(when);
}

void VirtualEnvironment::skewWall(Duration by) {
  std::lock_guard lock(mutex_);
  wallOffset_ += by;
}

void VirtualEnvironment::setDiskSpace(std::optional<DiskSpace> space) {
  std::lock_guard lock(mutex_);
  diskSpace_ = space;
}

}  // namespace troupe
