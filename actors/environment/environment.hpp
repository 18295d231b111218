#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/environment/fault_site.hpp"
#include "messaging/envelope/envelope.hpp"

namespace troupe {

using WallTime = std::chrono::system_clock::time_point;
/// Names a timer that has not fired. 0 is none.
using TimerId = uint64_t;

/// Bytes of the file system that holds some path.
struct DiskSpace {
  int64_t free = 0;  ///< for this process to use
  int64_t total = 0;
};

/// All that a node takes from the world besides storage and network: time, timers, chance, and how full the disk is.
/// Given to a node when it is built; a test or a simulation gives a virtual one, and nothing else in the code may ask
/// the machine for these. All functions may be called from any thread.
class Environment {
 public:
  virtual ~Environment() = default;

  /// Monotonic time.
  virtual TimePoint now() const = 0;
  /// Monotonic time that may lag by some milliseconds, cheap enough for every message.
  virtual TimePoint coarseNow() const { return now(); }
  virtual WallTime wallNow() const = 0;
  /// A random number from the node's source (seeded in simulations).
  virtual uint64_t random() = 0;
  /// A random number in [0, 1).
  double randomShare() { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

  /// Free and total bytes of the disk below `path`; nothing when they are unknown (then it counts as endless).
  virtual std::optional<DiskSpace> diskSpace(const std::string& path) const = 0;

  /// Calls `action` once at or soon after `when`, on a thread of the environment: it must be short, must not block and
  /// must not throw (it posts to an actor or the pool).
  virtual TimerId schedule(TimePoint when, std::function<void()> action) = 0;
  /// True if the timer was taken back; false if it has fired or is firing.
  virtual bool cancel(TimerId timer) = 0;

  /// Whether the fault site is to fail now. Without a plan never, for the price of one relaxed load.
  bool fires(const FaultSite& site) const noexcept {
    FaultPlan* plan = faults_.load(std::memory_order_acquire);
    return plan && plan->fires(site);
  }
  /// Sets the plan of faults; null: none. It outlives the environment, or is taken back before.
  void setFaults(FaultPlan* plan) noexcept { faults_.store(plan, std::memory_order_release); }

 private:
  std::atomic<FaultPlan*> faults_{nullptr};
};

/// The machine's clocks, one timer thread, and a random source seeded by the operating system.
std::shared_ptr<Environment> makeRealEnvironment();

}  // namespace troupe
