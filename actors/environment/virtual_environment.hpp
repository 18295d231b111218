#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <random>

#include "actors/environment/environment.hpp"
#include "actors/environment/timer_queue.hpp"

namespace troupe {

/// Time that stands still until a test or the simulator moves it, chance from a seed, and a disk as full as a test
/// says. The same seed gives the same run. Wall time may be skewed against monotonic time.
class VirtualEnvironment final : public Environment {
 public:
  /// Monotonic time starts at one hour; wall time at 2024-01-01T00:00:00Z.
  explicit VirtualEnvironment(uint64_t seed = 1);

  TimePoint now() const override;
  WallTime wallNow() const override;
  uint64_t random() override;
  std::optional<DiskSpace> diskSpace(const std::string& path) const override;
  TimerId schedule(TimePoint when, std::function<void()> action) override;
  bool cancel(TimerId timer) override;

  /// When the next timer is due, if any.
  std::optional<TimePoint> nextTimer() const;
  /// Moves time to `when` (never back) and fires what is due, in order of due time and then of scheduling; timers set
  /// by what fires are included. Returns how many fired.
  size_t advanceTo(TimePoint when);
  size_t advance(Duration by) { return advanceTo(now() + by); }
  /// Moves time to `when` at once, as a process finds it that was stopped meanwhile: what is due fires afterwards, at
  /// the new time. Returns how many fired.
  size_t jumpTo(TimePoint when);
  /// Moves wall time alone, as an operator or a bad clock would.
  void skewWall(Duration by);
  /// The disk is endless until this is called.
  void setDiskSpace(std::optional<DiskSpace> space);

 private:
  mutable std::mutex mutex_;
  TimePoint now_;
  Duration wallOffset_{};
  std::mt19937_64 random_;
  TimerQueue timers_;
  std::optional<DiskSpace> diskSpace_;
};

}  // namespace troupe
