#include "actors/replication/rollback_actor.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "actors/kernel/node.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/rollback_files.hpp"

namespace troupe::replication {

namespace {

constexpr auto kLogComponent = log::Component::kReplication;
constexpr const char* kContext = "rollback";
/// Between two looks for operations that hold what a rollback wants for itself.
constexpr auto kEndingPause = std::chrono::milliseconds(10);
/// Between two questions to the topology, which may be being started again.
constexpr auto kAskAgain = std::chrono::milliseconds(100);
/// Between two attempts to roll the engine back, and how many there are: a minute in all.
constexpr auto kBusyPause = std::chrono::milliseconds(100);
constexpr int kBusyAttempts = 600;

machines::Loaded<Rollback::Document> readRollback(const RollbackStore& store) {
  auto found = store.read();
  if (!found.isOK()) throw std::runtime_error(found.status().toString());
  return std::move(*found);
}

}  // namespace

bson::Document RollbackSummary::toBson() const {
  return bson::doc("source", source, "commonPoint", common.timestamp, "commonPointTerm", common.term, "newest",
                   newest.timestamp, "newestTerm", newest.term, "stable", stable, "rollbackId", rollbackId, "undone",
                   undone, "savedDocuments", savedDocuments, "replayed", replayed, "recounted", recounted);
}

RollbackActor::RollbackActor(RollbackParts parts)
    : RollbackActor(parts, std::make_shared<RollbackStore>(*parts.storage)) {}

RollbackActor::RollbackActor(RollbackParts parts, std::shared_ptr<RollbackStore> store)
    : MachineHost(store, readRollback(*store), false, hostOptions()),
      parts_(std::move(parts)),
      alone_{.sessions = parts_.storage->operations.sessions} {}

machines::HostOptions<Rollback> RollbackActor::hostOptions() {
  machines::HostOptions<Rollback> options;
  options.perform = [](Actor& host, Action action, machines::Doing<Event>) {
    return static_cast<RollbackActor&>(host).perform(std::move(action));
  };
  return options;
}

void RollbackActor::onStart() {
  locks_ = std::make_unique<storage::Locker>(*parts_.storage->operations.locks);
  adopted();
  MachineHost::onStart();
  // The fetcher may wait for the rollback that the last life of this actor had begun, or was told of and lost.
  parts_.followAgain();
}

void RollbackActor::adopted() {
  const int64_t id = snapshot().document.rollbackId;
  if (id != std::exchange(shownId_, id) && parts_.showId) parts_.showId(id);
}

void RollbackActor::onStop(const Status& reason) {
  const Rollback::Phase phase = snapshot().memory.phase;
  MachineHost::onStop(reason);
  // Its next life would know nothing of the state that it has left, nor of data that are of no time at all.
  const bool hasEntered = phase >= Rollback::Phase::kEntering && phase != Rollback::Phase::kFailed;
  const bool endsAnyway =
      reason == ErrorCode::kInterruptedAtShutdown || (parts_.isShuttingDown && parts_.isShuttingDown());
  if (hasEntered && !endsAnyway)
    fail(reason.isOK() ? Status(ErrorCode::kInterrupted, "the rollback was stopped half way") : reason);
  letGo();
  locks_.reset();
}

void RollbackActor::fail(const Status& why) const {
  parts_.log->error(kLogComponent, 21131, kContext, "The rollback cannot be ended: this node ends",
                    bson::doc("reason", why.reason()));
  parts_.fail(why);
}

bson::Document RollbackActor::describe() const {
  bson::Builder out;
  out.append("document", MachineHost::describe());
  out.append("memory", machines::toBson(snapshot().memory));
  out.append("replayed", summary_.replayed);  // entries, of this rollback or the last one
  return out.finish();
}

/// Every failure is an event: the machine decides what it means.
Task<StatusWith<std::optional<RollbackActor::Event>>> RollbackActor::perform(Action action) {
  if (std::holds_alternative<GoOnFollowing>(action)) {
    parts_.followAgain();
    co_return std::optional<Event>();
  }
  if (const auto* end = std::get_if<GiveUp>(&action)) {
    fail(Status(end->mayPass ? ErrorCode::kOperationFailed : ErrorCode::kManualInterventionRequired, end->why));
    co_return std::optional<Event>();
  }
  const bool isHarmless =
      std::holds_alternative<StopFollowing>(action) || std::holds_alternative<FindCommonPoint>(action);
  Done outcome = Status(ErrorCode::kInternalError, "the work has not begun");
  try {
    outcome = co_await work(std::move(action));
  } catch (const std::exception& failure) {
    outcome = Status(ErrorCode::kInternalError, failure.what());
  }
  if (outcome.isOK()) co_return std::optional<Event>(std::move(*outcome));
  if (!isHarmless) co_return std::optional<Event>(RollbackFailed{.why = outcome.status().toString(), .mayPass = true});
  parts_.log->info(kLogComponent, 21132, kContext, "The logs could not be compared",
                   bson::doc("source", snapshot().memory.source, "error", outcome.status().toString()));
  co_return std::optional<Event>(SourceFailed{});
}

Task<RollbackActor::Done> RollbackActor::work(Action action) {
  if (std::holds_alternative<StopFollowing>(action)) return done(StopFollowing{});
  if (auto* search = std::get_if<FindCommonPoint>(&action)) return done(std::move(*search));
  if (std::holds_alternative<EnterRollback>(action)) return done(EnterRollback{});
  if (const auto* save = std::get_if<SaveUndone>(&action)) return done(*save);
  if (const auto* down = std::get_if<TakeStorageDown>(&action)) return done(*down);
  if (const auto* back = std::get_if<RollStorageBack>(&action)) return done(*back);
  if (const auto* replay = std::get_if<ReplayLog>(&action)) return done(*replay);
  return done(std::get<EndRollback>(action));
}

Task<RollbackActor::Done> RollbackActor::done(StopFollowing) {
  const Status stopped = co_await parts_.stopFollowing();
  if (!stopped.isOK()) co_return stopped;
  if (parts_.endIndexBuilds) co_await parts_.endIndexBuilds();
  co_return Event(FollowingStopped{});
}

Task<RollbackActor::Done> RollbackActor::done(FindCommonPoint search) {
  summary_ = {.source = search.source};
  const auto compared = co_await compareLogs(*parts_.oplog, alone_, *parts_.members, search.source);
  if (!compared.isOK()) co_return compared.status();
  OpTime committed = parts_.stable();
  // The engine may have been told of the stable time a moment ago.
  committed.timestamp = std::max(committed.timestamp, parts_.storage->catalog.engine().stableTimestamp());
  const bool isToBeUndone = !compared->common || *compared->common < compared->newest;
  const bool isBeyond = !compared->common || losesCommitted(*compared->common, committed);
  if (isToBeUndone && isBeyond && parts_.copyAnew) {
    TROUPE_CO_ASSIGN(const bool isCopiedAnew, parts_.copyAnew(committed));
    if (isCopiedAnew) {
      parts_.log->warning(kLogComponent, 21613, kContext,
                          "The data were copied from a member whose newest entries were undone: they are copied again",
                          bson::doc("source", search.source, "copied", committed.timestamp));
      co_return Event(SourceFailed{});
    }
  }
  if (!compared->common) co_return Event(NothingInCommon{});
  CommonPointFound found;
  found.common = summary_.common = *compared->common;
  found.newest = summary_.newest = compared->newest;
  found.undone = summary_.undone = compared->undone;
  found.committed = committed;
  if (isToBeUndone && parts_.storage->catalog.engine().stableTimestamp() == bson::Timestamp{})
    co_return Event(RollbackFailed{
        "this node has no stable time to go back to, since nothing was ever committed here. Save its data directory, "
        "empty it and start it again: it then copies the data of another member"});
  parts_.log->info(kLogComponent, 21607, kContext, "The newest entry that both logs have",
                   bson::doc("source", search.source, "commonPoint", found.common.timestamp, "term", found.common.term,
                             "newest", found.newest.timestamp, "undone", found.undone));
  co_return Event(found);
}

/// The state first: an operation that comes later is refused, or queues behind the lock.
Task<RollbackActor::Done> RollbackActor::done(EnterRollback) {
  const Status entered = co_await untilAnswered(true);
  if (!entered.isOK()) {
    // A question before this one may have been heard late, while the node still followed.
    TROUPE_CO_TRY(co_await untilAnswered(false));
    co_return Event(RoleTaken{});
  }
  parts_.log->info(kLogComponent, 21593, kContext, "The state is ROLLBACK");
  auto* const idle = parts_.storage->operations.idleUnits;
  if (idle && !std::exchange(interruptsUnits_, true)) idle->interrupt(ErrorCode::kInterruptedDueToReplStateChange);
  TROUPE_CO_TRY(co_await acquire(storage::ResourceId::stateTransition()));
  TROUPE_CO_ASSIGN(const bool isAsCompared, logEndsAt(snapshot().memory.newest));
  if (!isAsCompared) {  // it has led meanwhile: what it wrote was compared with nothing, and may be committed
    letGo();
    TROUPE_CO_TRY(co_await untilAnswered(false));
    co_return Event(RoleTaken{});
  }
  co_return Event(OperationsEnded{});
}

StatusWith<bool> RollbackActor::logEndsAt(const OpTime& newest) const {
  storage::OperationContext operation(alone_);
  TROUPE_ASSIGN(const OpTime last, storage::lastLogged(parts_.storage->catalog, operation.recoveryUnit()));
  return last == newest;
}

Task<RollbackActor::Done> RollbackActor::done(SaveUndone save) {
  if (parts_.filesDirectory.empty() || !parts_.writesFiles()) {
    parts_.log->info(kLogComponent, 21609, kContext, "Documents that are undone are not kept");
    co_return Event(UndoneSaved{});
  }
  const auto wall = environment().wallNow().time_since_epoch();
  const int64_t millis = std::chrono::duration_cast<std::chrono::milliseconds>(wall).count();
  const auto saved = storage::saveUndone(parts_.storage->catalog, *parts_.oplog, alone_, save.common.timestamp,
                                         {parts_.filesDirectory, storage::rollbackFileTime(millis)});
  if (!saved.isOK())
    co_return saved.status().withContext(
        "the documents that a rollback takes away could not be kept; make room for them, or set "
        "createRollbackDataFiles to false");
  for (const auto& file : saved->files)
    parts_.log->info(kLogComponent, 21608, kContext, "Kept documents that are undone",
                     bson::doc("ns", file.ns.toString(), "file", file.path, "documents", file.documents));
  summary_.savedDocuments = saved->documents;
  co_return Event(UndoneSaved{});
}

/// Background work pauses when no operation is left: a flush of the journal that waits for their slots can then end.
Task<RollbackActor::Done> RollbackActor::done(TakeStorageDown down) {
  if (rollback_) co_return Event(StorageTakenDown{});  // asked again
  TROUPE_CO_TRY(co_await acquire(storage::ResourceId::global()));
  co_await untilBackgroundPauses();
  const storage::OperationServices& operations = parts_.storage->operations;
  rollback_.emplace(storage::StorageRollback::Parts{parts_.storage->catalog, *parts_.oplog, *parts_.endOfLog,
                                                    *operations.replicated, alone_},
                    down.common.timestamp);
  parts_.history->freeze();
  TROUPE_CO_TRY(rollback_->takeDown());
  summary_.stable = rollback_->stable();
  summary_.rollbackId = snapshot().document.rollbackId;
  parts_.log->info(kLogComponent, 21610, kContext, "Storage is down",
                   bson::doc("stable", rollback_->stable(), "rollbackId", summary_.rollbackId));
  co_return Event(StorageTakenDown{});
}

/// What still has a transaction open was told to end, and does so soon.
Task<RollbackActor::Done> RollbackActor::done(RollStorageBack) {
  for (int attempt = 1;; ++attempt) {
    const Status back = rollback_->goBack();
    if (back.isOK()) co_return Event(StorageRolledBack{});
    if (back.code() != ErrorCode::kObjectIsBusy || attempt == kBusyAttempts) co_return back;
    co_await sleepFor(kBusyPause);
  }
}

Task<RollbackActor::Done> RollbackActor::done(ReplayLog) {
  if (isReplayed_) co_return Event(LogReplayed{});  // asked again
  const auto replayed = rollback_->replay([this](const storage::Replayed& so) {
    parts_.log->info(kLogComponent, 21550, kContext, "Replaying the oplog",
                     bson::doc("to", so.last, "entries", so.entries));
  });
  if (!replayed.isOK()) co_return replayed.status();
  isReplayed_ = true;
  summary_.replayed = replayed->entries;
  summary_.recounted = replayed->recounted;
  co_return Event(LogReplayed{});
}

/// Storage is up before the state changes, the state has changed before operations go on.
Task<RollbackActor::Done> RollbackActor::done(EndRollback end) {
  parts_.resetTimes(end.common);
  parts_.history->thaw(parts_.stable());
  rollback_.reset();
  isReplayed_ = false;
  if (std::exchange(isPaused_, false)) parts_.storage->operations.replicated->background.open();
  locks_->releaseEntirely(storage::ResourceId::global());
  parts_.storage->wakeFlusher();
  if (parts_.invalidate) parts_.invalidate();
  if (parts_.over) parts_.over(summary_);
  TROUPE_CO_TRY(co_await untilAnswered(false));
  parts_.log->info(kLogComponent, 21612, kContext, "The rollback is over", summary_.toBson());
  letGo();
  co_return Event(RollbackOver{});
}

/// A question without an answer is not withdrawn: the topology may hear it at any later time. It hears questions in
/// their order, so the answer to a later one tells the state that holds from then on.
Task<Status> RollbackActor::untilAnswered(bool rollingBack) {
  for (bool isTold = false;; isTold = true) {
    const Status answer = co_await parts_.setState(rollingBack);
    if (answer.isOK() || answer.code() == ErrorCode::kNotSecondary) co_return answer;
    if (!isTold)
      parts_.log->warning(kLogComponent, 21614, kContext,
                          "The topology does not answer the rollback: it is asked again",
                          bson::doc("rollingBack", rollingBack, "error", answer.toString()));
    co_await sleepFor(kAskAgain);
  }
}

Task<Status> RollbackActor::acquire(storage::ResourceId resource) {
  struct Outcome {
    std::atomic<bool> isDecided{false};
    Status status;
  };
  const auto outcome = std::make_shared<Outcome>();
  const auto decide = [outcome](const Status& status) {
    outcome->status = status;
    outcome->isDecided = true;
  };
  parts_.interruptOperations();
  const auto taken = locks_->acquire(resource, storage::LockMode::kX, {}, decide);
  if (!taken.wait) co_return taken.status;
  while (!outcome->isDecided) {
    parts_.interruptOperations();
    co_await sleepFor(kEndingPause);
  }
  co_return outcome->status;
}

Task<void> RollbackActor::untilBackgroundPauses() {
  isPaused_ = true;
  auto paused = std::make_shared<Promise<troupe::Done>>();
  auto all = paused->future();
  parts_.storage->operations.replicated->background.close([paused] { paused->set(troupe::Done{}); });
  co_await all;
}

/// While storage is down the node ends: a last flush of the journal would move the end of the log that the next start
/// is to cut at back to where it was.
void RollbackActor::letGo() {
  if (!rollback_ && std::exchange(isPaused_, false)) parts_.storage->operations.replicated->background.open();
  if (locks_) locks_->releaseAll();
  if (std::exchange(interruptsUnits_, false)) parts_.storage->operations.idleUnits->resume();
}

}  // namespace troupe::replication
