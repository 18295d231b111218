#include "actors/storage/storage_waits.hpp"

#include <memory>
#include <optional>

#include "messaging/errors/co_status.hpp"

namespace troupe {

using storage::HeldLock;
using storage::LockMode;
using storage::LockRequest;
using storage::LockWait;
using storage::OperationContext;
using storage::ResourceId;
using storage::TicketWait;

namespace {

/// Fails a wait when its operation is killed or out of time, for as long as the guard lives.
template <class Wait>
class EndWithOperation {
 public:
  EndWithOperation(Node& node, OperationContext& operation, std::shared_ptr<Wait> wait)
      : environment_(node.environment()), operation_(operation) {
    operation.wakeOnKill([wait, &operation] { wait->fail(operation.checkForInterrupt({})); });
    if (!operation.deadline()) return;
    const Status late(ErrorCode::kMaxTimeMSExpired, "operation exceeded time limit");
    timer_ = environment_.schedule(*operation.deadline(), [wait, late] { wait->fail(late); });
  }
  EndWithOperation(const EndWithOperation&) = delete;
  ~EndWithOperation() {
    operation_.wakeOnKill(nullptr);
    if (timer_) environment_.cancel(*timer_);
  }

 private:
  Environment& environment_;
  OperationContext& operation_;
  std::optional<TimerId> timer_;
};

/// A request for a lock or ticket that is given up when the waiting frame goes away before its outcome was taken.
class PendingLock {
 public:
  PendingLock(OperationContext& operation, std::shared_ptr<LockWait> wait)
      : operation_(operation), wait_(std::move(wait)) {}
  PendingLock(const PendingLock&) = delete;
  ~PendingLock() {
    if (wait_) operation_.locker()->giveUp(wait_);
  }
  void settled() { wait_.reset(); }

 private:
  OperationContext& operation_;
  std::shared_ptr<LockWait> wait_;
};

class PendingTicket {
 public:
  PendingTicket(OperationContext& operation, storage::TicketPool& pool, std::shared_ptr<TicketWait> wait)
      : operation_(operation), pool_(pool), wait_(std::move(wait)), priority_(operation.priority()) {}
  PendingTicket(const PendingTicket&) = delete;
  ~PendingTicket() {
    if (wait_ && wait_->giveUp()) pool_.granted(priority_).reset();
  }
  void granted() {
    operation_.admit(pool_.granted(priority_));
    wait_.reset();
  }

 private:
  OperationContext& operation_;
  storage::TicketPool& pool_;
  std::shared_ptr<TicketWait> wait_;
  const storage::AdmissionPriority priority_;
};

Task<Status> awaitTicket(Node& node, OperationContext& operation, bool write) {
  storage::TicketPool& pool = operation.services().admission->pool(write);
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  const auto wait = pool.wait(operation.priority(), [promise](const Status& status) { promise->set(status); });
  PendingTicket pending(operation, pool, wait);
  const EndWithOperation<TicketWait> guard(node, operation, wait);
  TROUPE_CO_TRY(co_await outcome);
  pending.granted();
  co_return Status::OK();
}

Task<Status> admit(Node& node, OperationContext& operation, bool write) {
  if (operation.tryAdmit(write)) co_return Status::OK();
  co_return co_await awaitTicket(node, operation, write);
}

/// Within the hierarchy an operation that waits for another one holds no ticket: the other may need it to go on.
Task<Status> awaitLock(Node& node, OperationContext& operation, ResourceId resource, LockMode mode) {
  if (!isGlobalResource(resource.type())) operation.returnTicket();
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  auto taken =
      operation.locker()->acquire(resource, mode, {}, [promise](const Status& status) { promise->set(status); });
  if (!taken.wait) co_return taken.status;
  PendingLock pending(operation, taken.wait);
  const EndWithOperation<LockWait> guard(node, operation, taken.wait);
  Status status = co_await outcome;
  pending.settled();
  co_return status;
}

Task<StatusWith<HeldLock>> lockResource(Node& node, OperationContext& operation, storage::ResourceType type,
                                        std::string name, LockMode mode) {
  HeldLock held(operation, type, std::move(name), mode);
  TROUPE_CO_TRY(co_await acquireLock(node, operation, held));
  co_return StatusWith<HeldLock>(std::move(held));
}

}  // namespace

Task<Status> acquireLock(Node& node, OperationContext& operation, HeldLock& held) {
  TROUPE_CO_TRY(co_await admit(node, operation, held.writes()));
  while (!held.tryAcquire()) {
    TROUPE_CO_TRY(co_await awaitLock(node, operation, held.next(), held.nextMode()));
    held.granted();
  }
  co_return co_await admit(node, operation, held.writes());
}

Task<StatusWith<HeldLock>> lockCollection(Node& node, OperationContext& operation, storage::Namespace ns,
                                          LockMode mode) {
  return lockResource(node, operation, storage::ResourceType::kCollection, ns.toString(), mode);
}

Task<StatusWith<HeldLock>> lockDatabase(Node& node, OperationContext& operation, std::string db, LockMode mode) {
  return lockResource(node, operation, storage::ResourceType::kDatabase, std::move(db), mode);
}

Task<Status> resumeLocks(Node& node, OperationContext& operation) {
  const storage::LockSnapshot wanted = operation.takeYielded();
  if (wanted.empty()) co_return Status::OK();
  storage::Locker& locker = *operation.locker();
  const bool write = intentAbove(wanted.front().mode) == LockMode::kIX;
  TROUPE_CO_TRY(co_await admit(node, operation, write));
  for (const LockRequest& request : wanted) {
    const ResourceId resource = request.resource.id();
    if (!locker.tryAcquire(resource, request.mode))
      TROUPE_CO_TRY(co_await awaitLock(node, operation, resource, request.mode));
    locker.addCount(resource, request.count - 1);
  }
  co_return co_await admit(node, operation, write);
}

Future<Status> untilDurable(storage::DurabilityTracker& durability, storage::DurabilityTicket ticket,
                            const std::function<void()>& wakeFlusher) {
  auto promise = std::make_shared<Promise<Status>>();
  auto durable = promise->future();
  if (durability.wait(ticket, [promise](const Status& outcome) { promise->set(outcome); })) wakeFlusher();
  return durable;
}

}  // namespace troupe
