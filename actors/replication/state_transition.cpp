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
  auto promise = std::make_shared<Promise<troupe::Done>>();
  auto drained = promise->future();
  fence_.close([promise] { promise->set(troupe::Done{}); });
  node_.start(finish(shared_from_this(), std::move(drained)));
}

void StateTransition::acceptWrites(int64_t term) {
  const std::lock_guard lock(mutex_);
  invariant(underWay_ || !fence_.isOpen() || fence_.term() == term, "one term ends before another begins to write");
  if (underWay_) next_ = term;
  else if (!fence_.isOpen()) fence_.open(term);
}

bool StateTransition::isUnderWay() const {
  const std::lock_guard lock(mutex_);
  return underWay_;
}

std::optional<Future<troupe::Done>> StateTransition::awaitEnd() {
  const std::lock_guard lock(mutex_);
  if (!underWay_) return std::nullopt;
  return awaitingEnd_.emplace_back().future();
}

Task<void> StateTransition::untilOver() {
  std::optional<Future<troupe::Done>> underWay = awaitEnd();
  if (!underWay) co_return;
  Future<troupe::Done> over = std::move(*underWay);
  co_await over;
}

/// The lock first: an operation that holds it may still begin a unit, which the closed fence refuses, and end.
Task<void> StateTransition::finish(std::shared_ptr<StateTransition> self, Future<troupe::Done> drained) {
  storage::OperationContext operation(self->services_, storage::OperationOrigin::kService);
  storage::HeldLock exclusive(operation, storage::ResourceType::kStateTransition, {}, storage::LockMode::kX);
  const Status locked = co_await acquireLock(self->node_, operation, exclusive);
  invariant(locked.isOK(), "the lock of a state transition is waited for by nobody who could be killed");
  co_await drained;
  std::vector<Promise<troupe::Done>> awaitingEnd;
  {
    const std::lock_guard lock(self->mutex_);
    self->underWay_ = false;
    if (const auto term = std::exchange(self->next_, std::nullopt)) self->fence_.open(*term);
    awaitingEnd.swap(self->awaitingEnd_);
  }
  for (auto& each : awaitingEnd) each.set(troupe::Done{});
}

}  // namespace troupe::replication
