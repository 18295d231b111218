// fsync, fsyncUnlock.
#include "actors/commands/blocking_work.hpp"
#include "actors/commands/families.hpp"
#include "actors/server/service_operation.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/journal/checkpoint_policy.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr std::chrono::milliseconds kLockPatience{90'000};

constexpr Argument kFsyncArguments[] = {flagArg("async"), flagArg("lock"),
                                        numberArg("fsyncLockAcquisitionTimeoutMillis")};

BlockingBody checkpoint(ServerContext& server) {
  return [&server](storage::OperationContext& operation) -> Status {
    using storage::CheckpointPolicy;
    storage::ReplicatedWrites* const replicated = operation.services().replicated;
    const auto pass = storage::BackgroundGate::enter(replicated ? &replicated->background : nullptr);
    if (!pass)
      return {ErrorCode::kInterruptedDueToReplStateChange, "a rollback has taken storage down: ask again after it"};
    TROUPE_TRY(operation.checkForInterrupt({}));
    const auto kind = CheckpointPolicy::kind(CheckpointPolicy::stateOf(server.engine, server.catalog.isReplicated()));
    if (CheckpointPolicy::takes(kind)) return server.catalog.checkpoint(CheckpointPolicy::options(kind));
    TROUPE_TRY(server.catalog.flush());
    return server.engine.flushLog();
  };
}

/// Holds the global lock beyond its command. Immediate: a ticket would be missing in the pool of readers all the while.
struct WriteStop {
  WriteStop(ServerContext& server, bson::Document command)
      : operation(server, "fsyncLock", storage::Namespace("admin", "$cmd"), std::move(command)),
        lock(storage::HeldLock::inEveryRole(*operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kS)) {
    operation->setPriority(storage::AdmissionPriority::kImmediate);
  }
  ServiceOperation operation;
  storage::HeldLock lock;
};

std::shared_ptr<storage::OperationContext> operationOf(const std::shared_ptr<WriteStop>& stop) {
  return {stop, &*stop->operation};
}

Task<StatusWith<std::shared_ptr<WriteStop>>> stopWrites(Request& request) {
  ServerContext& server = request.server();
  auto stop = std::make_shared<WriteStop>(server, bson::Document(request.body()));
  const bson::Element given = request.arg("fsyncLockAcquisitionTimeoutMillis");
  const auto patience = given ? bson::timeLimitOf(given) : kLockPatience;
  stop->operation->setDeadline(stop->operation->started() + patience);
  const Status locked = co_await lockForWork(request, operationOf(stop), stop->lock);
  TROUPE_CO_TRY(request.checkForInterrupt());
  if (locked == ErrorCode::kMaxTimeMSExpired)
    co_return Status(ErrorCode::kLockTimeout, "the writes under way did not end within " +
                                                  std::to_string(patience.count()) +
                                                  " ms, fsyncLockAcquisitionTimeoutMillis");
  if (!locked.isOK()) co_return locked;
  co_return stop;
}

Task<Status> fsyncAndLock(Request& request) {
  FsyncLock& lock = request.server().fsyncLock;
  if (request.flag("async"))
    co_return Status(ErrorCode::kInvalidOptions, "fsync cannot lock with 'async': what it locks is complete");
  if (request.number("fsyncLockAcquisitionTimeoutMillis", 1) < 1)
    co_return Status(ErrorCode::kBadValue, "'fsyncLockAcquisitionTimeoutMillis' must be at least 1");
  std::optional<int64_t> count = lock.lockAgain();
  if (!count) {
    auto work = checkpoint(request.server());
    // The first one writes nearly everything, beside the writers: so they wait only for the short second one.
    TROUPE_CO_TRY(co_await runBlocking(request, "fsync", WorkLength::kLong, work));
    TROUPE_CO_ASSIGN(auto stop, co_await stopWrites(request));
    // Now that writes wait, it must not wait for a worker behind long work of others.
    TROUPE_CO_TRY(co_await runBlocking(request, "fsync", WorkLength::kShort, work));
    count = lock.lock(std::move(stop));
  }
  request.reply()
      .append("info", "now locked against writes, use fsyncUnlock to unlock")
      .append("lockCount", *count)
      .append("seeAlso", "http://dochub.mongodb.org/core/fsynccommand");
  co_return Status::OK();
}

Task<Status> fsync(Request& request) {
  if (request.flag("lock")) co_return co_await fsyncAndLock(request);
  auto work = checkpoint(request.server());
  const Status status = co_await runBlocking(request, "fsync", WorkLength::kLong, work);
  if (status.isOK()) request.reply().append("numFiles", 1);
  co_return status;
}

Task<Status> fsyncUnlock(Request& request) {
  const auto left = request.server().fsyncLock.unlock();
  if (!left) co_return Status(ErrorCode::kIllegalOperation, "fsyncUnlock called when not locked");
  request.reply().append("info", "fsyncUnlock completed").append("lockCount", *left);
  co_return Status::OK();
}

constexpr Command kFsyncCommands[] = {
    {.name = "fsync",
     .summary = "takes a checkpoint now; with `lock`, writes wait until fsyncUnlock",
     .requirement = {Requirement::Target::kCluster, auth::Action::kFsync},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kFsyncArguments,
     .run = fsync},
    {.name = "fsyncUnlock",
     .summary = "takes one lock of fsync back",
     .requirement = {Requirement::Target::kCluster, auth::Action::kUnlock},
     .access = Access::kAdmin,
     .adminOnly = true,
     .run = fsyncUnlock},
};

}  // namespace

std::span<const Command> fsyncCommands() { return kFsyncCommands; }

}  // namespace troupe::commands
