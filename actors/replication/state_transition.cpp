#include "actors/replication/state_transition.hpp"

#include <utility>

#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::replication {

void StateTransition::refuseWrites() {
  {
    const std::lock_guard lock(mutex_);
    next_.reset();
    if (!fence_.isOpen() || std::exchange(underWay_, true)) return;
  }
  auto promise = std::make_shared<Promise<Done>>();
  auto drained = promise->future();
  fence_.close([promise] { promise->set(Done{}); });
  node_.start(finish(shared_from_this(), std::move(drained)));
}

void StateTransition::acceptWrites(int64_t term) {
  const std::lock_guard lock(mutex_);
  if (underWay_) next_ = term;
  else if (!fence_.isOpen()) fence_.open(term);
}

bool StateTransition::isUnderWay() const {
  const std::lock_guard lock(mutex_);
  return underWay_;
}

/// The lock first: an operation that holds it may still begin a unit, which the closed fence refuses, and end.
Task<void> StateTransition::finish(std::shared_ptr<StateTransition> self, Future<Done> drained) {
  storage::OperationContext operation(self->services_, storage::OperationOrigin::kService);
  storage::HeldLock exclusive(operation, storage::ResourceType::kStateTransition, {}, storage::LockMode::kX);
  const Status locked = co_await acquireLock(self->node_, operation, exclusive);
  invariant(locked.isOK(), "the lock of a state transition is waited for by nobody who could be killed");
  co_await drained;
  const std::lock_guard lock(self->mutex_);
  self->underWay_ = false;
  if (const auto term = std::exchange(self->next_, std::nullopt)) self->fence_.open(*term);
}

}  // namespace troupe::replication
