#include "storage/operation/operation_context.hpp"

#include <stdexcept>

namespace troupe::storage {

RecoveryUnit& OperationContext::makeUnit() {
  unit_ = std::make_unique<RecoveryUnit>(services_.sessions, services_.times);
  unit_->setOperation(this);
  return *unit_;
}

void OperationContext::makeLocker() {
  locker_.emplace(*services_.locks);
  lockerId_.store(locker_->id(), std::memory_order_release);
}

void OperationContext::release(const ResourceId& resource) {
  if (unit_ && unit_->inUnitOfWork() && !locker_->inUnit()) locker_->beginUnit();
  locker_->release(resource);
}

void OperationContext::endUnit() {
  if (locker_ && locker_->inUnit()) locker_->endUnit();
}

bool OperationContext::tryAdmit(bool write) {
  if (!isAdmitted()) ticket_ = services_.admission->pool(write).tryTake(priority());
  return isAdmitted();
}

bool OperationContext::exchangeTicket() {
  if (!ticket_) return isAdmitted();
  Ticket other = ticket_.pool()->tryTake(priority());
  if (!other) return false;
  ticket_ = std::move(other);
  return true;
}

void OperationContext::yieldLocks() {
  if (locker_ && locker_->holdsAny()) yielded_ = locker_->saveAndRelease();
  returnTicket();
}

StashedOperation OperationContext::stash() {
  if (unit_ && unit_->inUnitOfWork()) throw std::logic_error("an operation is stashed within a unit of work");
  if (unit_) unit_->setOperation(nullptr);
  return {std::move(unit_), readConcern};
}

void OperationContext::unstash(StashedOperation stashed) {
  if (unit_ && unit_->isActive()) throw std::logic_error("an operation that reads already takes up another's snapshot");
  unit_ = std::move(stashed.unit);
  if (unit_) unit_->setOperation(this);
  readConcern = stashed.readConcern;
}

}  // namespace troupe::storage
