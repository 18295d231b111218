#include "actors/maintenance/index_build.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/maintenance/discard_build.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/storage/storage_waits.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::maintenance {

using storage::CollectionPtr;
using storage::LockMode;

namespace {

/// Documents indexed in one unit of work.
constexpr int kBatch = 256;
/// Where the fail point failIndexBuild refuses a batch as a full cache does.
constexpr std::string_view kBatchPhase = "batch";
/// How long a scan holds its lock at a time: so long at most it keeps a drop, and the writers behind it, waiting.
constexpr auto kScanSlice = std::chrono::milliseconds(100);
/// How often a build that a fail point holds looks whether it may go on.
constexpr auto kLookEvery = std::chrono::milliseconds(20);

bson::Document shownCommand(const BuildIndexes& wanted) {
  bson::Builder b;
  b.append("createIndexes", wanted.ns.collection()).openArray("indexes");
  for (const bson::Document& spec : wanted.specs) b.push(spec);
  return b.close().append("$db", wanted.ns.db()).finish();
}

StatusWith<bool> isEmpty(storage::RecoveryUnit& unit, const storage::Collection& collection) {
  unit.abandonSnapshot();
  TROUPE_ASSIGN(auto records, collection.records().cursor(unit));
  TROUPE_ASSIGN(const bool found, records.next());
  return !found;
}

}  // namespace

IndexBuild::IndexBuild(server::ServerContext& server, bson::Uuid build, BuildIndexes wanted)
    : server_(server),
      build_(build),
      wanted_(std::move(wanted)),
      operation_(server, "IndexBuild " + build.toString(), wanted_.ns, shownCommand(wanted_)),
      writer_(server.writes, *operation_) {
  operation_->setPriority(storage::AdmissionPriority::kLow);
  if (wanted_.ns.isReplicated()) operation_->announceWrites();
}

void IndexBuild::onStart() { start(run()); }

void IndexBuild::onStopRequested() { operation_->kill(ErrorCode::kIndexBuildAborted); }

/// The locks go before the end is told: who hears of it finds none of them.
Task<void> IndexBuild::run() {
  StatusWith<IndexesBuilt> outcome = co_await build();
  operation_->recoveryUnit().releaseSession();
  decide();
  if (outcome.isOK()) outcome->lastOpTime = operation_->lastOpTime();
  else if (builder_) co_await giveUp();
  co_await reachWhenEnded("ended");
  const size_t name = self().path().rfind('/');
  tell(node().address(self().path().substr(0, name)), local(BuildDone{build_, std::move(outcome)}));
  stop();
}

/// Told while the lock is held under which the outcome became certain, where there is one: operations that come after
/// it may drop the index, or remove a duplicate, and ask for the index anew. IndexBuilds gets this before their
/// request.
void IndexBuild::decide() {
  if (std::exchange(isDecided_, true)) return;
  const size_t name = self().path().rfind('/');
  tell(node().address(self().path().substr(0, name)), local(BuildDecided{build_}));
}

Task<StatusWith<IndexesBuilt>> IndexBuild::build() {
  IndexesBuilt built;
  for (;;) {
    setPhase("setting up", "makes the unfinished indexes, under the collection's exclusive lock");
    TROUPE_CO_TRY(co_await reach("setting up", *operation_));
    TROUPE_CO_ASSIGN(const SetUp done, co_await setUp(built));
    if (done == SetUp::kComplete) co_return built;
    if (done == SetUp::kMustScan) break;
    TROUPE_CO_TRY(co_await untilOthersEnded());
  }
  setPhase("scanning", "indexes the documents, slice by slice, beside readers and writers");
  TROUPE_CO_TRY(co_await reach("set up", *operation_));
  TROUPE_CO_TRY(co_await scan());
  setPhase("committing", "makes the indexes ready, under the collection's exclusive lock");
  TROUPE_CO_TRY(co_await reach("committing", *operation_));
  TROUPE_CO_TRY(co_await commit());
  co_return built;
}

