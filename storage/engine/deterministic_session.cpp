#include "storage/engine/deterministic_session.hpp"

#include <algorithm>

namespace troupe::storage::deterministic {
namespace {

Status bad(const char* reason) { return {ErrorCode::kBadValue, reason}; }
Status illegal(const char* reason) { return {ErrorCode::kIllegalOperation, reason}; }

}  // namespace

DeterministicSession::~DeterministicSession() {
  rollback();
  idle_.clear();
}

Status DeterministicSession::usable() const {
  if (state_->closed) return {ErrorCode::kShutdownInProgress, "the storage engine is closed"};
  if (prepared()) return illegal("a prepared transaction can only be decided");
  return {};
}

Txn DeterministicSession::reader() const {
  Txn reader;
  reader.snapshot = state_->sequence;
  return reader;
}

Status DeterministicSession::begin(const BeginOptions& options) {
  TROUPE_TRY(usable());
  if (txn_) return illegal("the session has a transaction already");
  std::optional<Timestamp> readAt = options.readTimestamp;
  if (readAt && *readAt == kNoTime) return bad("a read timestamp must not be zero");
  if (readAt && *readAt < state_->oldest) {
    if (!options.roundUpReadTimestamp) {
      return {ErrorCode::kSnapshotTooOld, "the read timestamp is older than the history that is kept"};
    }
    readAt = state_->oldest;
  }
  txn_ = std::make_shared<Txn>();
  txn_->snapshot = state_->sequence;
  txn_->readTimestamp = readAt;
  txn_->ignorePrepare = options.ignorePrepare;
  state_->active.push_back(txn_);
  ++state_->statistics.transactionsBegun;
  ++epoch_;
  return {};
}

void DeterministicSession::ended() {
  txn_.reset();
  written_.clear();
  wroteLogged_ = false;
  ++epoch_;
}

Status DeterministicSession::commit() {
  TROUPE_TRY(usable());
  if (!txn_) return illegal("the session has no transaction to commit");
  return finish(txn_->commitTimestamp);
}

Status DeterministicSession::finish(Timestamp durable) {
  const bool wasPrepared = prepared();
  const uint64_t now = written_.empty() ? state_->sequence : ++state_->sequence;
  if (txn_->state != Txn::State::kPrepared) txn_->sequence = now;
  txn_->state = Txn::State::kCommitted;
  for (const auto& [table, key] : written_) {
    TableState* state = state_->find(table);
    Row& row = state->rows.find(key)->second;
    for (Update& update : row) {
      if (update.txn != txn_) continue;
      if (update.timestamp == kNoTime) update.timestamp = txn_->commitTimestamp;
      update.durable = wasPrepared ? durable : update.timestamp;
    }
    state->changed = now;
    state_->trim(*state, row);
  }
  state_->newestDurable = std::max(state_->newestDurable, durable);
  ++state_->statistics.transactionsCommitted;
  ended();
  if (wasPrepared) state_->decisions->increment();
  return {};
}

void DeterministicSession::rollback() {
  if (!txn_) return;
  const bool wasPrepared = prepared();
  for (const auto& [table, key] : written_) {
    TableState* state = state_->find(table);
    auto it = state->rows.find(key);
    if (it == state->rows.end()) continue;
    std::erase_if(it->second, [this](const Update& update) { return update.txn == txn_; });
    if (it->second.empty()) state->rows.erase(it);
  }
  ++state_->statistics.transactionsRolledBack;
  ended();
  if (wasPrepared) state_->decisions->increment();
}

Status DeterministicSession::setCommitTimestamp(Timestamp ts) {
  if (!txn_ || prepared()) return illegal("a commit timestamp needs an open transaction");
  if (ts == kNoTime) return bad("a commit timestamp must not be zero");
  if (ts < state_->stable) return bad("the commit timestamp is older than the stable timestamp");
  if (ts < state_->oldest) return bad("the commit timestamp is older than the oldest timestamp");
  if (txn_->firstCommitTimestamp == kNoTime) txn_->firstCommitTimestamp = ts;
  if (ts < txn_->firstCommitTimestamp) return bad("the commit timestamp is older than the transaction's first");
  txn_->commitTimestamp = ts;
  return {};
}

Status DeterministicSession::prepare(Timestamp prepareTs) {
  if (!txn_ || prepared()) return illegal("only an open transaction can be prepared");
  if (prepareTs == kNoTime || prepareTs < state_->stable)
    return bad("the prepare timestamp is older than the stable one");
  if (txn_->firstCommitTimestamp != kNoTime) return bad("a transaction with a commit timestamp cannot be prepared");
  if (wroteLogged_) return bad("a transaction that wrote a logged table cannot be prepared");
  txn_->state = Txn::State::kPrepared;
  txn_->sequence = ++state_->sequence;
  txn_->prepareTimestamp = prepareTs;
  ++epoch_;
  return {};
}

Status DeterministicSession::commitPrepared(Timestamp commitTs, Timestamp durableTs) {
  if (!prepared()) return illegal("the transaction is not prepared");
  if (commitTs < txn_->prepareTimestamp || durableTs < commitTs) {
    rollback();
    return bad("a prepared transaction commits at or after its prepare time, and is durable at or after that");
  }
  txn_->commitTimestamp = commitTs;
  return finish(durableTs);
}

StatusWith<Session::CursorLease> DeterministicSession::cursor(const Table& table) {
  TROUPE_TRY(usable());
  auto it = std::find_if(idle_.begin(), idle_.end(), [&](const auto& idle) { return idle.first == table.id; });
  if (it != idle_.end()) {
    CursorLease lease(it->second.release(), Release{this, table.id});
    idle_.erase(it);
    return lease;
  }
  if (!state_->find(table)) return Status(ErrorCode::kNoSuchKey, "no such table: " + table.ident);
  return CursorLease(new DeterministicCursor(*this, table), Release{this, table.id});
}

void DeterministicSession::releaseCursor(uint32_t table, Cursor* cursor) {
  cursor->reset();
  idle_.emplace_back(table, static_cast<DeterministicCursor*>(cursor));
}

void DeterministicSession::forgetTable(const Table& table) {
  std::erase_if(idle_, [&](const auto& idle) { return idle.first == table.id; });
}

Status DeterministicSession::truncate(const Table& table, std::string_view from, std::string_view to) {
  TROUPE_TRY(usable());
  if (!txn_) return illegal("writes need an open, unprepared transaction");
  TROUPE_ASSIGN(CursorLease cursor, this->cursor(table));
  TROUPE_ASSIGN(bool found, cursor->seekAtOrAfter(from));
  while (found && (to.empty() || cursor->key() < to)) {
    TROUPE_TRY(cursor->remove(cursor->key()));
    TROUPE_ASSIGN(found, cursor->next());
  }
  return {};
}

void DeterministicSession::record(const Table& table, std::string_view key, Row& row,
                                  std::shared_ptr<const std::string> value) {
  row.push_back({txn_, txn_->commitTimestamp, std::move(value), txn_->commitTimestamp});
  wroteLogged_ = wroteLogged_ || state_->find(table)->options.logged;
  written_.emplace_back(table, std::string(key));
}

}  // namespace troupe::storage::deterministic
