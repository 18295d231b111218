#include "actors/replication/batch_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "actors/replication/applier_services.hpp"
#include "actors/replication/detached_work.hpp"
#include "actors/replication/followed_builds.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/logged_command.hpp"
#include "storage/oplog/oplog_batches.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::replication {

using storage::ApplyMode;
using BuildStep = storage::LoggedIndexBuild::Step;
using storage::ConflictRetry;
using storage::EntryLock;
using storage::HeldLock;
using storage::LockMode;
using storage::OperationContext;
using storage::OperationOrigin;
using storage::OplogEntry;

namespace {

/// There is nobody to give the failure to: a conflict is waited out.
ConflictRetry patientRetry() { return ConflictRetry({.maxWriteConflictRetries = std::numeric_limits<int>::max()}); }

/// The engine holds no document by itself that it could not write: what was too large for its cache fits later.
Status toBeRetried(const Status& failure) { return storage::onSecondaryError(failure); }

/// The step of an index build that the operation is; nothing: it is another one.
std::optional<storage::LoggedIndexBuild> buildIn(const storage::LoggedOperation& operation) {
  if (operation.kind != storage::OplogKind::kCommand) return std::nullopt;
  auto command = storage::parseCommand(operation);
  auto* const build = command.isOK() ? std::get_if<storage::LoggedIndexBuild>(&*command) : nullptr;
  return build ? std::optional(std::move(*build)) : std::nullopt;
}

/// An index over documents that are there is built by a scan.
bool scansACollection(const OplogEntry& entry, ApplyMode mode) {
  if (const auto build = buildIn(entry.operation)) return build->step == BuildStep::kCommit;
  const auto command = storage::parseCommand(entry.operation);
  return mode == ApplyMode::kReplaying && command.isOK() &&
         std::holds_alternative<storage::LoggedCreateIndex>(*command);
}

/// Each attempt has its own: the actor of the one before may not be gone.
std::string workPathOf(const OplogEntry& entry, int64_t attempt) {
  const auto time = entry.opTime.timestamp;
  return fmt::format("/node/replication/index-build/{}-{}-{}", time.seconds, time.increment, attempt);
}

/// How many entries from the front are of the same collection.
size_t lengthOfOneCollection(std::span<const OplogEntry* const> entries) {
  const auto isOther = [&](const OplogEntry* each) { return each->operation.uuid != entries.front()->operation.uuid; };
  return static_cast<size_t>(std::ranges::find_if(entries, isOther) - entries.begin());
}

}  // namespace

size_t OplogBatch::bytes() const {
  size_t sum = 0;
  for (const bson::Document& each : documents()) sum += each.bytes().size();
  return sum;
}

/// A batch with all the locks that it needs. Those who write it share it.
struct BatchWriter::Holding {
  Holding(OplogBatch of, const storage::OperationServices& services)
      : batch(std::move(of)), operation(services, OperationOrigin::kApplier) {}

  const OplogBatch batch;
  OperationContext operation;  ///< owns the locks, and does nothing
  std::vector<HeldLock> locks;
  std::unique_ptr<storage::IndexBuilder> scanned;  ///< for the index build that the batch commits; may be null
};

/// A batch whose writers are at work. The last of them completes it.
struct BatchWriter::Writing {
  Writing(std::shared_ptr<Holding> of, std::vector<Share> between, std::vector<Share> sessions)
      : holding(std::move(of)), shares(std::move(between)), firstOfSessions(shares.size()) {
    std::ranges::move(sessions, std::back_inserter(shares));
    running = shares.size();
  }

  bool hasFailed() {
    const std::lock_guard lock(mutex);
    return !outcome.isOK();
  }
  /// The locks go before the end is told: another writer may still be about to leave its coroutine, which keeps this.
  void end(Status status) {
    std::unique_lock lock(mutex);
    if (outcome.isOK()) outcome = std::move(status);
    if (--running > 0) return;
    Status whole = outcome;
    lock.unlock();
    holding.reset();
    ended.set(std::move(whole));
  }

  std::shared_ptr<Holding> holding;  ///< until the last writer has ended
  std::vector<Share> shares;
  const size_t firstOfSessions;  ///< from here on they are of records of sessions
  Promise<Status> ended;

 private:
  std::mutex mutex;
  size_t running = 0;
  Status outcome;  ///< the first failure
};

BatchWriter::BatchWriter(const Parts& parts, const Options& options)
    : node_(parts.node),
      catalog_(parts.catalog),
      log_(parts.log),
      services_(withoutTickets(parts.services)),
      options_(options),
      applier_(parts.catalog, options.mode),
      sessions_(parts.catalog, options.mode),
      applied_(parts.applied),
      builds_(parts.builds) {}

