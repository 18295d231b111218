#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/environment/environment.hpp"
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
                         WorkLength length, BlockingBody work);
/// The same with a new operation, which holds no locks.
Task<Status> runBlocking(Request& request, std::string what, WorkLength length, BlockingBody work);

/// How much one piece of long work does on a worker before others have a turn there.
class PieceLimit {
 public:
  static constexpr int64_t kBytes = int64_t{8} << 20;
  static constexpr Duration kTime = std::chrono::milliseconds(50);

  /// The piece begins now. The environment outlives the limit.
  explicit PieceLimit(const Environment& environment) : environment_(environment), until_(environment.now() + kTime) {}
  /// Whether the piece is to end, after so many bytes more.
  bool reached(int64_t bytes) {
    bytes_ += bytes;
    return bytes_ >= kBytes || environment_.now() >= until_;
  }

 private:
  const Environment& environment_;
  const TimePoint until_;
  int64_t bytes_ = 0;
};

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
