#include "actors/replication/initial_syncer.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/data_cloner.hpp"
#include "actors/replication/detached_work.hpp"
#include "actors/replication/source_log.hpp"
#include "messaging/clock/shown_op_time.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_batches.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_replay.hpp"

namespace troupe::replication {

namespace {

constexpr auto kSyncComponent = log::Component::kReplication;
constexpr const char* kSyncContext = "initial-sync";
/// Between two requests for a state that the node cannot have just now, and between two looks at a source.
constexpr auto kAskingPause = std::chrono::seconds(1);

const storage::Namespace kMarks("local", "replset.initialSync");

machines::Loaded<InitialSync::Document> readMark(const machines::CollectionStore& store) {
  const auto batch = store.loadNow(0, 1);
  if (!batch.isOK()) throw std::runtime_error(batch.status().toString());
  if (batch->documents.empty()) return {};
  auto found = machines::loadBson<InitialSync::Document>(batch->documents.front());
  if (!found.isOK()) throw std::runtime_error(found.status().toString());
  return std::move(*found);
}

/// A checkpoint of all that is there, which a start finds as the data of the time `at`.
std::function<Status()> checkpointAt(storage::Catalog& catalog, bson::Timestamp at) {
  return [&catalog, at] { return storage::beginDataAt(catalog, at); };
}

/// The copy needs the space of what was dropped. The tables go when a checkpoint holds the drops: a kill before it
/// leaves the collections as they were, and a start that finds a row without its table fails.
std::function<Status()> freeingDropped(storage::Catalog& catalog) {
  return [&catalog]() -> Status {
    TROUPE_TRY(catalog.checkpoint({.stable = false}));
    catalog.onTimes({}, {});
    return Status::OK();
  };
}

/// Nobody reads data that are being copied, so no history is kept of what is earlier than `at`: the engine has to keep
/// pages with some in its cache, or copies them aside. The stable time of an earlier copy moves along, since the oldest
/// time cannot pass it; until the copy is whole, checkpoints do not heed it. Neither comes to `at`: what is written
/// must be later than what is stable, and another attempt may copy at the same time, where the source writes nothing.
Status keepNoHistory(storage::Engine& engine, bson::Timestamp at) {
  const bson::Timestamp time = bson::Timestamp::fromUint64(at.asUint64() - 1);
  if (engine.stableTimestamp() != bson::Timestamp()) TROUPE_TRY(engine.setStableTimestamp(time));
  return engine.setOldestTimestamp(time);
}

/// The newest entry may be of a batch that the source, a secondary, has not applied yet, or stand behind another that
/// is still open: what is read before has it not, and the log is carried out from behind it.
Task<Status> untilReadsHave(std::shared_ptr<SyncAttempt> attempt, OpTime entry) {
  bson::Document after = bson::doc("afterOpTime", shownOpTime(entry));
  bson::Document preference = bson::doc("mode", "secondaryPreferred");
  bson::Document find = bson::doc("find", "system.version", "limit", 1, "singleBatch", true, "readConcern",
                                  std::move(after), "$readPreference", std::move(preference));
  const auto reply = co_await askSource(std::move(attempt), "admin", std::move(find));
  co_return reply.status();
}

StatusWith<InitialSync::Document> foundMark(storage::Catalog& catalog, const storage::OperationServices& services) {
  const storage::CollectionPtr marks = catalog.find(kMarks);
  if (!marks) return InitialSync::Document();
  storage::OperationContext operation(services);
  TROUPE_ASSIGN(auto cursor, marks->records().cursor(operation.recoveryUnit()));
  TROUPE_ASSIGN(const bool found, cursor.next());
  if (!found) return InitialSync::Document();
  TROUPE_ASSIGN(auto mark, machines::loadBson<InitialSync::Document>(cursor.document()));
  return std::move(mark.value);
}

}  // namespace

StatusWith<bool> hasInitialSyncMark(storage::Catalog& catalog, const storage::OperationServices& services) {
  TROUPE_ASSIGN(const auto mark, foundMark(catalog, services));
  return mark.isUnderWay;
}

StatusWith<std::optional<OpTime>> endOfCopy(storage::Catalog& catalog, const storage::OperationServices& services) {
  TROUPE_ASSIGN(const auto mark, foundMark(catalog, services));
  return mark.copied;
}

InitialSyncer::InitialSyncer(InitialSyncParts parts)
    : InitialSyncer(parts, std::make_shared<machines::CollectionStore>(*parts.storage, kMarks)) {}

InitialSyncer::InitialSyncer(InitialSyncParts parts, std::shared_ptr<machines::CollectionStore> store)
    : MachineHost(store, readMark(*store), false, hostOptions()), parts_(std::move(parts)), copy_(copyParts()) {}

machines::HostOptions<InitialSync> InitialSyncer::hostOptions() {
  machines::HostOptions<InitialSync> options;
  options.perform = [](Actor& host, Action action, machines::Doing<Event>) {
    return static_cast<InitialSyncer&>(host).perform(std::move(action));
  };
  return options;
}

CopyParts InitialSyncer::copyParts() const {
  return {
      .node = &parts_.storage->node,
      .catalog = &parts_.storage->catalog,
      .log = parts_.oplog,
      .services = parts_.storage->operations,
      .members = parts_.members,
      .status = parts_.status.get(),
      .note = [this](std::string_view message, const bson::Document& attributes) { note(message, attributes); },
      .unit = parts_.unit,
      .credit = parts_.credit,
      .patience = parts_.patience,
      .loadFrom = parts_.loadFrom,
      .maxKeyBytes = parts_.maxKeyBytes,
      .roomFor = parts_.roomFor,
      .beforeStep = parts_.beforeStep,
  };
}

void InitialSyncer::note(std::string_view message, const bson::Document& attributes) const {
  parts_.log->info(kSyncComponent, 21163, kSyncContext, message, attributes);
}

bson::Date InitialSyncer::wallNow() const {
  const auto wall = environment().wallNow().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

/// Tasks of the pool may still write into what the next life would reset.
void InitialSyncer::onStop(const Status& reason) {
  const InitialSync::Phase phase = snapshot().memory.phase;
  const bool isCopying = phase != InitialSync::Phase::kIdle && phase != InitialSync::Phase::kFailed;
  if (attempt_) attempt_->abandon();
  for (Context& each : std::exchange(begun_, {}))
    each.fail(Status(ErrorCode::kInterrupted, "the initial sync was interrupted"));
  MachineHost::onStop(reason);
  if (isCopying && !reason.isOK() && reason != ErrorCode::kInterruptedAtShutdown)
    parts_.fail(reason.withContext("the initial sync ended in its middle"));
}

bson::Document InitialSyncer::describe() const {
  bson::Builder out;
  out.append("document", MachineHost::describe());
  out.append("memory", machines::toBson(snapshot().memory));
  if (auto shown = parts_.status->toBson(wallNow()); !shown.empty()) out.append("progress", shown);
  return out.finish();
}

void InitialSyncer::unanswered(const Event& event, Context asker) {
  if (!std::holds_alternative<BeginInitialSync>(event)) return;
  begun_.push_back(std::move(asker));
  answerBegun();
}

void InitialSyncer::answerBegun() {
  const InitialSync::Phase phase = snapshot().memory.phase;
  if (phase == InitialSync::Phase::kFailed) {
    for (Context& each : std::exchange(begun_, {}))
      each.fail(Status(ErrorCode::kInitialSyncFailure, snapshot().memory.why));
  } else if (phase == InitialSync::Phase::kIdle) {
    const std::string& why = snapshot().memory.why;
    for (Context& each : std::exchange(begun_, {})) {
      if (why.empty()) each.reply(local(replication::Done{}));
      else each.fail(Status(ErrorCode::kNodeNotFound, why));
    }
  }
}

void InitialSyncer::transitioned(const machines::Outcome<InitialSync>&) { answerBegun(); }

/// Every failure of an attempt is an event: the machine decides what it means. Of one that is over nobody hears.
Task<InitialSyncer::Done> InitialSyncer::perform(Action action) {
  if (std::holds_alternative<EnterStartup>(action)) co_return co_await done(EnterStartup{});
  if (std::holds_alternative<LookForSource>(action)) co_return co_await done(LookForSource{});
  if (std::holds_alternative<EndAttempt>(action)) co_return co_await done(EndAttempt{});
  if (const auto* leave = std::get_if<LeaveStartup>(&action)) co_return co_await done(*leave);
  if (std::holds_alternative<KeepData>(action)) co_return co_await done(KeepData{});
  if (const auto* end = std::get_if<GiveUpSync>(&action)) co_return co_await done(*end);
  const auto attempt = attempt_;
  Done outcome = Status(ErrorCode::kInternalError, "the work has not begun");
  try {
    outcome = co_await work(std::move(action));
  } catch (const std::exception& failure) {
    outcome = Status(ErrorCode::kInternalError, failure.what());
  }
  if (outcome.isOK()) co_return outcome;
  if (attempt && attempt->isAbandoned()) co_return std::optional<Event>();
  co_return std::optional<Event>(AttemptFailed{outcome.status().toString()});
}

Task<InitialSyncer::Done> InitialSyncer::work(Action action) {
  if (std::holds_alternative<ResetData>(action)) return done(ResetData{});
  if (auto* find = std::get_if<FindBeginning>(&action)) return done(std::move(*find));
  if (std::holds_alternative<FetchLog>(action)) return done(FetchLog{});
  if (auto* clone = std::get_if<CloneData>(&action)) return done(std::move(*clone));
  if (auto* end = std::get_if<FindEnd>(&action)) return done(std::move(*end));
  if (auto* fetch = std::get_if<FetchUpTo>(&action)) return done(std::move(*fetch));
  if (const auto* apply = std::get_if<ApplyLog>(&action)) return done(*apply);
  return done(std::get<MakeDataSafe>(action));
}

/// Refused as long as the node has no config, or stands for election.
Task<void> InitialSyncer::untilState(bool copying) {
  for (;;) {
    const Status status = co_await parts_.setState(copying);
    if (status.isOK()) co_return;
    co_await sleepFor(kAskingPause);
  }
}

Task<InitialSyncer::Done> InitialSyncer::done(EnterStartup) {
  co_await untilState(true);
  while (parts_.stopFollowing) {
    const Status stopped = co_await parts_.stopFollowing();
    if (stopped.isOK()) break;
    co_await sleepFor(kAskingPause);
  }
  parts_.status->begin(wallNow());
  note("The state is STARTUP2", bson::doc("attempts", snapshot().document.attempt));
  co_return std::optional<Event>(StartupEntered{});
}

StatusWith<OpTime> InitialSyncer::newestOwn() const {
  storage::OperationContext operation({.sessions = parts_.storage->operations.sessions},
                                      storage::OperationOrigin::kApplier);
  return storage::lastLogged(parts_.storage->catalog, operation.recoveryUnit());
}

/// What an earlier attempt has left may not be later than what comes.
Task<InitialSyncer::Done> InitialSyncer::done(LookForSource) {
  Candidates known = parts_.candidates();
  TROUPE_CO_ASSIGN(known.own, newestOwn());
  const bool hasData = !snapshot().document.isUnderWay && known.own != OpTime();
  if (hasData) co_await leaveOutSilent(&known.members);
  co_return std::optional<Event>(std::move(known));
}

/// A member that died a moment ago still passes for a source, and this one drops its data for it.
Task<void> InitialSyncer::leaveOutSilent(std::vector<SourceCandidate>* members) {
  for (SourceCandidate& each : *members) {
    if (each.state != MemberState::kPrimary && each.state != MemberState::kSecondary) continue;
    const auto answer = co_await rollbackIdOf(*parts_.members, each.host);
    if (!answer.isOK()) each.state = MemberState::kDown;
  }
}

Task<InitialSyncer::Done> InitialSyncer::done(ResetData) {
  const NodeName source = snapshot().memory.source;
  attempt_ = std::make_shared<SyncAttempt>(copy_, source);
  logCopy_ = std::make_shared<LogCopier>(attempt_);
  isCloned_ = false;
  parts_.status->beginAttempt(source, wallNow());
  note("An attempt begins: all data are dropped", bson::doc("syncSource", source));
  {
    // The trimmer counts and truncates the log, the reaper drops tables: nobody is beside the reset.
    auto paused = std::make_shared<Promise<troupe::Done>>();
    auto all = paused->future();
    const storage::ClosedGate gate(parts_.writes->background, [paused] { paused->set(troupe::Done{}); });
    co_await all;
    parts_.storage->catalog.engine()
        .beginCopy();  // from here on checkpoints are full ones (CKP-003): none is under way
    TROUPE_CO_TRY(co_await resetData(attempt_));
    parts_.writes->slots.resetTo({});  // else the flusher would wait for entries that have gone
    if (parts_.endOfLog) TROUPE_CO_TRY(parts_.endOfLog->set({}));
    if (parts_.invalidate) parts_.invalidate();
  }
  // Without the gate: votes and configs wait for the journal, and this checkpoint may take long.
  TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt_, std::nullopt));
  std::function<Status()> free = freeingDropped(parts_.storage->catalog);
  std::string path = std::string(kInitialSyncPath) + "-reset";
  TROUPE_CO_TRY(co_await runDetached(parts_.storage->node, std::move(path), std::move(free)));
  co_return std::optional<Event>(DataReset{});
}

