#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/locks/lock_mode.hpp"

namespace troupe::storage {

/// How often a resource is held in each mode, in one atomic word: an uncontended lock and its release are one
/// compare-and-swap each. While operations wait, the word is marked and changes only under the resource's mutex, so
/// that no new holder slips past the queue. Up to a million holders a mode.
class LockWord {
 public:
  /// Takes the resource in `mode` when its holders permit it and no operation waits.
  bool tryGrant(LockMode mode) { return change(conflictsWith(mode) | kQueued, 0, one(mode)); }
  /// Converts a holder's mode `from` to `to` when the other holders permit it and no operation waits.
  bool tryConvert(LockMode from, LockMode to) { return change(conflictsWith(to) | kQueued, one(from), one(to)); }
  /// False when operations wait: the caller takes the mutex and uses `releaseLocked`.
  bool tryRelease(LockMode mode) { return change(kQueued, one(mode), 0); }

  // Under the mutex of the resource.
  /// From now on only holders of the mutex change the word.
  void markQueued() { word_.fetch_or(kQueued, std::memory_order_acq_rel); }
  void clearQueued() { word_.fetch_and(~kQueued, std::memory_order_acq_rel); }
  /// Ignores the queue, not the holders. `from`: the mode that is converted, or none.
  bool grantLocked(LockMode from, LockMode to) { return change(conflictsWith(to), one(from), one(to)); }
  void releaseLocked(LockMode mode) { word_.fetch_sub(one(mode), std::memory_order_acq_rel); }

  bool isQueued() const { return word_.load(std::memory_order_acquire) & kQueued; }
  /// Neither held nor waited for.
  bool isIdle() const { return word_.load(std::memory_order_acquire) == 0; }

 private:
  static constexpr uint64_t kCount = (uint64_t{1} << 20) - 1;
  static constexpr uint64_t kQueued = uint64_t{1} << 63;
  static constexpr int shift(LockMode mode) { return (static_cast<int>(mode) - 1) * 20; }
  static constexpr uint64_t one(LockMode mode) { return mode == LockMode::kNone ? 0 : uint64_t{1} << shift(mode); }
  static constexpr uint64_t countOf(LockMode mode) { return mode == LockMode::kX ? one(mode) : kCount << shift(mode); }
  /// The counts of the modes that exclude this one.
  static constexpr uint64_t conflictsWith(LockMode mode) {
    constexpr auto kMasks = [] {
      std::array<uint64_t, kLockModes> masks{};
      for (const LockMode wanted : kHeldModes) {
        for (const LockMode held : kHeldModes)
          if (!compatible(wanted, held)) masks[static_cast<size_t>(wanted)] |= countOf(held);
      }
      return masks;
    }();
    return kMasks[static_cast<size_t>(mode)];
  }

  /// Subtracts and adds, unless what remains in between has one of the bits in `barred`.
  bool change(uint64_t barred, uint64_t subtract, uint64_t add) {
    uint64_t seen = word_.load(std::memory_order_relaxed);
    while (((seen - subtract) & barred) == 0) {
      if (word_.compare_exchange_weak(seen, seen - subtract + add, std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  std::atomic<uint64_t> word_{0};
};

}  // namespace troupe::storage
