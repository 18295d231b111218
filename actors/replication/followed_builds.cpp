#include "actors/replication/followed_builds.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "actors/kernel/actor.hpp"
#include "actors/storage/storage_waits.hpp"
#include "storage/catalog/node_state.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::replication {

using storage::HeldLock;
using storage::LockMode;
using storage::OperationContext;

namespace {

/// Documents indexed in one unit of work.
constexpr int kBatch = 256;
/// How long a scan holds its lock at a time: so long at most a command of the log waits for it.
constexpr auto kSlice = std::chrono::milliseconds(50);
/// Where the cache or the disk has no room, or a test holds the scan.
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

/// Shared by its actor, and by those that wait for its end.
struct FollowedBuilds::Scan {
  Scan(std::shared_ptr<OperationContext> its, storage::IndexBuilder of, const storage::Collection& collection)
      : operation(std::move(its)),
        builder(std::make_unique<storage::IndexBuilder>(std::move(of))),
        estimated(collection.records().count()),
        ns(collection.ns()) {
    operation->setWriteMode(storage::WriteMode::kApplied);
  }

  void end(Status status) {
    std::vector<Promise<Status>> all;
    {
      const std::lock_guard lock(mutex);
      outcome = std::move(status);
      all.swap(waiting);
    }
    for (Promise<Status>& each : all) each.set(*outcome);
  }
  Future<Status> ended() {
    const std::lock_guard lock(mutex);
    Promise<Status>& promise = waiting.emplace_back();
    auto future = promise.future();
    if (outcome) promise.set(*outcome);
    return future;
  }

  const std::shared_ptr<OperationContext> operation;
  std::unique_ptr<storage::IndexBuilder> builder;
  const int64_t estimated;  ///< documents
  storage::Namespace ns;    ///< of the collection, when it was locked last

 private:
  std::mutex mutex;
  std::optional<Status> outcome;  ///< none: it runs
  std::vector<Promise<Status>> waiting;
};

/// One scan, on a thread of its own.
class FollowedBuilds::ScanActor final : public Actor {
 public:
  ScanActor(const Parts& parts, bson::Uuid build, ScanPtr scan)
      : parts_(parts), build_(build), scan_(std::move(scan)) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override { start(run()); }
  void onStopRequested() override { scan_->operation->kill(ErrorCode::kInterruptedAtShutdown); }
  /// Also when it has failed: nobody waits for it in vain.
  void onStop(const Status& reason) override {
    scan_->operation->recoveryUnit().releaseSession();
    if (!reason.isOK()) outcome_ = reason;
    if (!outcome_.isOK() && parts_.failed) parts_.failed(build_, outcome_);
    scan_->end(outcome_);
  }
  bson::Document describe() const override {
    return bson::doc("build", build_, "collection", scan_->ns.toString(), "opid", scan_->operation->id(),
                     "documentsScanned", scan_->builder->documentsScanned(), "documentsEstimated", scan_->estimated,
                     "keysInserted", scan_->builder->keysInserted());
  }