/// In this order: what is open when its newest entry is read is found in its table, or begins behind that entry; the
/// copy is stamped with the last entry read, and holds all that is older. (ISY-006 to ISY-008)
Task<InitialSyncer::Done> InitialSyncer::done(FindBeginning find) {
  const auto attempt = attempt_;
  const auto copier = logCopy_;
  RemoteMembers& members = *parts_.members;
  BeginningFound found;
  TROUPE_CO_ASSIGN(found.rollbackId, co_await rollbackIdOf(members, find.source));
  TROUPE_CO_ASSIGN(bson::Document first, co_await newestEntry(members, find.source));
  TROUPE_CO_ASSIGN(const auto open, co_await oldestOpenTransaction(members, find.source));
  if (open && *open < *opTimeOf(first.view())) {
    TROUPE_CO_ASSIGN(first, co_await entryOf(members, find.source, *open));
  }
  found.beginFetching = *opTimeOf(first.view());
  storage::Engine& engine = parts_.storage->catalog.engine();
  const bson::Timestamp stable = engine.stableTimestamp(), oldest = engine.oldestTimestamp();
  for (;;) {
    TROUPE_CO_ASSIGN(const auto newest, co_await newestEntry(members, find.source));
    found.beginApplying = *opTimeOf(newest.view());
    const bson::Timestamp at = found.beginApplying.timestamp;
    if ((at > stable && at >= oldest) || attempt->isAbandoned()) break;
    // Storage takes no write that is as old as an earlier copy's end.
    const SyncStatus::Waiting shown(*parts_.status, "an entry of the source that is later than the last copy");
    co_await sleepFor(kAskingPause);
  }
  if (attempt->isAbandoned()) co_return Status(ErrorCode::kInterrupted, "the attempt is over");
  TROUPE_CO_TRY(co_await untilReadsHave(attempt, found.beginApplying));
  attempt->rollbackId = found.rollbackId;
  attempt->at = found.beginApplying.timestamp;
  TROUPE_CO_TRY(keepNoHistory(engine, attempt->at));
  TROUPE_CO_TRY(co_await copier->begin(std::move(first)));
  parts_.status->setBeginning(found.beginFetching, found.beginApplying, found.rollbackId);
  co_return std::optional<Event>(found);
}

