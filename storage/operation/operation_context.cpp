#include "storage/operation/operation_context.hpp"

#include <stdexcept>

namespace troupe::storage {

RecoveryUnit& OperationContext::makeUnit() {
  unit_ = std::make_unique<RecoveryUnit>(services_.sessions, services_.times);
  unit_->setOperation(this);
  return *unit_;
}

MemoryBudget& OperationContext::makeBudget() {
  MemoryGovernor* const governor = services_.memory;
  memory_ = governor ? std::make_shared<MemoryBudget>(governor->operationLimit(), governor)
                     : std::make_shared<MemoryBudget>();
  return *memory_;
}

void OperationContext::lookAtClient(TimePoint now) {
  nextClientLook_ = now + kClientLook;
  if ((*isClientGone_)()) kill(ErrorCode::kHostUnreachable);
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

bool OperationContext::tryPassFlow() {
  if (hasFlowTicket_ || !services_.replicated || !services_.admission) return true;
  if (priority() == AdmissionPriority::kImmediate) return true;
  if (services_.admission->flow().tryTake()) noteFlowTicket();
  return hasFlowTicket_;
}

void OperationContext::noteFlowTicket() {
  hasFlowTicket_ = true;
  metrics.flowControl.acquired.fetch_add(1, std::memory_order_relaxed);
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

WriteUnitOfWork& OperationContext::openLastingUnit(UnitLogging logging, std::optional<TimePoint> end) {
  RecoveryUnit& unit = recoveryUnit();
  if (unit.inUnitOfWork()) throw std::logic_error("a lasting unit of work is opened within another one");
  lasting_ = std::make_unique<WriteUnitOfWork>(unit, logging);
  lastingEnd_ = end;
  return *lasting_;
}

Status OperationContext::commitLastingUnit() {
  invariant(lasting_ != nullptr, "a lasting unit of work is committed that is open");
  const std::unique_ptr<WriteUnitOfWork> work = std::move(lasting_);
  return work->commit();
}

StashedOperation OperationContext::stash() {
  if (unit_ && unit_->inUnitOfWork()) return stashOpenUnit();
  lasting_.reset();
  if (unit_) unit_->setOperation(nullptr);
  return {std::move(unit_), readConcern, {}, false, std::move(memory_)};
}

/// A prepared unit outlives roles: it must not hold the state transition lock while nobody works on it.
StashedOperation OperationContext::stashOpenUnit() {
  if (!lasting_ || unit_->inNestedUnit() || !services_.idleUnits)
    throw std::logic_error("an operation is stashed within a unit of work that ends with it");
  OpenUnit open;
  if (locker_) {
    if (unit_->isPrepared()) locker_->releaseEntirely(ResourceId::stateTransition());
    open.locks = std::make_unique<Locker>(*services_.locks);
    open.locks->adopt(*locker_);
  }
  returnTicket();
  unit_->setOperation(nullptr);
  open.writeMode = writeMode_;
  open.writeTerm = writeTerm_;
  open.end = lastingEnd_;
  open.unit = std::move(unit_);
  open.work = std::move(lasting_);
  // A kill that comes later than this finds an operation without a unit of work, and the caller has to pass it on.
  Status interrupted = killed() ? checkForInterrupt({}) : Status::OK();
  return {nullptr, readConcern, services_.idleUnits->add(std::move(open), std::move(interrupted)), announcesWrites(),
          std::move(memory_)};
}

Status OperationContext::unstash(StashedOperation stashed) {
  if (unit_ && unit_->isActive()) throw std::logic_error("an operation that reads already takes up another's snapshot");
  readConcern = stashed.readConcern;
  if (stashed.memory) memory_ = std::move(stashed.memory);
  if (stashed.open) {
    if (stashed.writes) announceWrites();  // from now on a change of the role ends this operation, no more the stash
    TROUPE_ASSIGN(OpenUnit open, stashed.open.take());
    adopt(std::move(open));
  } else {
    unit_ = std::move(stashed.unit);
  }
  if (unit_) unit_->setOperation(this);
  return Status::OK();
}

void OperationContext::adopt(OpenUnit open) {
  if (open.locks) locker()->adopt(*open.locks);
  if (!open.unit->isPrepared()) {  // a prepared one is decided in the way of this operation
    writeMode_ = open.writeMode;
    writeTerm_ = open.writeTerm;
  }
  lastingEnd_ = open.end;
  unit_ = std::move(open.unit);
  lasting_ = std::move(open.work);
}

}  // namespace troupe::storage
