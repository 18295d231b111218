#include "actors/replication/followed_builds.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "actors/kernel/actor.hpp"
#include "actors/storage/storage_waits.hpp"
#include "storage/catalog/node_state.hpp"

namespace troupe::replication {

using storage::HeldLock;
using storage::LockMode;
using storage::OperationContext;

namespace {

/// Documents indexed in one unit of work, at most.
constexpr int kBatch = 256;
/// How long a scan holds its lock at a time: so long at most a command of the log waits for it.
constexpr auto kSlice = std::chrono::milliseconds(50);
/// Batches in a row that writers may refuse before the scan gives them time.
constexpr int kMostConflicts = 8;
/// Where the cache or the disk has no room, or a test holds the scan.
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

/// Shared by its actor, and by those that wait for its end.
struct FollowedBuilds::Scan {
  Scan(std::shared_ptr<OperationContext> its, Table of, storage::IndexBuilder with,
       const storage::Collection& collection)
      : builder(std::make_unique<storage::IndexBuilder>(std::move(with))),
        estimated(collection.records().count()),
        opid(its->id()),
        isCleared(of == Table::kNew),
        ns(collection.ns()),
        operation_(std::move(its)) {
    operation_->setWriteMode(storage::WriteMode::kApplied);
  }

  void kill(ErrorCode why) {
    const std::lock_guard lock(mutex_);
    if (operation_) operation_->kill(why);
  }
  /// Only the actor works with it.
  OperationContext& operation() { return *operation_; }
  /// Its operation ends with it: nobody is shown what is over.
  void end(Status status) {
    std::vector<Promise<Status>> all;
    std::shared_ptr<OperationContext> over;
    {
      const std::lock_guard lock(mutex_);
      outcome_ = std::move(status);
      all.swap(waiting_);
      over.swap(operation_);
    }
    over.reset();
    for (Promise<Status>& each : all) each.set(*outcome_);
  }
  Future<Status> ended() {
    const std::lock_guard lock(mutex_);
    Promise<Status>& promise = waiting_.emplace_back();
    auto future = promise.future();
    if (outcome_) promise.set(*outcome_);
    return future;
  }

  std::unique_ptr<storage::IndexBuilder> builder;
  const int64_t estimated;  ///< documents
  const int64_t opid;
  bool isCleared;         ///< of keys that an earlier scan may have left
  storage::Namespace ns;  ///< of the collection, when it was locked last

 private:
  std::mutex mutex_;
  std::shared_ptr<OperationContext> operation_;  ///< null when it has ended
  std::optional<Status> outcome_;                ///< none: it runs
  std::vector<Promise<Status>> waiting_;
};

/// One scan, on a thread of its own.
class FollowedBuilds::ScanActor final : public Actor {
 public:
  ScanActor(FollowedBuilds& owner, bson::Uuid build, ScanPtr scan)
      : owner_(owner), parts_(owner.parts_), build_(build), scan_(std::move(scan)) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override { start(run()); }
  void onStopRequested() override { scan_->kill(ErrorCode::kInterruptedAtShutdown); }
  /// Also when it has failed: nobody waits for it in vain.
  void onStop(const Status& reason) override {
    scan_->operation().recoveryUnit().releaseSession();
    if (!reason.isOK()) outcome_ = reason;
    owner_.ended(build_, scan_, outcome_);
  }
  bson::Document describe() const override {
    return bson::doc("build", build_, "collection", scan_->ns.toString(), "opid", scan_->opid, "documentsScanned",
                     scan_->builder->documentsScanned(), "documentsEstimated", scan_->estimated, "keysInserted",
                     scan_->builder->keysInserted());
  }

 private:
  Task<void> run() {
    for (;;) {
      const char* const awaited = whatItAwaits();
      showProgress(awaited);
      const StatusWith<bool> slice = co_await scanSlice(awaited != nullptr);
      const bool isOver = slice.isOK() ? *slice : !passes(slice.status());
      if (isOver) {
        outcome_ = slice.status();
        break;
      }
      if (slice.isOK() && !awaited) co_await node().nextTurn();
      else co_await sleepFor(kPause);
    }
    stop();
  }

