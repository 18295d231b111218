#pragma once
#include <cstddef>
#include <string>
#include <utility>

#include "messaging/errors/invariant.hpp"
#include "storage/locks/lock_mode.hpp"
#include "storage/locks/resource_id.hpp"

namespace troupe::storage {

class OperationContext;

/// A lock of an operation together with the intent locks above it, from the top of `kLockPath` down to the resource it
/// is for. Released from below at the end of its life; with the last lock of the operation goes its ticket. Acquired
/// without waiting by `tryAcquire`, else step by step by `acquireLock` (actors/storage). Movable; must not outlive the
/// operation.
class HeldLock {
 public:
  HeldLock() = default;
  /// Nothing is acquired yet. `lowest`: kStateTransition, kGlobal, kDatabase or kCollection; `name`: of that resource.
  HeldLock(OperationContext& operation, ResourceType lowest, std::string name, LockMode mode);
  HeldLock(HeldLock&& other) noexcept { *this = std::move(other); }
  HeldLock& operator=(HeldLock&& other) noexcept;
  ~HeldLock() { reset(); }

  /// The same without the state transition lock: for what a node writes in every role, such as its vote, which a change
  /// of the role must not hold up.
  static HeldLock inEveryRole(OperationContext& operation, ResourceType lowest, std::string name, LockMode mode);

  /// Takes as many of the locks as need no waiting. True when all are held.
  bool tryAcquire();
  bool isComplete() const { return depth_ == levels_; }
  /// The lock to wait for; not for a complete one. `next` refers to this object's name.
  ResourceId next() const { return resource(depth_); }
  LockMode nextMode() const { return depth_ + 1 == levels_ ? mode_ : intentAbove(mode_); }
  /// The lock that `next` named is held.
  void granted() {
    invariant(!isComplete(), "only a missing lock is granted");
    ++depth_;
  }
  /// Whether it announces writes: then the operation needs a write ticket.
  bool writes() const { return intentAbove(mode_) == LockMode::kIX; }
  /// Whether the global lock in mode IX is among those that are missing, for writes that the members of a set have to
  /// apply: what leaves out the state transition lock is not replicated.
  bool needsFlowTicket() const;
  void reset();

 private:
  ResourceId resource(size_t level) const;

  OperationContext* operation_ = nullptr;
  size_t first_ = 0;   ///< topmost level of kLockPath to lock; 1 leaves out the state transition
  size_t levels_ = 0;  ///< levels down to the resource itself; 0: nothing to lock
  size_t depth_ = 0;   ///< levels held or left out, counted from the top
  LockMode mode_ = LockMode::kIS;
  std::string name_;
};

}  // namespace troupe::storage