Task<InitialSyncer::Done> InitialSyncer::done(FetchLog) {
  const auto copier = logCopy_;
  TROUPE_CO_TRY(co_await copier->run());
  co_return std::optional<Event>();
}

Task<InitialSyncer::Done> InitialSyncer::done(CloneData) {
  const auto attempt = attempt_;
  if (!isCloned_) TROUPE_CO_TRY(co_await cloneData(attempt));
  isCloned_ = isCloned_ || !attempt->isAbandoned();
  co_return std::optional<Event>(DataCloned{});
}

Task<InitialSyncer::Done> InitialSyncer::done(FindEnd find) {
  const auto attempt = attempt_;
  SourcePatience patience(attempt);
  for (;;) {
    const auto newest = co_await newestEntry(*parts_.members, find.source);
    if (newest.isOK()) co_return std::optional<Event>(EndFound{*opTimeOf(newest->view())});
    TROUPE_CO_TRY(co_await patience.wait(newest.status()));
  }
}

/// The rollback id is read after the last entry: what was rolled back before is found to be.
Task<InitialSyncer::Done> InitialSyncer::done(FetchUpTo fetch) {
  const auto attempt = attempt_;
  const auto copier = logCopy_;
  LogFetched fetched;
  TROUPE_CO_ASSIGN(fetched.newest, co_await copier->upTo(fetch.stop));
  SourcePatience patience(attempt);
  for (;;) {
    const auto rollbackId = co_await rollbackIdOf(*parts_.members, fetch.source);
    if (rollbackId.isOK()) {
      fetched.rollbackId = *rollbackId;
      break;
    }
    TROUPE_CO_TRY(co_await patience.wait(rollbackId.status()));
  }
  parts_.status->setStop(fetched.newest);
  co_return std::optional<Event>(fetched);
}

