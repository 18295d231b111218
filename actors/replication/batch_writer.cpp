#include "actors/replication/batch_writer.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "actors/replication/detached_work.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/logged_command.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::replication {

using storage::ApplyMode;
using storage::ConflictRetry;
using storage::EntryLock;
using storage::HeldLock;
using storage::OperationContext;
using storage::OperationOrigin;
using storage::OplogEntry;

namespace {

storage::OperationServices withoutTickets(storage::OperationServices services) {
  services.admission = nullptr;
  return services;
}

/// There is nobody to give the failure to: a conflict is waited out.
ConflictRetry patientRetry() { return ConflictRetry({.maxWriteConflictRetries = std::numeric_limits<int>::max()}); }

/// The engine holds no document by itself that it could not write: what was too large for its cache fits later.
Status toBeRetried(const Status& failure) { return storage::onSecondaryError(failure); }

/// An index over documents that are there is built by a scan.
bool scansACollection(const OplogEntry& entry, ApplyMode mode) {
  const auto command = storage::parseCommand(entry.operation);
  if (!command.isOK()) return false;
  if (mode == ApplyMode::kReplaying && std::holds_alternative<storage::LoggedCreateIndex>(*command)) return true;
  const auto* build = std::get_if<storage::LoggedIndexBuild>(&*command);
  return build && build->step == storage::LoggedIndexBuild::Step::kCommit;
}

std::string workPathOf(const OplogEntry& entry) {
  const auto time = entry.opTime.timestamp;
  return "/node/replication/index-build/" + std::to_string(time.seconds) + "-" + std::to_string(time.increment);
}

std::shared_ptr<OperationContext> operationOf(const storage::OperationServices& services, const OplogBatch& batch) {
  auto operation = std::make_shared<OperationContext>(services, OperationOrigin::kApplier);
  operation->setWriteMode(storage::WriteMode::kApplied);
  operation->setBatchStart(batch.entries().front().opTime.timestamp);
  return operation;
}

/// How many entries from the front are of the same collection.
size_t lengthOfOneCollection(std::span<const OplogEntry* const> entries) {
  const auto isOther = [&](const OplogEntry* each) { return each->operation.uuid != entries.front()->operation.uuid; };
  return static_cast<size_t>(std::ranges::find_if(entries, isOther) - entries.begin());
}

}  // namespace

/// A batch whose writers are at work. The last of them completes it.
struct BatchWriter::Writing {
  Writing(OplogBatch of, std::vector<Share> between) : batch(std::move(of)), shares(std::move(between)) {
    running = shares.size();
  }

  bool hasFailed() {
    const std::lock_guard lock(mutex);
    return !outcome.isOK();
  }
  void end(Status status) {
    std::unique_lock lock(mutex);
    if (outcome.isOK()) outcome = std::move(status);
    if (--running > 0) return;
    Status whole = outcome;
    lock.unlock();
    ended.set(std::move(whole));
  }

  const OplogBatch batch;
  const std::vector<Share> shares;
  Promise<Status> ended;

 private:
  std::mutex mutex;
  size_t running = 0;
  Status outcome;  ///< the first failure
};

/// An entry that is carried out by itself, and what that takes: the task that awaits it may go away before it has
/// ended.
struct BatchWriter::Alone {
  Alone(OplogBatch of, std::shared_ptr<OperationContext> by) : batch(std::move(of)), operation(std::move(by)) {}
  const OplogBatch batch;
  const std::shared_ptr<OperationContext> operation;
  std::vector<HeldLock> locks;  ///< of the operation
};

BatchWriter::BatchWriter(const Parts& parts, const Options& options)
    : node_(parts.node),
      catalog_(parts.catalog),
      log_(parts.log),
      services_(withoutTickets(parts.services)),
      options_(options),
      applier_(parts.catalog, options.mode) {}

Task<Status> BatchWriter::write(OplogBatch batch) {
  TROUPE_CO_TRY(co_await writeLog(batch));
  co_return co_await writeDocuments(std::move(batch));
}

Task<bool> BatchWriter::retries(ConflictRetry& retry, Status failure) {
  const auto delay = retry.next(failure);
  if (!delay) co_return false;
  conflicts_.fetch_add(1, std::memory_order_relaxed);
  if (delay->count() > 0) co_await node_.sleepFor(*delay);
  co_return true;
}

Task<Status> BatchWriter::writeLog(OplogBatch batch) {
  if (batch.count == 0) co_return Status::OK();
  OperationContext operation(services_, OperationOrigin::kApplier);
  HeldLock global = HeldLock::inEveryRole(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIX);
  TROUPE_CO_TRY(co_await acquireLock(node_, operation, global));
  ConflictRetry retry = patientRetry();
  for (;;) {
    const Status done = toBeRetried(storage::logEntries(operation, log_, batch.entries(), batch.documents()));
    if (done.isOK()) co_return done;
    const bool again = co_await retries(retry, done);
    if (!again) co_return done;
  }
}

Task<Status> BatchWriter::writeDocuments(OplogBatch batch) {
  if (batch.count == 0) co_return Status::OK();
  if (isAlone(batch.entries().front())) co_return co_await writeAlone(std::move(batch));
  auto shares = spread(batch);
  if (shares.empty()) co_return Status::OK();
  auto writing = std::make_shared<Writing>(std::move(batch), std::move(shares));
  auto ended = writing->ended.future();
  for (size_t i = 0; i < writing->shares.size(); ++i) node_.start(runShare(writing, i));
  co_return co_await ended;
}