  const char* whatItAwaits() const {
    return parts_.awaited ? parts_.awaited(scan_->builder->documentsScanned()) : nullptr;
  }
  static bool passes(const Status& failure) {
    return failure == ErrorCode::kTemporarilyUnavailable || failure == ErrorCode::kWriteConflict ||
           failure == ErrorCode::kPreparedTransactionInProgress;
  }

  /// True at the end of the collection. One that is held looks only whether it may go on living.
  Task<StatusWith<bool>> scanSlice(bool isHeld) {
    const TimePoint begun = environment().now();
    OperationContext& operation = scan_->operation();
    const Status alive = operation.checkForInterrupt(begun);
    if (!alive.isOK()) co_return alive;
    const storage::NodeState* const role = operation.services().node;
    if (role && !role->appliesBatches())
      co_return Status(ErrorCode::kInterruptedDueToReplStateChange, "this member leads, and discards the build");
    if (isHeld) co_return false;
    auto lock = co_await lockCollection(scan_->isCleared ? LockMode::kIX : LockMode::kX);
    if (!lock.isOK()) co_return lock.status();
    if (!scan_->isCleared) co_return clear();
    co_return scanUntil(begun + kSlice);
  }

  /// The collection may be renamed meanwhile. The state transition lock is left out: a change of the role drains the
  /// applier, whose commit waits for this scan.
  Task<StatusWith<HeldLock>> lockCollection(LockMode mode) {
    OperationContext& operation = scan_->operation();
    for (;;) {
      HeldLock lock = HeldLock::inEveryRole(operation, storage::ResourceType::kCollection, scan_->ns.toString(), mode);
      const Status held = co_await acquireLock(node(), operation, lock);
      if (!held.isOK()) co_return held;
      const storage::CollectionPtr collection = parts_.catalog.snapshot()->find(scan_->builder->uuid());
      if (!collection || collection->ns() == scan_->ns) co_return StatusWith<HeldLock>(std::move(lock));
      scan_->ns = collection->ns();
      operation.ns = scan_->ns.toString();
    }
  }

  StatusWith<bool> clear() {
    TROUPE_TRY(scan_->builder->clear(scan_->operation().recoveryUnit()));
    scan_->isCleared = true;
    return false;
  }

  /// True at the end of the collection. Writers that are there first make a batch begin anew, and a smaller one.
  StatusWith<bool> scanUntil(TimePoint end) {
    storage::RecoveryUnit& unit = scan_->operation().recoveryUnit();
    StatusWith<bool> outcome = false;
    for (int conflicts = 0; conflicts < kMostConflicts;) {
      outcome = scan_->builder->step(unit, batch_);
      const bool isRefused = outcome.status() == ErrorCode::kWriteConflict;
      conflicts = isRefused ? conflicts + 1 : 0;
      batch_ = isRefused ? std::max(1, batch_ / 2) : std::min(kBatch, 2 * batch_);
      unit.abandonSnapshot();
      const bool goesOn = isRefused || (outcome.isOK() && !*outcome);
      if (!goesOn || environment().now() >= end || whatItAwaits()) break;
    }
    return outcome;
  }

  void showProgress(const char* awaited) {
    if (awaited) setPhase("waiting", awaited);
    else setPhase("scanning", "indexes the documents beside the applier");
    const int64_t done = scan_->builder->documentsScanned();
    storage::OperationProgress& progress = scan_->operation().metrics.progress;
    progress.done.store(done, std::memory_order_relaxed);
    progress.total.store(std::max(scan_->estimated, done), std::memory_order_relaxed);
    progress.message = "Index Build: scanning collection";
  }

