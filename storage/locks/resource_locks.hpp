#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace troupe::storage {

/// Shared/exclusive locks on names (a collection, a database), which nobody waits for with a thread: who cannot have a
/// lock now is called back when it is granted. Writers of documents hold a collection shared; what changes a
/// collection's shape (drop, rename, index builds, collMod) holds it exclusively. Grants are first come, first served,
/// so that an exclusive request is not starved. Names share a fixed number of stripes: two names may exclude each other
/// without need, never the reverse. Who needs several stripes takes them in ascending order of `stripeOf` and each
/// stripe once. Thread-safe; the shared fast path is one atomic addition. (LCK rows build on this.)
class ResourceLocks {
 public:
  static constexpr size_t kStripes = 1024;
  enum class Mode { kShared, kExclusive };

  ResourceLocks() = default;
  ResourceLocks(const ResourceLocks&) = delete;
  ResourceLocks& operator=(const ResourceLocks&) = delete;

  static size_t stripeOf(std::string_view name) { return std::hash<std::string_view>{}(name) % kStripes; }

  /// Takes the lock without waiting, if it is free and nobody waits for it.
  bool tryAcquire(size_t stripe, Mode mode);
  /// Calls `granted` once the lock is held: before returning when it is free, else later from whichever thread released
  /// it.
  void acquire(size_t stripe, Mode mode, std::function<void()> granted);
  void release(size_t stripe, Mode mode);

 private:
  struct Waiter {
    Mode mode;
    std::function<void()> granted;
  };
  // `holders` counts shared holders; kContended marks that the slow path (mutex, queue) decides.
  struct Stripe {
    std::atomic<uint32_t> holders{0};
    std::mutex mutex;
    bool exclusive = false;
    std::deque<Waiter> waiters;
  };
  static constexpr uint32_t kContended = 0x80000000u;

  bool grantLocked(Stripe& stripe, Mode mode);
  void drainLocked(Stripe& stripe, std::deque<Waiter>& ready);

  std::array<Stripe, kStripes> stripes_;
};

/// Releases one lock at the end of its life. Movable; may be released on another thread than it was taken on.
class LockGuard {
 public:
  LockGuard() = default;
  LockGuard(ResourceLocks& locks, size_t stripe, ResourceLocks::Mode mode)
      : locks_(&locks), stripe_(stripe), mode_(mode) {}
  LockGuard(LockGuard&& other) noexcept { *this = std::move(other); }
  LockGuard& operator=(LockGuard&& other) noexcept {
    reset();
    locks_ = std::exchange(other.locks_, nullptr);
    stripe_ = other.stripe_;
    mode_ = other.mode_;
    return *this;
  }
  ~LockGuard() { reset(); }
  void reset() {
    if (locks_) locks_->release(stripe_, mode_);
    locks_ = nullptr;
  }

 private:
  ResourceLocks* locks_ = nullptr;
  size_t stripe_ = 0;
  ResourceLocks::Mode mode_ = ResourceLocks::Mode::kShared;
};

}  // namespace troupe::storage
