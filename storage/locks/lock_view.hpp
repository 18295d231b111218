#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/locks/lock_mode.hpp"
#include "storage/locks/resource_id.hpp"

namespace troupe::storage {

/// A locked resource as operators see it: its holders, and its queue in the order of the grants. A copy; any thread.
struct ResourceView {
  struct Holder {
    uint64_t locker = 0;  ///< Locker::id()
    LockMode mode = LockMode::kNone;
    std::chrono::steady_clock::time_point since;  ///< when the locker last read the clock before it was granted
  };
  struct Waiter {
    uint64_t locker = 0;
    LockMode mode = LockMode::kNone;  ///< it waits for
    LockMode from = LockMode::kNone;  ///< it holds already: a conversion
    bool atFront = false;
    bool compatibleFirst = false;
    std::chrono::steady_clock::time_point since;
  };

  ResourceType type = ResourceType::kGlobal;
  std::string name;
  std::vector<Holder> granted;  ///< by locker
  std::vector<Waiter> pending;  ///< in the order in which they will be granted
};

}  // namespace troupe::storage