Task<Status> BatchWriter::write(OplogBatch batch) {
  TROUPE_CO_ASSIGN(const auto holding, co_await begin(std::move(batch)));
  TROUPE_CO_TRY(co_await log(holding));
  co_return co_await carryOut(holding);
}

Task<Status> BatchWriter::writeLog(OplogBatch batch) {
  TROUPE_CO_ASSIGN(const auto holding, co_await begin(std::move(batch)));
  co_return co_await log(holding);
}

Task<Status> BatchWriter::writeDocuments(OplogBatch batch) {
  TROUPE_CO_ASSIGN(const auto holding, co_await begin(std::move(batch)));
  co_return co_await carryOut(holding);
}

Task<StatusWith<std::shared_ptr<BatchWriter::Holding>>> BatchWriter::begin(OplogBatch batch) {
  begun_ = false;
  TROUPE_CO_ASSIGN(auto scanned, co_await scannedFor(batch));
  TROUPE_CO_ASSIGN(auto wanted, locksFor(batch));
  auto holding = std::make_shared<Holding>(std::move(batch), services_);
  holding->scanned = std::move(scanned);
  TROUPE_CO_TRY(co_await acquire(holding, std::move(wanted)));
  begun_ = true;
  co_return holding;
}

/// In the order of their names. No collection can be renamed or dropped within a batch: that would be another one.
StatusWith<std::vector<EntryLock>> BatchWriter::locksFor(const OplogBatch& batch) const {
  const auto catalog = catalog_.snapshot();
  const auto ofSessions = [](std::vector<EntryLock> wanted) {
    for (const storage::Namespace* ns : {&storage::transactionsNamespace(), &storage::imagesNamespace()})
      wanted.push_back({storage::ResourceType::kCollection, ns->toString(), LockMode::kIX});
    std::ranges::sort(wanted);
    return wanted;
  };
  const bool hasSessions =
      std::ranges::any_of(batch.entries(), [](const auto& each) { return each.session.has_value(); });
  if (isAlone(batch.entries().front())) {
    TROUPE_ASSIGN(auto alone, storage::locksOf(*catalog, batch.entries().front().operation, options_.mode));
    return hasSessions ? ofSessions(std::move(alone)) : std::move(alone);
  }
  std::map<bson::Uuid, std::string_view> collections;
  for (const OplogEntry& each : batch.entries())
    if (each.operation.uuid) collections.emplace(*each.operation.uuid, each.operation.ns);
  std::vector<EntryLock> wanted;
  for (const auto& [uuid, ns] : collections) wanted.push_back(documentLock(*catalog, uuid, ns));
  std::ranges::sort(wanted);
  return hasSessions ? ofSessions(std::move(wanted)) : std::move(wanted);
}

Task<StatusWith<std::unique_ptr<storage::IndexBuilder>>> BatchWriter::scannedFor(const OplogBatch& batch) const {
  const storage::LoggedOperation& operation = batch.entries().front().operation;
  const auto build = builds_ && operation.uuid ? buildIn(operation) : std::nullopt;
  if (!build || build->step != BuildStep::kCommit) co_return std::unique_ptr<storage::IndexBuilder>();
  co_return co_await builds_->takeScanned(*operation.uuid, build->build);
}

void BatchWriter::noteBuilds(const OplogEntry& entry) const {
  if (!builds_) return;
  (void)storage::eachOperation(entry.operation, [&](const storage::LoggedOperation& operation) {
    const auto build = operation.uuid ? buildIn(operation) : std::nullopt;
    if (build && build->step == BuildStep::kStart) builds_->begin(*operation.uuid, build->build);
    else if (build) builds_->forget(build->build);
    return Status::OK();
  });
}

/// The state transition is left out: it would hold up a change of the role, which ends by draining the applier.
Task<Status> BatchWriter::acquire(std::shared_ptr<Holding> holding, std::vector<EntryLock> wanted) {
  ConflictRetry retry = patientRetry();
  auto& held = holding->locks;
  held.reserve(wanted.size() + 1);
  for (;;) {
    held.push_back(HeldLock::inEveryRole(holding->operation, storage::ResourceType::kGlobal, {}, LockMode::kIX));
    Status outcome = co_await acquireLock(node_, holding->operation, held.back());
    for (const EntryLock& each : wanted) {
      if (!outcome.isOK()) break;
      held.push_back(HeldLock::inEveryRole(holding->operation, each.type, each.name, each.mode));
      outcome = co_await acquireLock(node_, holding->operation, held.back());
    }
    if (outcome.isOK()) co_return outcome;
    held.clear();
    const bool again = co_await retries(retry, outcome);  // the wait would have been a deadlock
    if (!again) co_return outcome;
  }
}

