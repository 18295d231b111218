#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/kernel/task.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::commands {
using namespace server;

/// Work that blocks its thread. It works through the operation it is given, whose interrupt it has to look at often
/// (`checkForInterrupt`): its request may be gone.
using BlockingBody = std::function<Status(storage::OperationContext&)>;

/// Runs work that blocks (a checkpoint, a validation) on a worker, and waits for it. The wait ends at once, and the
/// work's operation is killed, when the request is killed, its deadline passes, or its client goes. The request gives
/// its locks and its ticket up for good: what the work needs locked, its operation holds, until it has really ended.
/// The state transition lock it may not hold: a change of the role, and all reads behind it, would wait for the work.
/// Have `work` made by an ordinary function: g++ 12 destroys the captures of a lambda that is written in a coroutine
/// twice.
Task<Status> runBlocking(Request& request, std::shared_ptr<storage::OperationContext> operation, std::string what,
                         BlockingBody work);
/// The same with a new operation, which holds no locks.
Task<Status> runBlocking(Request& request, std::string what, BlockingBody work);

/// Acquires a lock of an operation that works for the request; the wait ends as runBlocking's does.
Task<Status> lockForWork(Request& request, std::shared_ptr<storage::OperationContext> operation,
                         storage::HeldLock& lock);

/// An operation that reads on a worker, with the lock that all reads hold: what closes the data waits for it (RDS-001).
/// A change of the node's role does not.
struct ReadingWork {
  explicit ReadingWork(ServerContext& server);
  storage::OperationContext operation;
  storage::HeldLock lock;
};

}  // namespace troupe::commands