/// Nobody reads the log of a member in STARTUP2, so all of it may be visible.
Task<InitialSyncer::Done> InitialSyncer::done(ApplyLog apply) {
  const auto attempt = attempt_;
  note("The log is carried out over the copy", bson::doc("from", apply.after.timestamp, "to", apply.to.timestamp));
  parts_.writes->visibility.advance(apply.to.timestamp);
  TROUPE_CO_ASSIGN(const OpTime last, co_await applyBehind(attempt, apply.after));
  if (attempt->isAbandoned()) co_return Status(ErrorCode::kInterrupted, "the attempt is over");
  co_return std::optional<Event>(LogApplied{last});
}

Task<StatusWith<OpTime>> InitialSyncer::applyBehind(std::shared_ptr<SyncAttempt> attempt, OpTime after) {
  storage::OplogBatches reader(*parts_.oplog, {.sessions = parts_.storage->operations.sessions}, after.timestamp);
  OpTime last = after;
  while (!attempt->isAbandoned()) {
    TROUPE_CO_ASSIGN(auto documents, reader.next());
    if (documents.empty()) break;
    const auto end = opTimeOf(documents.back().view());
    TROUPE_CO_TRY(co_await applyStretch(attempt, std::move(documents)));
    if (!end) continue;
    last = *end;
    TROUPE_CO_TRY(keepNoHistory(parts_.storage->catalog.engine(), last.timestamp));
  }
  co_return last;
}