/// Its locks are those of the batch.
std::shared_ptr<OperationContext> BatchWriter::operationFor(const OplogBatch& batch) const {
  storage::OperationServices services = services_;
  services.locks = nullptr;
  auto operation = std::make_shared<OperationContext>(services, OperationOrigin::kApplier);
  operation->setWriteMode(storage::WriteMode::kApplied);
  operation->setBatchStart(batch.entries().front().opTime.timestamp);
  return operation;
}

Task<bool> BatchWriter::retries(ConflictRetry& retry, Status failure) {
  const auto delay = retry.next(failure);
  if (!delay) co_return false;
  conflicts_.fetch_add(1, std::memory_order_relaxed);
  if (delay->count() > 0) co_await node_.sleepFor(*delay);
  co_return true;
}

Task<Status> BatchWriter::log(std::shared_ptr<Holding> holding) {
  const OplogBatch& batch = holding->batch;
  const auto operation = operationFor(batch);
  ConflictRetry retry = patientRetry();
  for (;;) {
    const Status done = toBeRetried(storage::logEntries(*operation, log_, batch.entries(), batch.documents()));
    if (done.isOK()) co_return done;
    const bool again = co_await retries(retry, done);
    if (!again) co_return done;
  }
}

Task<Status> BatchWriter::carryOut(std::shared_ptr<Holding> holding) {
  if (isAlone(holding->batch.entries().front())) co_return co_await writeAlone(std::move(holding));
  auto documents = spread(holding->batch);
  auto sessions = spreadSessions(holding->batch);
  if (sessions_.readsDocuments(holding->batch.entries())) {
    std::vector<Share> none;
    TROUPE_CO_TRY(co_await runShares(holding, std::move(documents), std::move(none)));
    documents.clear();
  }
  co_return co_await runShares(std::move(holding), std::move(documents), std::move(sessions));
}

