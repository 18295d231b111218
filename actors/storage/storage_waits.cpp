#include "actors/storage/storage_waits.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe {

using storage::HeldLock;
using storage::LockMode;
using storage::LockRequest;
using storage::OperationContext;
using storage::ResourceId;
using storage::WriteFence;

namespace {

Task<Status> awaitTicket(Node& node, OperationContext& operation, bool write) {
  storage::TicketPool& pool = operation.services().admission->pool(write);
  const storage::AdmissionPriority priority = operation.priority();
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  const auto wait = pool.wait(priority, [promise](const Status& status) { promise->set(status); });
  const auto end = [wait](const Status& why) { wait->fail(why); };
  const auto abandon = [&pool, wait, priority] {
    if (wait->giveUp()) pool.granted(priority).reset();
  };
  InterruptibleWait guard(node.environment(), operation, end, {.abandon = abandon});
  Status status = co_await outcome;
  guard.settled();
  if (status.isOK()) operation.admit(pool.granted(priority));
  co_return status;
}

Task<Status> awaitFlowTicket(Node& node, OperationContext& operation) {
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  auto& shown = operation.metrics.flowControl;
  const TimePoint since = node.environment().now();
  const auto wait =
      operation.services().admission->flow().wait([promise](const Status& status) { promise->set(status); });
  const auto end = [wait](const Status& why) { wait->fail(why); };
  InterruptibleWait guard(node.environment(), operation, end, {.abandon = [wait] { wait->giveUp(); }});
  shown.waits.fetch_add(1, std::memory_order_relaxed);
  shown.isWaiting = true;
  Status status = co_await outcome;
  guard.settled();
  shown.isWaiting = false;
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(node.environment().now() - since);
  shown.micros.fetch_add(waited.count(), std::memory_order_relaxed);
  if (status.isOK()) operation.noteFlowTicket();
  co_return status;
}

Task<Status> passFlowControl(Node& node, OperationContext& operation) {
  if (operation.tryPassFlow()) co_return Status::OK();
  co_return co_await awaitFlowTicket(node, operation);
}

/// An operation that waits for another one holds no ticket: the other may need it to go on. That goes for the state
/// transition, too: its exclusive request waits for operations that hold it and have given their tickets back.
Task<Status> awaitLock(Node& node, OperationContext& operation, ResourceId resource, LockMode mode) {
  operation.returnTicket();
  // Writes that wait for the end of a global S (fsync with a lock) keep no reads waiting behind them.
  const storage::LockOptions options{.compatibleFirst = resource == ResourceId::global() && mode == LockMode::kIS};
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  auto taken =
      operation.locker()->acquire(resource, mode, options, [promise](const Status& status) { promise->set(status); });
  if (!taken.wait) co_return taken.status;
  const std::function<void(const Status&)> end = [wait = taken.wait](const Status& why) { wait->fail(why); };
  const auto abandon = [wait = taken.wait, &operation] { operation.locker()->giveUp(wait); };
  InterruptibleWait guard(node.environment(), operation, end, {.abandon = abandon});
  WriteFence::Watch watch;
  if (resource != ResourceId::stateTransition()) watch = endWithWrites(operation, end);
  Status status = co_await outcome;
  guard.settled();
  co_return status;
}

/// What is not replicated is written in every role.
HeldLock lockIn(OperationContext& operation, const storage::Namespace& ns, storage::ResourceType lowest,
                std::string name, LockMode mode) {
  return ns.isReplicated() ? HeldLock(operation, lowest, std::move(name), mode)
                           : HeldLock::inEveryRole(operation, lowest, std::move(name), mode);
}

/// As HeldLock::needsFlowTicket, of locks that a yield gave up.
bool needsFlowTicket(const storage::LockSnapshot& wanted) {
  const auto holds = [&](ResourceId resource) {
    return std::ranges::any_of(wanted, [&](const LockRequest& request) {
      return request.resource.id() == resource && request.mode == LockMode::kIX;
    });
  };
  return holds(ResourceId::stateTransition()) && holds(ResourceId::global());
}

Task<StatusWith<HeldLock>> acquired(Node& node, OperationContext& operation, HeldLock held) {
  TROUPE_CO_TRY(co_await acquireLock(node, operation, held));
  co_return StatusWith<HeldLock>(std::move(held));
}

}  // namespace