Task<StatusWith<IndexBuild::SetUp>> IndexBuild::setUp(IndexesBuilt& built) {
  const auto lock = co_await lockCollection(node(), *operation_, server_.catalog.unguarded(), wanted_.collection,
                                            wanted_.ns, LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  const StatusWith<SetUp> done = co_await setUpLocked(built);
  if (!done.isOK() || *done == SetUp::kComplete) decide();
  co_return done;
}

/// What exists, and what others are making, is only known for sure under the lock.
Task<StatusWith<IndexBuild::SetUp>> IndexBuild::setUpLocked(IndexesBuilt& built) {
  const CollectionPtr collection = server_.catalog.unguarded().snapshot()->find(wanted_.collection);
  if (!collection)
    co_return Status(ErrorCode::kNamespaceNotFound,
                     "the collection was dropped while its index was to be created: " + wanted_.ns.toString());
  TROUPE_CO_ASSIGN(auto missing, storage::newIndexes(server_.catalog.unguarded(), *collection, specs()));
  TROUPE_CO_ASSIGN(others_, storage::buildsUnderWay(*collection, specs()));
  if (!others_.empty()) co_return SetUp::kAwaitsOthers;
  built.before = built.after = static_cast<int32_t>(collection->indexes().size());
  if (missing.empty()) co_return SetUp::kComplete;
  built.after += static_cast<int32_t>(missing.size());
  TROUPE_CO_TRY(writer_.roomForTable());
  TROUPE_CO_ASSIGN(const bool empty, isEmpty(operation_->recoveryUnit(), *collection));
  operation_->recoveryUnit().abandonSnapshot();
  if (empty) {
    TROUPE_CO_TRY(co_await createOnEmpty(collection, std::move(missing)));
    co_return SetUp::kComplete;
  }
  operation_->ns = collection->ns().toString();
  estimated_ = collection->records().count();
  builder_.emplace(server_.catalog.unguarded(), collection->ns(), std::move(missing), build_);
  auto begin = [this]() -> Status { return builder_->start(operation_->recoveryUnit()); };
  TROUPE_CO_TRY(co_await writer_.commit(begin));
  co_return SetUp::kMustScan;
}

/// Without documents there is nothing to scan: the indexes are ready at once.
Task<Status> IndexBuild::createOnEmpty(CollectionPtr collection, std::vector<storage::IndexSpec> specs) {
  auto create = [&]() -> Status {
    CollectionPtr last = collection;
    for (const auto& spec : specs) {
      TROUPE_ASSIGN(last,
                    storage::createEmptyIndex(server_.catalog.unguarded(), operation_->recoveryUnit(), last, spec));
    }
    return Status::OK();
  };
  co_return co_await writer_.commit(create);
}

/// A build of the catalog that does not run was left by a primary that lost the right to discard it.
Task<Status> IndexBuild::untilOthersEnded() {
  setPhase("waiting", "another build makes some of its indexes");
  const Address builds = node().address(kIndexBuildsPath);
  for (const bson::Uuid& other : others_) {
    AwaitBuilds wanted{{other}};
    auto asked = ask(builds, local(std::move(wanted)));
    const Answer ended = co_await awaitAnswer(node(), *operation_, std::move(asked));
    if (!ended.isOK()) co_return ended.status();
    if (ended->local<BuildsEnded>().found > 0) continue;
    storage::UnfinishedBuild left{wanted_.collection, wanted_.ns, other};
    TROUPE_CO_TRY(co_await discardBuild(server_, *operation_, std::move(left)));
  }
  others_.clear();
  co_return Status::OK();
}

Task<Status> IndexBuild::scan() {
  for (;;) {
    const uint64_t decided = writer_.preparedDecisions();
    const StatusWith<bool> ended = co_await slice();
    showProgress();
    if (ended.status() == ErrorCode::kPreparedTransactionInProgress) {
      TROUPE_CO_TRY(co_await writer_.untilDecided(decided));
      continue;
    }
    if (ended.status() == ErrorCode::kNotWritablePrimary) {
      TROUPE_CO_TRY(co_await untilWritable());
      continue;
    }
    if (const auto pause = pauseAfter(ended.status())) {
      Status paused = co_await writer_.pause(*pause);
      if (!paused.isOK() && paused != ErrorCode::kNotWritablePrimary) co_return paused;
      continue;
    }
    if (!ended.isOK()) {
      if (isDecided_) co_return ended.status();
      decide();  // a writer may have removed what the scan refuses: only what is still there ends the build
      continue;
    }
    TROUPE_CO_TRY(co_await reach("scanning", *operation_));
    if (*ended) co_return Status::OK();
    co_await node().nextTurn();  // operators may ask for its state
  }
}

Task<StatusWith<bool>> IndexBuild::slice() {
  const auto lock = co_await lockCollection(node(), *operation_, server_.catalog.unguarded(), wanted_.collection,
                                            wanted_.ns, LockMode::kIX);
  if (!lock.isOK()) co_return lock.status();
  co_return scanSlice();
}

/// Scans for a slice of time; batches that conflict with writers are run again. True at the end of the collection.
StatusWith<bool> IndexBuild::scanSlice() {
  storage::RecoveryUnit& unit = operation_->recoveryUnit();
  const TimePoint begun = environment().now();
  do {
    server_.disk.look();  // nobody knows how many keys a document has
    TROUPE_TRY(server_.writes.roomFor(0));
    storage::ConflictRetry retry({.immediateRetries = 100'000, .maxWriteConflictRetries = 100'000}, &server_.conflicts);
    const auto ended = storage::writeConflictRetry(retry, unit, [&]() -> StatusWith<bool> { return scanBatch(begun); });
    conflicts_ += retry.conflicts();
    if (!ended.isOK() || *ended) {
      unit.abandonSnapshot();
      return ended;
    }
  } while (environment().now() - begun < kScanSlice && !isHeldAt("scanning"));
  unit.abandonSnapshot();
  return false;
}

StatusWith<bool> IndexBuild::scanBatch(TimePoint now) {
  TROUPE_TRY(operation_->checkForInterrupt(now));
  const auto applies = [](bson::View data) { return data["phase"].toStringOr() == kBatchPhase; };
  if (server_.failPoints.fires("failIndexBuild", applies))
    return Status(ErrorCode::kTemporarilyUnavailable, "the cache has no room on purpose");
  return builder_->step(operation_->recoveryUnit(), kBatch);
}

/// Where the cache had no room for a batch: how long to wait, without the lock, before the slice goes on, as a writer
/// waits (STX-007). Nothing: it has been refused for too long, or is no such outcome.
std::optional<std::chrono::milliseconds> IndexBuild::pauseAfter(const Status& outcome) {
  if (outcome != ErrorCode::kTemporarilyUnavailable) {
    refusals_ = 0;
    return std::nullopt;
  }
  const auto options = server_.writes.retryOptions ? server_.writes.retryOptions() : storage::ConflictRetryOptions{};
  // A slice may have written much before it was refused.
  if (builder_->documentsScanned() > std::exchange(scannedWhenRefused_, builder_->documentsScanned())) refusals_ = 0;
  if (++refusals_ > options.temporarilyUnavailableMaxRetries) return std::nullopt;
  return options.temporarilyUnavailableBackoffBase * refusals_;
}

Task<Status> IndexBuild::commit() {
  for (;;) {
    const Status outcome = co_await commitOnce();
    if (outcome != ErrorCode::kNotWritablePrimary) co_return outcome;
    TROUPE_CO_TRY(co_await untilWritable());
  }
}

Task<Status> IndexBuild::commitOnce() {
  const auto lock = co_await lockCollection(node(), *operation_, server_.catalog.unguarded(), wanted_.collection,
                                            wanted_.ns, LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  auto finish = [this]() -> Status { return builder_->commit(operation_->recoveryUnit()); };
  const Status outcome = co_await writer_.commit(finish);
  if (outcome != ErrorCode::kNotWritablePrimary) decide();
  co_return outcome;
}

/// Writes are refused: by a step-down, which kills this operation if it succeeds and gives the writes back if no
/// secondary catches up in time. In another term the next write is refused for good. Holds no locks meanwhile.
Task<Status> IndexBuild::untilWritable() {
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  server_.operations.replicated->fence.whenOpen([promise] { promise->set(Status::OK()); });
  const auto end = [promise](const Status& why) { promise->set(why); };
  const InterruptibleWait guard(environment(), *operation_, end);
  co_return co_await outcome;
}

/// Its own operation may have been killed: the removal is another one's, which logs what became of it. What it could
/// not remove is its supervisor's to try again.
Task<void> IndexBuild::giveUp() {
  setPhase("aborting", "removes the unfinished indexes");
  co_await reachWhenEnded("aborting");
  storage::UnfinishedBuild left{wanted_.collection, wanted_.ns, build_};
  (void)co_await discardBuild(server_, std::move(left));
}

bool IndexBuild::isHeldAt(std::string_view phase) {
  const auto applies = [phase](bson::View data) { return data["phase"].toStringOr(phase) == phase; };
  return server_.failPoints.fires("hangIndexBuild", applies).has_value();
}

/// A point between two steps where tests hold a build (fail point hangIndexBuild, {phase}) or make its actor fail
/// (failIndexBuild).
Task<Status> IndexBuild::reach(const char* phase, storage::OperationContext& operation) {
  const std::string_view here = phase;
  const auto applies = [here](bson::View data) { return data["phase"].toStringOr(here) == here; };
  if (server_.failPoints.fires("failIndexBuild", applies)) throw std::runtime_error("fails on purpose");
  CollectionWriter waiting(server_.writes, operation);
  while (isHeldAt(here)) TROUPE_CO_TRY(co_await waiting.pause(kLookEvery));
  co_return operation.checkForInterrupt(environment().now());
}

/// A point behind the outcome, which a kill of the operation does not change any more.
Task<void> IndexBuild::reachWhenEnded(const char* phase) {
  storage::OperationContext waiting(server_.operations);
  (void)co_await reach(phase, waiting);
}

void IndexBuild::showProgress() {
  storage::OperationProgress& progress = operation_->metrics.progress;
  progress.done.store(builder_->documentsScanned(), std::memory_order_relaxed);
  progress.total.store(std::max(estimated_, builder_->documentsScanned()), std::memory_order_relaxed);
  progress.message = "Index Build: scanning collection";
}

bson::Document IndexBuild::describe() const {
  bson::Builder b;
  b.append("build", build_).append("collection", operation_->shownNs()).openArray("indexes");
  for (const bson::Document& spec : wanted_.specs) b.push(spec["name"]);
  b.close().append("opid", operation_->id());
  b.append("documentsScanned", builder_ ? builder_->documentsScanned() : int64_t{0})
      .append("documentsEstimated", estimated_)
      .append("keysInserted", builder_ ? builder_->keysInserted() : int64_t{0})
      .append("batchesRunAgain", conflicts_);
  const uint64_t locker = operation_->lockerId();
  std::string awaited;
  b.openArray("locks");
  for (const storage::ResourceView& resource : server_.locks.inspect()) {
    const std::string name(storage::nameOf(resource.type));
    const std::string shown = resource.name.empty() ? name : name + " " + resource.name;
    for (const auto& holder : resource.granted)
      if (holder.locker == locker) b.push(bson::doc("resource", shown, "mode", storage::nameOf(holder.mode)));
    for (const auto& waiter : resource.pending)
      if (waiter.locker == locker) awaited = "lock " + std::string(storage::nameOf(waiter.mode)) + " on " + shown;
  }
  b.close();
  if (!awaited.empty()) b.append("waitsFor", awaited);
  return b.finish();
}

}  // namespace troupe::maintenance
