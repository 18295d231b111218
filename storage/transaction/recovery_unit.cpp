#include "storage/transaction/recovery_unit.hpp"

#include <stdexcept>
#include <utility>

#include "storage/catalog/node_state.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_visibility.hpp"
#include "storage/oplog/write_slots.hpp"

namespace troupe::storage {

RecoveryUnit::~RecoveryUnit() { endTransaction(); }

Status RecoveryUnit::setReadSource(ReadSource source, std::optional<Timestamp> provided) {
  if (active_) return {ErrorCode::kIllegalOperation, "the read source cannot change while a snapshot is open"};
  if (source == ReadSource::kProvided && !provided)
    return {ErrorCode::kBadValue, "a provided read source needs its time"};
  source_ = source;
  provided_ = source == ReadSource::kProvided ? provided : std::nullopt;
  return {};
}

/// Decided anew for each snapshot: the role may have changed during a yield.
bool RecoveryUnit::readsWholeBatches() const {
  if (!times_ || !operation_ || depth_ > 0 || operation_->origin() == OperationOrigin::kApplier) return false;
  const NodeState* const node = operation_->services().node;
  return node && node->appliesBatches();
}

BeginOptions RecoveryUnit::beginOptions() const {
  BeginOptions options;
  options.ignorePrepare = ignorePrepare_;
  const auto at = [&](Timestamp ts) {
    if (ts != Timestamp{}) options.readTimestamp = ts;
    options.roundUpReadTimestamp = true;  // the node's own times may lag behind oldest for a moment
  };
  switch (source_) {
    case ReadSource::kNoTimestamp:
      if (readsWholeBatches()) at(times_->lastApplied());
      break;
    case ReadSource::kProvided: options.readTimestamp = provided_; break;
    case ReadSource::kLastApplied:
      if (times_) at(times_->lastApplied());
      break;
    case ReadSource::kMajority:
      if (times_) at(times_->majority());
      break;
    case ReadSource::kAllDurable:
      // The engine learns of a slot when it is stamped, a moment after it was reserved.
      at(oplogEnd_ ? *oplogEnd_ : pool_.engine().allDurableTimestamp());
      break;
  }
  return options;
}

namespace {

/// The newest data in their place would be a wrong answer, and nobody would notice.
Status checkTimeOf(ReadSource source, const SessionPool& pool, const BeginOptions& options) {
  const bool needsTime = source == ReadSource::kLastApplied || source == ReadSource::kMajority;
  if (!needsTime || options.readTimestamp || !pool.isMember()) return Status::OK();
  return {ErrorCode::kReadConcernMajorityNotAvailableYet,
          std::string("this member does not know yet up to where its data are ") +
              (source == ReadSource::kMajority ? "those of a majority" : "applied")};
}

}  // namespace

Status RecoveryUnit::beginSlow() {
  if (!session_) {
    TROUPE_ASSIGN(session_, pool_.borrow());
  }
  if (const OplogVisibility* oplog = pool_.oplogVisibility()) oplogEnd_ = oplog->get();
  if (source_ == ReadSource::kNoTimestamp && !ignorePrepare_ && !readsWholeBatches()) {
    TROUPE_TRY(session_->begin());
  } else {
    const BeginOptions options = beginOptions();
    TROUPE_TRY(checkTimeOf(source_, pool_, options));
    TROUPE_TRY(session_->begin(options));
    readTimestamp_ = options.readTimestamp;
  }
  active_ = true;
  return {};
}

Status RecoveryUnit::writable(const Table& table) {
  if (!inUnitOfWork()) [[unlikely]]
    return {ErrorCode::kIllegalOperation, "writes are legal only inside a unit of work"};
  if (table.replicated && pool_.isMember()) requireSlots(*this, table);
  wrote_ = true;
  return {};
}

StatusWith<Session::CursorLease> RecoveryUnit::writeCursor(const Table& table) {
  TROUPE_TRY(writable(table));
  return cursor(table);
}

Status RecoveryUnit::truncate(const Table& table, std::string_view from, std::string_view to) {
  TROUPE_TRY(writable(table));
  TROUPE_TRY(begin());
  return session_->truncate(table, from, to);
}

void RecoveryUnit::endTransaction() {
  snapshotState_.reset();
  if (active_) session_->rollback();
  active_ = false;
  readTimestamp_.reset();
  commitTimestamp_.reset();
}

void RecoveryUnit::abandonSnapshot() {
  if (depth_ > 0) throw std::logic_error("a snapshot cannot be abandoned within a unit of work");
  endTransaction();
}

void RecoveryUnit::releaseSession() {
  abandonSnapshot();
  session_ = SessionLease();
}

Status RecoveryUnit::setCommitTimestamp(Timestamp ts) {
  if (depth_ == 0) return {ErrorCode::kIllegalOperation, "a commit timestamp needs a unit of work"};
  TROUPE_TRY(begin());
  if (commitTimestamp_ == ts && !prepared_) return {};  // as a session's record has the time of its document
  TROUPE_TRY(session_->setCommitTimestamp(ts));
  commitTimestamp_ = ts;
  return {};
}

void RecoveryUnit::onChange(CommitHandler commit, RollbackHandler rollback) {
  if (depth_ == 0) throw std::logic_error("changes are registered within a unit of work");
  changes_.push_back({std::move(commit), std::move(rollback)});
}

void RecoveryUnit::onPublish(CommitHandler commit, RollbackHandler rollback) {
  if (depth_ == 0) throw std::logic_error("publications are registered within a unit of work");
  publications_.push_back({std::move(commit), std::move(rollback)});
}

void RecoveryUnit::onPreCommit(PreCommitHandler handler) {
  if (depth_ == 0) throw std::logic_error("pre-commit handlers are registered within a unit of work");
  preCommit_.push_back(std::move(handler));
}

void RecoveryUnit::bindToSnapshot(std::unique_ptr<BoundState> state) {
  if (!active_) throw std::logic_error("there is no snapshot to bind state to");
  snapshotState_ = std::move(state);
}

void RecoveryUnit::bindToUnit(UnitPart part, std::unique_ptr<BoundState> state) {
  if (depth_ == 0) throw std::logic_error("there is no unit of work to bind state to");
  unitStates_[static_cast<size_t>(part)] = std::move(state);
}

void RecoveryUnit::onCommit(CommitHandler handler) { onChange(std::move(handler), nullptr); }
void RecoveryUnit::onRollback(RollbackHandler handler) { onChange(nullptr, std::move(handler)); }

Status RecoveryUnit::commitUnit() {
  if (depth_ > 1) {
    --depth_;
    return failed_ ? Status(ErrorCode::kIllegalOperation, "an inner unit of work was rolled back") : Status::OK();
  }
  if (failed_) {
    rollbackUnit();
    return {ErrorCode::kIllegalOperation, "an inner unit of work was rolled back"};
  }
  Status ready;
  try {
    ready = runPreCommit();
  } catch (...) {  // a broken invariant ends an actor, not the node: what was begun is undone
    rollbackUnit();
    throw;
  }
  if (!ready.isOK()) {
    rollbackUnit();
    return ready;
  }
  // Nothing was touched: there is nothing to commit, but the handlers run.
  return finishCommit(active_ ? session_->commit() : Status::OK());
}

/// Noted before the engine knows: a checkpoint may come right afterwards.
Status RecoveryUnit::prepareUnit(Timestamp prepareTs) {
  const PreparedTimes::Id id = pool_.preparedTimes().add(prepareTs);
  if (Status status = session_->prepare(prepareTs); !status.isOK()) {
    pool_.preparedTimes().withdraw(id);
    return status;
  }
  prepared_ = true;
  preparedId_ = id;
  return Status::OK();
}

Status RecoveryUnit::commitPreparedUnit(Timestamp commitTs, Timestamp durableTs) {
  if (depth_ > 1 || !active_ || failed_) {
    rollbackUnit();
    return {ErrorCode::kIllegalOperation, "only the outermost, prepared unit of work can be committed so"};
  }
  commitTimestamp_ = commitTs;
  if (Status status = runPreCommit(); !status.isOK())
    throw std::logic_error("a prepared unit cannot be refused before its commit: " + status.reason());
  const PreparedTimes::Id id = preparedId_;
  TROUPE_TRY(finishCommit(session_->commitPrepared(commitTs, durableTs)));
  pool_.preparedTimes().decide(id, durableTs);
  return Status::OK();
}

void RecoveryUnit::abortPreparedUnit(Timestamp abortTs) {
  const PreparedTimes::Id id = preparedId_;
  rollbackUnit();
  pool_.preparedTimes().decide(id, abortTs);
}

/// By index: a handler may register another one.
Status RecoveryUnit::runPreCommit() {
  for (size_t i = 0; i < preCommit_.size(); ++i) {
    const PreCommitHandler handler = std::move(preCommit_[i]);
    TROUPE_TRY(handler(commitTimestamp_));
  }
  return Status::OK();
}

/// The engine has decided: handlers run while the unit is still held, then it is left.
Status RecoveryUnit::finishCommit(Status outcome) {
  if (!outcome.isOK()) {
    rollbackUnit();
    return outcome;
  }
  active_ = false;
  snapshotState_.reset();
  readTimestamp_.reset();
  if (std::exchange(wrote_, false) && operation_) operation_->noteWritten();
  const std::optional<Timestamp> commitTime = std::exchange(commitTimestamp_, std::nullopt);
  for (auto* changes : {&publications_, &changes_}) {
    for (Change& change : std::exchange(*changes, {}))
      if (change.commit) change.commit(commitTime);
  }
  leaveUnit();
  return outcome;
}

void RecoveryUnit::rollbackUnit() {
  if (depth_ > 1) {
    --depth_;
    failed_ = true;
    return;
  }
  endTransaction();
  for (auto* changes : {&changes_, &publications_}) {
    std::vector<Change> undone = std::exchange(*changes, {});
    for (size_t i = undone.size(); i-- > 0;)
      if (undone[i].rollback) undone[i].rollback();
  }
  leaveUnit();
}

void RecoveryUnit::leaveUnit() {
  preCommit_.clear();
  for (auto& state : unitStates_) state.reset();
  depth_ = 0;
  failed_ = wrote_ = prepared_ = false;
  if (operation_) operation_->endUnit();  // locks that were released meanwhile go now
}

}  // namespace troupe::storage