WriteFence::Watch endWithWrites(OperationContext& operation, std::function<void(const Status&)> end) {
  storage::ReplicatedWrites* const replicated = operation.services().replicated;
  if (!replicated || !operation.announcesWrites() || operation.lockerId() == 0) return {};
  if (!covers(operation.locker()->modeOf(ResourceId::stateTransition()), LockMode::kIX)) return {};
  return replicated->fence.whenClosed([end = std::move(end)] {
    end({ErrorCode::kNotWritablePrimary, "not primary: this node may not write now"});
  });
}

Task<Status> admit(Node& node, OperationContext& operation, bool write) {
  if (operation.tryAdmit(write)) co_return Status::OK();
  co_return co_await awaitTicket(node, operation, write);
}

bool tryAcquireLock(OperationContext& operation, HeldLock& held) {
  if (held.needsFlowTicket() && !operation.tryPassFlow()) return false;
  if (!operation.tryAdmit(held.writes()) || !held.tryAcquire()) return false;
  operation.useFlowTicket();
  return true;
}

Task<Status> acquireLock(Node& node, OperationContext& operation, HeldLock& held) {
  if (held.needsFlowTicket()) TROUPE_CO_TRY(co_await passFlowControl(node, operation));
  TROUPE_CO_TRY(co_await admit(node, operation, held.writes()));
  while (!held.tryAcquire()) {
    TROUPE_CO_TRY(co_await awaitLock(node, operation, held.next(), held.nextMode()));
    held.granted();
  }
  operation.useFlowTicket();
  co_return co_await admit(node, operation, held.writes());
}

HeldLock collectionLock(OperationContext& operation, const storage::Namespace& ns, LockMode mode) {
  return lockIn(operation, ns, storage::ResourceType::kCollection, ns.toString(), mode);
}

Task<StatusWith<HeldLock>> lockCollection(Node& node, OperationContext& operation, storage::Namespace ns,
                                          LockMode mode) {
  return acquired(node, operation, collectionLock(operation, ns, mode));
}

Task<StatusWith<HeldLock>> lockCollection(Node& node, OperationContext& operation, const storage::Catalog& catalog,
                                          bson::Uuid uuid, storage::Namespace last, LockMode mode) {
  for (;;) {
    auto lock = co_await lockCollection(node, operation, last, mode);
    if (!lock.isOK()) co_return lock.status();
    const storage::CollectionPtr collection = catalog.snapshot()->find(uuid);
    if (!collection || collection->ns() == last) co_return StatusWith<HeldLock>(std::move(*lock));
    last = collection->ns();
  }
}

Task<StatusWith<HeldLock>> lockDatabase(Node& node, OperationContext& operation, std::string db, LockMode mode) {
  return acquired(node, operation,
                  lockIn(operation, storage::Namespace(db, ""), storage::ResourceType::kDatabase, db, mode));
}

Task<Status> resumeLocks(Node& node, OperationContext& operation) {
  const storage::LockSnapshot wanted = operation.takeYielded();
  if (wanted.empty()) co_return Status::OK();
  storage::Locker& locker = *operation.locker();
  const bool write = intentAbove(wanted.front().mode) == LockMode::kIX;
  if (needsFlowTicket(wanted)) TROUPE_CO_TRY(co_await passFlowControl(node, operation));
  operation.useFlowTicket();
  TROUPE_CO_TRY(co_await admit(node, operation, write));
  for (const LockRequest& request : wanted) {
    const ResourceId resource = request.resource.id();
    if (!locker.tryAcquire(resource, request.mode))
      TROUPE_CO_TRY(co_await awaitLock(node, operation, resource, request.mode));
    locker.addCount(resource, request.count - 1);
  }
  co_return co_await admit(node, operation, write);
}

/// The lock that was waited for becomes one of the unit's, whose other locks are below it.
Task<Status> takeUp(Node& node, OperationContext& operation, storage::StashedOperation& stashed) {
  const LockMode mode = stashed.writes ? LockMode::kIX : LockMode::kIS;
  HeldLock role(operation, storage::ResourceType::kStateTransition, {}, mode);
  TROUPE_CO_TRY(co_await acquireLock(node, operation, role));
  co_return operation.unstash(std::move(stashed));
}

Future<Status> untilDurable(storage::DurabilityTracker& durability, storage::DurabilityTicket ticket,
                            const std::function<void()>& wakeFlusher) {
  auto promise = std::make_shared<Promise<Status>>();
  auto durable = promise->future();
  if (durability.wait(ticket, [promise](const Status& outcome) { promise->set(outcome); })) wakeFlusher();
  return durable;
}

}  // namespace troupe