Task<Status> InitialSyncer::applyStretch(std::shared_ptr<SyncAttempt> attempt, std::vector<bson::Document> documents) {
  TROUPE_CO_ASSIGN(auto parsed, storage::OplogStretch::parse(std::move(documents)));
  const auto stretch = std::make_shared<const storage::OplogStretch>(std::move(parsed));
  for (size_t from = 0; from < stretch->size() && !attempt->isAbandoned();) {
    const size_t count = storage::nextBatch(*stretch, from, parts_.batch);
    OplogBatch batch{stretch, from, count};
    TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt, batch.bytes()));
    const Status written = co_await parts_.writer->writeDocuments(std::move(batch));
    if (written == ErrorCode::kInterruptedAtShutdown)
      attempt->abandon();  // this node shuts down: no fault of the attempt
    if (!written.isOK()) co_return written;
    parts_.status->noteApplied(static_cast<int64_t>(count));
    from += count;
  }
  co_return Status::OK();
}

Task<InitialSyncer::Done> InitialSyncer::done(MakeDataSafe safe) {
  TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt_, std::nullopt));
  if (parts_.endOfLog) TROUPE_CO_TRY(parts_.endOfLog->set(safe.at.timestamp));
  std::function<Status()> checkpoint = checkpointAt(parts_.storage->catalog, safe.at.timestamp);
  std::string path = std::string(kInitialSyncPath) + "-checkpoint";
  TROUPE_CO_TRY(co_await runDetached(parts_.storage->node, std::move(path), std::move(checkpoint)));
  co_return std::optional<Event>(DataSafe{});
}

/// Every attempt that fails comes here, once, whatever has found that it fails.
Task<InitialSyncer::Done> InitialSyncer::done(EndAttempt) {
  parts_.log->warning(kSyncComponent, 21164, kSyncContext, "An attempt of the initial sync has failed",
                      bson::doc("syncSource", snapshot().memory.source, "error", snapshot().memory.why));
  const auto attempt = attempt_;
  if (attempt) {
    attempt->abandon();
    auto idle = attempt->untilIdle();
    co_await idle;
  }
  parts_.status->endAttempt(snapshot().memory.why, wallNow());
  co_return std::optional<Event>(AttemptEnded{});
}

/// What follows others finds the times before anybody is told that this member has data.
Task<InitialSyncer::Done> InitialSyncer::done(LeaveStartup leave) {
  parts_.done(leave.at);
  parts_.writes->slots.advanceTo(leave.at.timestamp);
  parts_.status->endAttempt(SyncStatus::kSucceeded, wallNow());
  parts_.status->end(wallNow());
  if (parts_.followAgain) parts_.followAgain();
  co_await untilState(false);
  note("The initial sync is over", parts_.status->toBson(wallNow()));
  co_return std::optional<Event>(StartupLeft{});
}

/// What was fetched before was forgotten, and is fetched again from where the data end.
Task<InitialSyncer::Done> InitialSyncer::done(KeepData) {
  parts_.status->endWithoutCopy(wallNow());
  if (parts_.followAgain) parts_.followAgain();
  co_await untilState(false);
  parts_.log->warning(kSyncComponent, 21288, kSyncContext, "The initial sync was given up: this member keeps its data",
                      bson::doc("reason", snapshot().memory.why));
  co_return std::optional<Event>(DataKept{});
}

Task<InitialSyncer::Done> InitialSyncer::done(GiveUpSync end) {
  parts_.log->error(kSyncComponent, 21200, kSyncContext, "The initial sync has failed: this node ends",
                    bson::doc("reason", end.why));
  parts_.status->giveUp();
  parts_.fail(Status(ErrorCode::kInitialSyncFailure, end.why));
  co_return std::optional<Event>();
}

}  // namespace troupe::replication
