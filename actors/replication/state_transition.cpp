#include "actors/replication/state_transition.hpp"

#include <utility>

#include "messaging/errors/invariant.hpp"

namespace troupe::replication {

/// Requests the lock in its constructor: later requests queue behind it. This wait cannot be killed.
struct StateTransition::Exclusive {
  explicit Exclusive(const storage::OperationServices& services) : locker(*services.locks) {
    const auto taken = locker.acquire(storage::ResourceId::stateTransition(), storage::LockMode::kX, {},
                                      [granted = granted](const Status&) { granted->set(troupe::Done{}); });
    if (!taken.wait) granted->set(troupe::Done{});
  }
  std::shared_ptr<Promise<troupe::Done>> granted = std::make_shared<Promise<troupe::Done>>();
  std::shared_ptr<Promise<troupe::Done>> drained = std::make_shared<Promise<troupe::Done>>();
  storage::Locker locker;
};

void StateTransition::refuseWrites() {
  {
    const std::lock_guard lock(mutex_);
    next_.reset();
    expected_.reset();
    if (!fence_.isOpen() || std::exchange(underWay_, true)) return;
  }
  auto exclusive = std::make_unique<Exclusive>(services_);
  fence_.close([drained = exclusive->drained] { drained->set(troupe::Done{}); });
  if (services_.idleUnits) services_.idleUnits->interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  node_.start(finish(shared_from_this(), std::move(exclusive)));
}

Task<void> StateTransition::untilWritesEnded() {
  const auto ended = std::make_shared<Promise<troupe::Done>>();
  auto drained = ended->future();
  const auto end = [ended] { ended->set(troupe::Done{}); };
  if (fence_.isOpen()) co_return;
  fence_.close(end);
  co_await drained;
}

void StateTransition::acceptWrites(int64_t term) {
  const std::lock_guard lock(mutex_);
  acceptLocked(term);
}

void StateTransition::expect(int64_t term) {
  const std::lock_guard lock(mutex_);
  expected_ = term;
}

bool StateTransition::acceptExpected(int64_t term) {
  const std::lock_guard lock(mutex_);
  if (expected_ != term) return false;
  acceptLocked(term);
  return true;
}

void StateTransition::acceptLocked(int64_t term) {
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

/// Awaits the lock before the fence: as long as operations hold the lock they may begin units, which the closed fence
/// refuses; once it is granted exclusively, only units that had entered before are left to drain.
Task<void> StateTransition::finish(std::shared_ptr<StateTransition> self, std::unique_ptr<Exclusive> exclusive) {
  auto granted = exclusive->granted->future();
  co_await granted;
  auto drained = exclusive->drained->future();
  co_await drained;
  if (self->services_.idleUnits) self->services_.idleUnits->resume();
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