  FollowedBuilds& owner_;
  const Parts& parts_;
  const bson::Uuid build_;
  const ScanPtr scan_;
  int batch_ = kBatch;                                                     ///< documents
  Status outcome_{ErrorCode::kIndexBuildAborted, "the scan was stopped"};  ///< unless it comes to its end
};

FollowedBuilds::FollowedBuilds(Parts parts) : parts_(std::move(parts)) {}
FollowedBuilds::~FollowedBuilds() = default;

void FollowedBuilds::begin(const bson::Uuid& collection, const bson::Uuid& build) {
  (void)beginOn(Table::kNew, collection, build);
}

FollowedBuilds::ScanPtr FollowedBuilds::beginOn(Table table, const bson::Uuid& collection, const bson::Uuid& build) {
  const storage::CollectionPtr found = parts_.catalog.snapshot()->find(collection);
  if (!found) return nullptr;
  std::vector<storage::IndexSpec> specs;
  bson::Builder command;
  command.append("createIndexes", found->ns().collection()).openArray("indexes");
  for (const storage::IndexPtr& index : found->indexes())
    if (!index->ready && index->buildUuid == build) {
      specs.push_back(index->spec);
      command.push(storage::listedSpec(index->spec));
    }
  if (specs.empty()) return nullptr;
  command.close().append("$db", found->ns().db());
  storage::IndexBuilder builder(parts_.catalog, found->ns(), std::move(specs), build);
  builder.takeUp(collection);
  const std::lock_guard lock(mutex_);
  if (suspended_) return nullptr;
  if (const auto known = scans_.find(build); known != scans_.end()) return known->second;
  auto scan = std::make_shared<Scan>(parts_.makeOperation(build, found->ns(), command.finish()), table,
                                     std::move(builder), *found);
  scans_.emplace(build, scan);
  parts_.node.spawn("/node/replication/index-builds/" + std::to_string(++begun_),
                    std::make_unique<ScanActor>(*this, build, scan), {.detached = true, .type = "IndexBuildScan"});
  return scan;
}

FollowedBuilds::ScanPtr FollowedBuilds::find(const bson::Uuid& build) const {
  const std::lock_guard lock(mutex_);
  const auto found = scans_.find(build);
  return found == scans_.end() ? nullptr : found->second;
}

bool FollowedBuilds::isSuspended() const {
  const std::lock_guard lock(mutex_);
  return suspended_;
}

/// One that did not get through is of no use to anybody.
void FollowedBuilds::ended(const bson::Uuid& build, const ScanPtr& scan, const Status& outcome) {
  if (!outcome.isOK()) {
    if (parts_.failed) parts_.failed(build, outcome);
    const std::lock_guard lock(mutex_);
    const auto found = scans_.find(build);
    if (found != scans_.end() && found->second == scan) scans_.erase(found);
  }
  scan->end(outcome);
}

/// What did not get through, or was forgotten meanwhile, is not there any more.
Task<StatusWith<std::unique_ptr<storage::IndexBuilder>>> FollowedBuilds::takeScanned(bson::Uuid collection,
                                                                                     bson::Uuid build) {
  const ScanPtr scan = beginOn(Table::kUsed, collection, build);
  if (scan) {
    auto ended = scan->ended();
    (void)co_await ended;
  }
  if (isSuspended()) co_return Status(ErrorCode::kInterruptedDueToReplStateChange, "a rollback begins");
  if (!scan) co_return std::unique_ptr<storage::IndexBuilder>();
  const bool isCurrent = find(build) == scan;
  if (isCurrent) forget(build);
  co_return isCurrent ? std::move(scan->builder) : nullptr;
}

void FollowedBuilds::forget(const bson::Uuid& build) {
  ScanPtr gone;
  const std::lock_guard lock(mutex_);
  const auto found = scans_.find(build);
  if (found == scans_.end()) return;
  found->second->kill(ErrorCode::kIndexBuildAborted);
  gone = std::move(found->second);
  scans_.erase(found);
}

void FollowedBuilds::forgetAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& [build, scan] : scans_) scan->kill(ErrorCode::kInterruptedDueToReplStateChange);
  scans_.clear();
}

void FollowedBuilds::suspend() {
  {
    const std::lock_guard lock(mutex_);
    suspended_ = true;
  }
  forgetAll();
}

void FollowedBuilds::resume() {
  const std::lock_guard lock(mutex_);
  suspended_ = false;
}

}  // namespace troupe::replication