std::vector<BatchWriter::Share> BatchWriter::spread(const OplogBatch& batch) const {
  const auto catalog = catalog_.snapshot();
  const auto traitsOf = [&](const bson::Uuid& uuid) -> storage::CollectionTraits {
    const storage::CollectionPtr collection = catalog->find(uuid);
    if (!collection) return {};
    return {collection->isCapped(), collection->sharedCollator()};
  };
  const size_t worthwhile = 1 + batch.count / std::max<size_t>(1, options_.entriesPerWriter);
  auto shares = storage::spread(batch.entries(), std::clamp<size_t>(options_.writers, 1, worthwhile), traitsOf);
  std::erase_if(shares, [](const Share& share) { return share.empty(); });
  return shares;
}

/// On the pool, where nobody hears of an exception.
Task<void> BatchWriter::runShare(std::shared_ptr<Writing> writing, size_t share) {
  co_await node_.nextTurn();
  Status outcome;
  try {
    outcome = co_await writeShare(writing, share);
  } catch (const std::exception& failure) {
    outcome = {ErrorCode::kInternalError, std::string("a writer of a batch failed: ") + failure.what()};
  }
  writing->end(std::move(outcome));
}

Task<Status> BatchWriter::writeShare(std::shared_ptr<Writing> writing, size_t share) {
  Entries left = writing->shares[share];
  while (!left.empty()) {
    const size_t together = lengthOfOneCollection(left);
    TROUPE_CO_TRY(co_await writeCollection(writing, left.first(together)));
    left = left.subspan(together);
  }
  co_return Status::OK();
}

/// The collection cannot be renamed or dropped meanwhile: that would be a batch of its own.
Task<Status> BatchWriter::writeCollection(std::shared_ptr<Writing> writing, Entries entries) {
  const auto operation = operationOf(services_, writing->batch);
  const storage::LoggedOperation& first = entries.front()->operation;
  std::vector<EntryLock> wanted;
  if (first.uuid) wanted.push_back(documentLock(*catalog_.snapshot(), *first.uuid, first.ns));
  TROUPE_CO_ASSIGN(const auto locks, co_await acquire(*operation, std::move(wanted)));
  storage::UnitLimits limits = options_.unit;
  ConflictRetry retry = patientRetry();
  while (!entries.empty() && !writing->hasFailed()) {
    const auto done = applyInUnit(applier_, *operation, entries, limits);
    if (done.isOK()) {
      units_.fetch_add(1, std::memory_order_relaxed);
      entries = entries.subspan(*done);
      retry = patientRetry();
      if (!entries.empty()) co_await node_.nextTurn();
      continue;
    }
    const bool again = co_await retries(retry, toBeRetried(done.status()));
    if (!again) co_return done.status();
  }
  co_return Status::OK();
}

Task<StatusWith<std::vector<HeldLock>>> BatchWriter::acquire(OperationContext& operation,
                                                             std::vector<EntryLock> wanted) {
  ConflictRetry retry = patientRetry();
  for (;;) {
    std::vector<HeldLock> held;
    held.reserve(wanted.size());
    Status outcome;
    for (const EntryLock& each : wanted) {
      held.push_back(HeldLock::inEveryRole(operation, each.type, each.name, each.mode));
      outcome = co_await acquireLock(node_, operation, held.back());
      if (!outcome.isOK()) break;
    }
    if (outcome.isOK()) co_return StatusWith<std::vector<HeldLock>>(std::move(held));
    held.clear();
    const bool again = co_await retries(retry, outcome);  // the wait would have been a deadlock
    if (!again) co_return outcome;
  }
}

Task<Status> BatchWriter::writeAlone(OplogBatch batch) {
  const OplogEntry& entry = batch.entries().front();
  auto alone = std::make_shared<Alone>(batch, operationOf(services_, batch));
  TROUPE_CO_ASSIGN(auto wanted, storage::locksOf(*catalog_.snapshot(), entry.operation, options_.mode));
  TROUPE_CO_ASSIGN(alone->locks, co_await acquire(*alone->operation, std::move(wanted)));
  ConflictRetry retry = patientRetry();
  for (;;) {
    Status done = co_await applyAlone(alone);
    if (done.isOK()) {
      units_.fetch_add(1, std::memory_order_relaxed);
      co_return done;
    }
    const bool again = co_await retries(retry, toBeRetried(done));
    if (!again) co_return done.withContext(nameOf(entry));
    alone->operation->recoveryUnit().abandonSnapshot();
  }
}

Task<Status> BatchWriter::applyAlone(std::shared_ptr<Alone> alone) {
  const OplogEntry& entry = alone->batch.entries().front();
  if (!scansACollection(entry, options_.mode)) co_return applier_.apply(*alone->operation, entry);
  std::function<Status()> work = [this, alone] {
    return applier_.apply(*alone->operation, alone->batch.entries().front());
  };
  std::string path = workPathOf(entry);
  co_return co_await runDetached(node_, std::move(path), std::move(work));
}

}  // namespace troupe::replication
