#include "storage/operation/held_lock.hpp"

#include <algorithm>

#include "storage/operation/operation_context.hpp"

namespace troupe::storage {

HeldLock::HeldLock(OperationContext& operation, ResourceType lowest, std::string name, LockMode mode)
    : operation_(&operation), mode_(mode), name_(std::move(name)) {
  if (!operation.locker()) return;  // no lock manager: the operation is alone on its node
  const auto at = std::find(kLockPath.begin(), kLockPath.end(), lowest);
  invariant(at != kLockPath.end(), "a held lock is on the way down to a collection");
  levels_ = static_cast<size_t>(at - kLockPath.begin()) + 1;
}

HeldLock HeldLock::inEveryRole(OperationContext& operation, ResourceType lowest, std::string name, LockMode mode) {
  HeldLock lock(operation, lowest, std::move(name), mode);
  if (lock.levels_ > 0) lock.first_ = lock.depth_ = 1;
  return lock;
}

HeldLock& HeldLock::operator=(HeldLock&& other) noexcept {
  reset();
  operation_ = std::exchange(other.operation_, nullptr);
  first_ = other.first_;
  levels_ = std::exchange(other.levels_, 0);
  depth_ = std::exchange(other.depth_, 0);
  mode_ = other.mode_;
  name_ = std::move(other.name_);
  return *this;
}

ResourceId HeldLock::resource(size_t level) const { return ResourceId::onPathTo(name_, kLockPath[level]); }

bool HeldLock::tryAcquire() {
  while (depth_ < levels_ && operation_->locker()->tryAcquire(next(), nextMode())) ++depth_;
  return isComplete();
}

bool HeldLock::needsFlowTicket() const {
  constexpr size_t kGlobalLevel = 1;
  static_assert(kLockPath[kGlobalLevel] == ResourceType::kGlobal);
  if (!writes() || first_ != 0 || levels_ <= kGlobalLevel || depth_ > kGlobalLevel) return false;
  if (levels_ == kGlobalLevel + 1 && mode_ != LockMode::kIX) return false;
  return !covers(operation_->locker()->modeOf(ResourceId::global()), LockMode::kIX);
}

/// A lock may be missing here: one that a yield gave up and that was not acquired again.
void HeldLock::reset() {
  if (!operation_) return;
  Locker* const locker = operation_->locker();
  while (depth_ > first_) {
    const ResourceId lowest = resource(--depth_);
    if (locker->modeOf(lowest) != LockMode::kNone) operation_->release(lowest);
  }
  if (locker && !locker->holdsAny()) operation_->returnTicket();
  operation_ = nullptr;
  first_ = levels_ = depth_ = 0;
}

}  // namespace troupe::storage
