#pragma once
#include <array>
#include <cstdint>

#include "storage/locks/lock_mode.hpp"
#include "storage/locks/resource_id.hpp"

namespace troupe::storage {

/// Acquisitions of locks, by type of resource and mode: of one operation (lockStats of currentOp) or of all since the
/// node started (serverStatus.locks).
struct LockStatistics {
  struct Figures {
    int64_t acquireCount = 0;
    int64_t acquireWaitCount = 0;  ///< acquisitions that had to wait
    int64_t timeAcquiringMicros = 0;
    int64_t deadlockCount = 0;

    Figures& operator+=(const Figures& other) {
      acquireCount += other.acquireCount;
      acquireWaitCount += other.acquireWaitCount;
      timeAcquiringMicros += other.timeAcquiringMicros;
      deadlockCount += other.deadlockCount;
      return *this;
    }
  };
  std::array<std::array<Figures, kLockModes>, kResourceTypes> figures{};

  Figures& of(ResourceType type, LockMode mode) {
    return figures[static_cast<size_t>(type)][static_cast<size_t>(mode)];
  }
  const Figures& of(ResourceType type, LockMode mode) const {
    return figures[static_cast<size_t>(type)][static_cast<size_t>(mode)];
  }
  LockStatistics& operator+=(const LockStatistics& other) {
    for (size_t type = 0; type < kResourceTypes; ++type)
      for (size_t mode = 0; mode < kLockModes; ++mode) figures[type][mode] += other.figures[type][mode];
    return *this;
  }
};

}  // namespace troupe::storage
