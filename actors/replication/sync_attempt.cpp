#include "actors/replication/sync_attempt.hpp"

#include <limits>

#include "actors/replication/applier_services.hpp"
#include "actors/replication/source_log.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::replication {

using storage::OperationOrigin;

namespace {

/// The way to the source, its state, or a cursor that was closed there: what was asked for may be asked for again.
bool passesByItself(const Status& failure) {
  switch (failure.code()) {
    case ErrorCode::kHostUnreachable:
    case ErrorCode::kHostNotFound:
    case ErrorCode::kNetworkTimeout:
    case ErrorCode::kSocketException:
    case ErrorCode::kNetworkInterfaceExceededTimeLimit:
    case ErrorCode::kExceededTimeLimit:
    case ErrorCode::kMaxTimeMSExpired:
    case ErrorCode::kCursorNotFound:
    case ErrorCode::kCursorKilled:
    case ErrorCode::kCappedPositionLost:
    case ErrorCode::kQueryPlanKilled:
    case ErrorCode::kShutdownInProgress:
    case ErrorCode::kInterruptedAtShutdown:
    case ErrorCode::kInterruptedDueToReplStateChange:
    case ErrorCode::kPrimarySteppedDown:
    case ErrorCode::kNotPrimaryOrSecondary: return true;
    default: return false;
  }
}

Status isOver() { return {ErrorCode::kInterrupted, "the attempt of the initial sync is over"}; }

storage::ConflictRetry patientCopy() {
  return storage::ConflictRetry({.maxWriteConflictRetries = std::numeric_limits<int>::max()});
}

/// Nobody serves clients yet, and the copy must not wait behind them later.
storage::OperationServices servicesOfCopy(const CopyParts& parts) { return withoutTickets(parts.services); }

}  // namespace

Future<troupe::Done> SyncAttempt::untilIdle() {
  auto idle = awaitingIdle_.emplace_back().future();
  if (writing_ == 0)
    for (auto& each : std::exchange(awaitingIdle_, {})) each.set(troupe::Done{});
  return idle;
}

void SyncAttempt::endWriting() {
  if (--writing_ > 0) return;
  for (auto& each : std::exchange(awaitingIdle_, {})) each.set(troupe::Done{});
}

Task<StatusWith<SyncAttempt::Writing>> SyncAttempt::Writing::begin(std::shared_ptr<SyncAttempt> attempt,
                                                                   std::optional<size_t> bytes) {
  const CopyParts& parts = attempt->parts;
  std::optional<SyncStatus::Waiting> shown;
  while (bytes && parts.roomFor && !attempt->isAbandoned() && !parts.roomFor(*bytes).isOK()) {
    if (!shown) shown.emplace(*parts.status, "space on the disk");
    co_await parts.node->sleepFor(parts.pause);
  }
  if (attempt->isAbandoned()) co_return isOver();
  co_return Writing(std::move(attempt));
}

Task<Status> SourcePatience::wait(Status failure) {
  const CopyParts& parts = attempt_->parts;
  if (attempt_->isAbandoned()) co_return isOver();
  if (!passesByItself(failure)) co_return failure;
  const TimePoint now = parts.node->environment().now();
  if (!failedSince_) failedSince_ = now;
  if (now - *failedSince_ >= parts.patience) co_return failure.withContext(attempt_->source + " does not come back");
  parts.status->noteRetry();
  co_await parts.node->sleepFor(parts.pause);
  if (attempt_->isAbandoned()) co_return isOver();
  const auto rollbackId = co_await rollbackIdOf(*parts.members, attempt_->source);
  if (attempt_->isAbandoned()) co_return isOver();
  if (rollbackId.isOK() && *rollbackId != attempt_->rollbackId)
    co_return Status(ErrorCode::kInitialSyncFailure,
                     attempt_->source + " has rolled back, or was killed, since the copy was begun");
  co_return Status::OK();
}

Task<StatusWith<bson::Document>> askSource(std::shared_ptr<SyncAttempt> attempt, std::string database,
                                           bson::Document command) {
  const CopyParts& parts = attempt->parts;
  SourcePatience patience(attempt);
  for (;;) {
    auto reply = co_await parts.members->run(attempt->source, database, command, parts.timeout);
    if (attempt->isAbandoned()) co_return isOver();
    if (reply.isOK()) co_return reply;
    TROUPE_CO_TRY(co_await patience.wait(reply.status()));
  }
}

namespace {

Task<StatusWith<std::vector<bson::Document>>> listOnce(std::shared_ptr<SyncAttempt> attempt, std::string database,
                                                       bson::Document command) {
  const CopyParts& parts = attempt->parts;
  TROUPE_CO_ASSIGN(const auto rows, co_await parts.members->read(attempt->source, database, command, parts.credit));
  std::vector<bson::Document> all;
  for (;;) {
    TROUPE_CO_ASSIGN(const auto batch, co_await rows->next());
    if (attempt->isAbandoned()) co_return isOver();
    if (batch.empty()) co_return all;
    for (const bson::View row : batch) all.emplace_back(row);
  }
}

}  // namespace

Task<StatusWith<std::vector<bson::Document>>> listOfSource(std::shared_ptr<SyncAttempt> attempt, std::string database,
                                                           bson::Document command) {
  SourcePatience patience(attempt);
  for (;;) {
    auto all = co_await listOnce(attempt, database, command);
    if (all.isOK()) co_return all;
    TROUPE_CO_TRY(co_await patience.wait(all.status()));
  }
}

Task<Status> writeCopied(std::shared_ptr<SyncAttempt> attempt, CopyWrite to,
                         std::function<Status(storage::RecoveryUnit&)> body) {
  TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt, to.bytes));
  Node& node = *attempt->parts.node;
  storage::OperationContext operation(servicesOfCopy(attempt->parts), OperationOrigin::kApplier);
  operation.setWriteMode(storage::WriteMode::kApplied);
  operation.setAppliedTime(attempt->at);
  operation.setReplaying(true);
  auto held = storage::HeldLock::inEveryRole(operation, storage::ResourceType::kCollection, to.ns.toString(), to.mode);
  storage::ConflictRetry retry = patientCopy();
  for (;;) {
    Status done = co_await acquireLock(node, operation, held);
    if (done.isOK() && attempt->isAbandoned()) co_return isOver();
    if (done.isOK()) done = storage::onSecondaryError(body(operation.recoveryUnit()));
    if (done.isOK()) co_return done;
    const auto delay = retry.next(done);
    if (!delay) co_return done;
    operation.recoveryUnit().abandonSnapshot();
    if (delay->count() > 0) co_await node.sleepFor(*delay);
  }
}

}  // namespace troupe::replication
