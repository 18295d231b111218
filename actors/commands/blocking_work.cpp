#include "actors/commands/blocking_work.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/storage/storage_waits.hpp"

namespace troupe::commands {
using namespace server;

namespace {

using SharedOperation = std::shared_ptr<storage::OperationContext>;

/// Work that was given up before a worker came to it is not begun.
std::function<Status()> jobOf(SharedOperation operation, BlockingBody work) {
  return [operation = std::move(operation), work = std::move(work)]() -> Status {
    TROUPE_TRY(operation->checkForInterrupt({}));
    Status outcome = work(*operation);
    if (operation->hasRecoveryUnit() && !operation->recoveryUnit().isActive())
      operation->recoveryUnit().releaseSession();
    return outcome;
  };
}

InterruptibleWait::Options abandoning(const SharedOperation& operation) {
  InterruptibleWait::Options options;
  options.abandon = [operation] { operation->kill(ErrorCode::kInterrupted); };
  return options;
}

/// What blocks may last for minutes, and a change of the role waits for all who hold the state transition lock, with
/// every read that comes after it.
void requireNoRole(storage::OperationContext& operation) {
  if (operation.lockerId() == 0) return;
  invariant(operation.locker()->modeOf(storage::ResourceId::stateTransition()) == storage::LockMode::kNone,
            "work that blocks does not hold the state transition lock: see HeldLock::inEveryRole");
}

/// A read's snapshot goes with its locks.
void prepareToWait(Request& request) {
  request.endWithClient();
  storage::OperationContext& operation = request.operation();
  if (operation.hasRecoveryUnit()) operation.recoveryUnit().releaseSession();
  operation.yieldLocks();
  (void)operation.takeYielded();
}

}  // namespace

Task<Status> runBlocking(Request& request, SharedOperation operation, std::string what, WorkLength length,
                         BlockingBody work) {
  prepareToWait(request);
  requireNoRole(*operation);
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  auto done = [promise](Status status) { promise->set(std::move(status)); };
  request.server().blocking.run(what, length, jobOf(operation, std::move(work)), done);
  const auto end = [promise, operation](const Status& why) {
    operation->kill(why.code());
    promise->set(why);
  };
  InterruptibleWait guard(request.server().node.environment(), request.operation(), end, abandoning(operation));
  Status status = co_await outcome;
  guard.settled();
  co_return status;
}

Task<Status> runBlocking(Request& request, std::string what, WorkLength length, BlockingBody work) {
  auto operation = std::make_shared<storage::OperationContext>(request.server().operations);
  co_return co_await runBlocking(request, std::move(operation), std::move(what), length, std::move(work));
}

Task<Status> lockForWork(Request& request, SharedOperation operation, storage::HeldLock& lock) {
  prepareToWait(request);
  Node& node = request.server().node;
  const auto end = [operation](const Status& why) { operation->kill(why.code()); };
  InterruptibleWait guard(node.environment(), request.operation(), end, abandoning(operation));
  Status locked = co_await acquireLock(node, *operation, lock);
  guard.settled();
  co_return locked;
}

ReadingWork::ReadingWork(ServerContext& server)
    : operation(server.operations),
      lock(storage::HeldLock::inEveryRole(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS)) {}

}  // namespace troupe::commands