 private:
  Task<void> run() {
    for (;;) {
      const char* const awaited = parts_.awaited ? parts_.awaited() : nullptr;
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

  static bool passes(const Status& failure) {
    return failure == ErrorCode::kTemporarilyUnavailable || failure == ErrorCode::kWriteConflict;
  }

  /// True at the end of the collection. One that is held looks only whether it may go on living.
  Task<StatusWith<bool>> scanSlice(bool isHeld) {
    const TimePoint begun = environment().now();
    const Status alive = scan_->operation->checkForInterrupt(begun);
    if (!alive.isOK()) co_return alive;
    const storage::NodeState* const role = scan_->operation->services().node;
    if (role && !role->appliesBatches())
      co_return Status(ErrorCode::kInterruptedDueToReplStateChange, "this member leads, and discards the build");
    if (isHeld) co_return false;
    auto lock = co_await lockCollection();
    if (!lock.isOK()) co_return lock.status();
    co_return scanUntil(begun + kSlice);
  }

  /// The collection may be renamed meanwhile. The state transition lock is left out: a change of the role drains the
  /// applier, whose commit waits for this scan.
  Task<StatusWith<HeldLock>> lockCollection() {
    for (;;) {
      HeldLock lock = HeldLock::inEveryRole(*scan_->operation, storage::ResourceType::kCollection, scan_->ns.toString(),
                                            LockMode::kIX);
      const Status held = co_await acquireLock(node(), *scan_->operation, lock);
      if (!held.isOK()) co_return held;
      const storage::CollectionPtr collection = parts_.catalog.snapshot()->find(scan_->builder->uuid());
      if (!collection || collection->ns() == scan_->ns) co_return StatusWith<HeldLock>(std::move(lock));
      scan_->ns = collection->ns();
      scan_->operation->ns = scan_->ns.toString();
    }
  }

  /// True at the end of the collection. Writers that are there first make a batch begin anew.
  StatusWith<bool> scanUntil(TimePoint end) {
    storage::RecoveryUnit& unit = scan_->operation->recoveryUnit();
    StatusWith<bool> outcome = false;
    do {
      storage::ConflictRetry retry({.immediateRetries = 1'000, .maxWriteConflictRetries = 1'000});
      outcome = storage::writeConflictRetry(retry, unit,
                                            [&]() -> StatusWith<bool> { return scan_->builder->step(unit, kBatch); });
    } while (outcome.isOK() && !*outcome && environment().now() < end);
    unit.abandonSnapshot();
    return outcome;
  }

  void showProgress(const char* awaited) {
    if (awaited) setPhase("waiting", awaited);
    else setPhase("scanning", "indexes the documents beside the applier");
    const int64_t done = scan_->builder->documentsScanned();
    storage::OperationProgress& progress = scan_->operation->metrics.progress;
    progress.done.store(done, std::memory_order_relaxed);
    progress.total.store(std::max(scan_->estimated, done), std::memory_order_relaxed);
    progress.message = "Index Build: scanning collection";
  }

  const Parts& parts_;
  const bson::Uuid build_;
  const ScanPtr scan_;
  Status outcome_{ErrorCode::kIndexBuildAborted, "the scan was stopped"};  ///< unless it comes to its end
};

FollowedBuilds::FollowedBuilds(Parts parts) : parts_(std::move(parts)) {}
FollowedBuilds::~FollowedBuilds() = default;

void FollowedBuilds::begin(const bson::Uuid& collection, const bson::Uuid& build) {
  const storage::CollectionPtr found = parts_.catalog.snapshot()->find(collection);
  if (!found) return;
  std::vector<storage::IndexSpec> specs;
  bson::Builder command;
  command.append("createIndexes", found->ns().collection()).openArray("indexes");
  for (const storage::IndexPtr& index : found->indexes())
    if (!index->ready && index->buildUuid == build) {
      specs.push_back(index->spec);
      command.push(storage::listedSpec(index->spec));
    }
  if (specs.empty()) return;
  command.close().append("$db", found->ns().db());
  storage::IndexBuilder builder(parts_.catalog, found->ns(), std::move(specs), build);
  builder.takeUp(collection);
  auto scan =
      std::make_shared<Scan>(parts_.makeOperation(build, found->ns(), command.finish()), std::move(builder), *found);
  std::string path = "/node/replication/index-builds/";
  {
    const std::lock_guard lock(mutex_);
    if (!scans_.emplace(build, scan).second) return;
    path += std::to_string(++begun_);
  }
  parts_.node.spawn(path, std::make_unique<ScanActor>(parts_, build, std::move(scan)),
                    {.detached = true, .type = "IndexBuildScan"});
}

FollowedBuilds::ScanPtr FollowedBuilds::find(const bson::Uuid& build) const {
  const std::lock_guard lock(mutex_);
  const auto found = scans_.find(build);
  return found == scans_.end() ? nullptr : found->second;
}

/// What a rollback has forgotten meanwhile is not there any more.
Task<std::unique_ptr<storage::IndexBuilder>> FollowedBuilds::takeScanned(bson::Uuid build) {
  const ScanPtr scan = find(build);
  if (!scan) co_return nullptr;
  auto ended = scan->ended();
  const Status outcome = co_await ended;
  const bool isCurrent = find(build) == scan;
  if (isCurrent) forget(build);
  co_return outcome.isOK() && isCurrent ? std::move(scan->builder) : nullptr;
}

void FollowedBuilds::forget(const bson::Uuid& build) {
  const std::lock_guard lock(mutex_);
  const auto found = scans_.find(build);
  if (found == scans_.end()) return;
  found->second->operation->kill(ErrorCode::kIndexBuildAborted);
  scans_.erase(found);
}

void FollowedBuilds::forgetAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& [build, scan] : scans_) scan->operation->kill(ErrorCode::kInterruptedDueToReplStateChange);
  scans_.clear();
}

}  // namespace troupe::replication
