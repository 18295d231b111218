#include "storage/operation/held_lock.hpp"

#include "storage/operation/operation_context.hpp"

namespace troupe::storage {

HeldLock::HeldLock(OperationContext& operation, ResourceType lowest, std::string name, LockMode mode)
    : operation_(&operation), mode_(mode), name_(std::move(name)) {
  if (!operation.locker()) return;  // no lock manager: the operation is alone on its node
  switch (lowest) {
    case ResourceType::kCollection: levels_ = 4; break;
    case ResourceType::kDatabase: levels_ = 3; break;
    case ResourceType::kStateTransition: levels_ = 1; break;
    default: levels_ = 2;
  }
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

ResourceId HeldLock::resource(size_t level) const {
  switch (level) {
    case 0: return ResourceId::stateTransition();
    case 1: return ResourceId::global();
    case 2: return ResourceId::database(std::string_view(name_).substr(0, name_.find('.')));
    default: return ResourceId::collection(name_);
  }
}

bool HeldLock::tryAcquire() {
  while (depth_ < levels_ && operation_->locker()->tryAcquire(next(), nextMode())) ++depth_;
  return isComplete();
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