Task<Status> BatchWriter::runShares(std::shared_ptr<Holding> holding, std::vector<Share> documents,
                                    std::vector<Share> sessions) {
  if (documents.empty() && sessions.empty()) co_return Status::OK();
  const bool isSmall = documents.size() <= 1 && sessions.size() <= 1;
  auto writing = std::make_shared<Writing>(std::move(holding), std::move(documents), std::move(sessions));
  auto ended = writing->ended.future();
  if (isSmall) {
    node_.start(runInTurn(writing));
  } else {
    for (size_t i = 0; i < writing->shares.size(); ++i) node_.start(runShare(writing, i));
  }
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

std::vector<BatchWriter::Share> BatchWriter::spreadSessions(const OplogBatch& batch) const {
  const size_t worthwhile = 1 + batch.count / (8 * std::max<size_t>(1, options_.entriesPerWriter));
  auto shares = storage::spreadSessions(batch.entries(), std::clamp<size_t>(options_.writers, 1, worthwhile));
  std::erase_if(shares, [](const Share& share) { return share.empty(); });
  return shares;
}

/// Writing the few entries takes less time than waking another thread for them, so it begins on this one. It is the
/// pool's nevertheless: it goes on when the task that awaits it has gone.
Task<void> BatchWriter::runInTurn(std::shared_ptr<Writing> writing) {
  StatusWith<bool> isWritten = false;
  try {
    isWritten = tryTogether(*writing);
  } catch (const std::exception& failure) {  // with the commit or after it: nobody knows what was written
    isWritten = Status(ErrorCode::kInternalError, std::string("the end of a batch failed: ") + failure.what());
  }
  for (size_t i = 0; i < writing->shares.size(); ++i) {
    if (!isWritten.isOK()) writing->end(isWritten.status());
    else if (*isWritten) writing->end(Status::OK());
    else co_await finishShare(writing, i);
  }
}

/// Documents and the records of their sessions, as a primary commits them: one storage transaction costs less than two.
/// Batches whose sessions keep images come here without their documents (`carryOut`): images are read from what was
/// committed. Whatever stands in the way, a conflict or a unit that is too large, is left to the writers of the shares,
/// and what stands in the way of one batch may do so for the next ones.
bool BatchWriter::tryTogether(const Writing& writing) {
  const OplogBatch& batch = writing.holding->batch;
  const bool hasBoth = writing.shares.size() == 2 && writing.firstOfSessions == 1;
  if (!hasBoth || batch.count > options_.entriesPerWriter) return false;
  if (apart_ > 0) {
    --apart_;
    return false;
  }
  const Share& documents = writing.shares.front();
  const TimePoint begun = node_.environment().now();
  const auto operation = operationFor(batch);
  if (!sessions_.putWithDocuments(*operation, applier_, documents, writing.shares.back(), options_.unit).isOK()) {
    apart_ = kBatchesApart;
    return false;
  }
  noteUnit(*documents.front(), documents.size(), begun);
  return true;
}

Task<void> BatchWriter::runShare(std::shared_ptr<Writing> writing, size_t share) {
  co_await node_.nextTurn();
  co_await finishShare(std::move(writing), share);
}

/// On the pool, where nobody hears of an exception.
Task<void> BatchWriter::finishShare(std::shared_ptr<Writing> writing, size_t share) {
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
  if (share >= writing->firstOfSessions) co_return co_await writeSessions(writing, left);
  while (!left.empty()) {
    const size_t together = lengthOfOneCollection(left);
    TROUPE_CO_TRY(co_await writeCollection(writing, left.first(together)));
    left = left.subspan(together);
  }
  co_return Status::OK();
}

Task<Status> BatchWriter::writeCollection(std::shared_ptr<Writing> writing, Entries entries) {
  const auto operation = operationFor(writing->holding->batch);
  storage::UnitLimits limits = options_.unit;
  ConflictRetry retry = patientRetry();
  while (!entries.empty() && !writing->hasFailed()) {
    const TimePoint begun = node_.environment().now();
    const auto done = applyInUnit(applier_, *operation, entries, limits);
    if (done.isOK()) {
      noteUnit(*entries.front(), *done, begun);
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

Task<Status> BatchWriter::writeSessions(std::shared_ptr<Writing> writing, Entries entries) {
  const auto operation = operationFor(writing->holding->batch);
  storage::UnitLimits limits = options_.unit;
  ConflictRetry retry = patientRetry();
  while (!entries.empty() && !writing->hasFailed()) {
    const auto done = sessions_.putInUnit(*operation, entries, limits);
    if (done.isOK()) {
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

void BatchWriter::noteUnit(const OplogEntry& first, size_t count, TimePoint begun) {
  units_.fetch_add(1, std::memory_order_relaxed);
  if (applied_) applied_({first, count, node_.environment().now() - begun});
}

Task<Status> BatchWriter::writeAlone(std::shared_ptr<Holding> holding) {
  const auto operation = operationFor(holding->batch);
  storage::UnitLimits limits = options_.unit;
  ConflictRetry retry = patientRetry();
  for (;;) {
    const TimePoint begun = node_.environment().now();
    Status done = co_await applyAlone(holding, operation);
    const OplogEntry* const entry = &holding->batch.entries().front();
    if (done.isOK() && entry->session) done = sessions_.putInUnit(*operation, {&entry, 1}, limits).status();
    if (done.isOK()) {
      noteUnit(holding->batch.entries().front(), 1, begun);
      noteBuilds(holding->batch.entries().front());
      co_return done;
    }
    const bool again = co_await retries(retry, toBeRetried(done));
    if (!again) co_return done.withContext(nameOf(holding->batch.entries().front()));
    operation->recoveryUnit().abandonSnapshot();
  }
}

void BatchWriter::endScans() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  if (const auto scanning = scanning_.lock()) scanning->kill(ErrorCode::kInterruptedAtShutdown);
}

/// What runs apart owns what it works with: the task that awaits it may go away before it has ended.
Task<Status> BatchWriter::applyAlone(std::shared_ptr<Holding> holding, std::shared_ptr<OperationContext> operation) {
  const OplogEntry& entry = holding->batch.entries().front();
  if (holding->scanned) co_return applier_.commitScanned(*operation, entry, *holding->scanned);
  if (!scansACollection(entry, options_.mode)) co_return applier_.apply(*operation, entry);
  std::function<Status()> work = [this, holding, operation] {
    return applier_.apply(*operation, holding->batch.entries().front());
  };
  int64_t attempt = 0;
  {
    const std::lock_guard lock(mutex_);
    attempt = ++scansApart_;
    scanning_ = operation;
    if (ends_) operation->kill(ErrorCode::kInterruptedAtShutdown);
  }
  std::string path = workPathOf(entry, attempt);
  co_return co_await runDetached(node_, std::move(path), std::move(work));
}

}  // namespace troupe::replication
