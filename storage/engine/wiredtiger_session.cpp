#include "storage/engine/wiredtiger_session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>

namespace troupe::storage {

WiredTigerSession::WiredTigerSession(std::shared_ptr<WiredTigerConnection> connection, WT_SESSION* session)
    : connection_(std::move(connection)), session_(session) {
  idle_.reserve(8);
}

WiredTigerSession::~WiredTigerSession() {
  rollback();
  idle_.clear();
  session_->close(session_, nullptr);
}

/// EBUSY: a page or a file is held exclusively for a moment, under a full cache too. The unit begins anew, as after a
/// conflict.
Status WiredTigerSession::failure(int code, std::string_view what) {
  if (code == WT_ROLLBACK || code == WT_CACHE_FULL || code == EBUSY)
    return connection_->rollbackStatus(bytesWritten_, code == WT_CACHE_FULL);
  return connection_->status(code, what);
}

Status WiredTigerSession::begin(const BeginOptions& options) {
  if (inTransaction_) return {ErrorCode::kIllegalOperation, "the session has a transaction already"};
  int code = 0;
  if (!options.readTimestamp && !options.ignorePrepare) {
    code = session_->begin_transaction(session_, nullptr);
  } else {
    char config[128];
    int n = 0;
    if (options.readTimestamp) {
      n = std::snprintf(config, sizeof config, "read_timestamp=%" PRIx64 "%s", options.readTimestamp->asUint64(),
                        options.roundUpReadTimestamp ? ",roundup_timestamps=(read=true)" : "");
    }
    std::snprintf(config + n, sizeof config - static_cast<size_t>(n), "%s",
                  options.ignorePrepare ? ",ignore_prepare=true" : "");
    code = session_->begin_transaction(session_, config);
  }
  if (code == EINVAL && options.readTimestamp) {
    (void)connection_->status(code, "begin");
    if (options.readTimestamp->asUint64() == 0) return {ErrorCode::kBadValue, "a read timestamp must not be zero"};
    return {ErrorCode::kSnapshotTooOld, "the read timestamp is older than the history that is kept"};
  }
  if (code != 0) return failure(code, "begin a transaction");
  inTransaction_ = true;
  bytesWritten_ = 0;
  ++epoch_;
  return {};
}

void WiredTigerSession::ended() {
  inTransaction_ = false;
  prepared_ = false;
  ++epoch_;
}

Status WiredTigerSession::commit() {
  if (!inTransaction_) return {ErrorCode::kIllegalOperation, "the session has no transaction to commit"};
  if (prepared_) return {ErrorCode::kIllegalOperation, "a prepared transaction commits with its timestamps"};
  const int code = session_->commit_transaction(session_, nullptr);
  ended();
  return code == 0 ? Status::OK() : failure(code, "commit");
}

void WiredTigerSession::rollback() {
  if (!inTransaction_) return;
  // A failed rollback means a panic, which the event handler has seen.
  (void)session_->rollback_transaction(session_, nullptr);
  const bool decided = prepared_;
  ended();
  if (decided) connection_->preparedDecisions().increment();
}

Status WiredTigerSession::setCommitTimestamp(Timestamp ts) {
  if (!inTransaction_ || prepared_)
    return {ErrorCode::kIllegalOperation, "a commit timestamp needs an open transaction"};
  // An applier does this for each document that it writes; printing with a format takes three times as long.
  constexpr std::string_view kName = "commit_timestamp=";
  std::array<char, kName.size() + 17> config{};  // 16 digits and the closing zero
  char* const digits = std::ranges::copy(kName, config.begin()).out;
  std::to_chars(digits, config.end() - 1, ts.asUint64(), 16);
  const int code = session_->timestamp_transaction(session_, config.data());
  return code == 0 ? Status::OK() : failure(code, "set the commit timestamp");
}

Status WiredTigerSession::prepare(Timestamp prepareTs) {
  if (!inTransaction_ || prepared_) return {ErrorCode::kIllegalOperation, "only an open transaction can be prepared"};
  char config[48];
  std::snprintf(config, sizeof config, "prepare_timestamp=%" PRIx64, prepareTs.asUint64());
  const int code = session_->prepare_transaction(session_, config);
  if (code != 0) return failure(code, "prepare");
  prepared_ = true;
  ++epoch_;
  return {};
}

Status WiredTigerSession::commitPrepared(Timestamp commitTs, Timestamp durableTs) {
  if (!prepared_) return {ErrorCode::kIllegalOperation, "the transaction is not prepared"};
  char config[96];
  std::snprintf(config, sizeof config, "commit_timestamp=%" PRIx64 ",durable_timestamp=%" PRIx64, commitTs.asUint64(),
                durableTs.asUint64());
  const int code = session_->commit_transaction(session_, config);
  ended();
  connection_->preparedDecisions().increment();  // also when it failed: the transaction was rolled back
  return code == 0 ? Status::OK() : failure(code, "commit a prepared transaction");
}

StatusWith<Session::CursorLease> WiredTigerSession::cursor(const Table& table) {
  if (prepared_) return Status(ErrorCode::kIllegalOperation, "a prepared transaction can only be decided");
  for (size_t i = idle_.size(); i-- > 0;) {
    if (idle_[i].table != table.id) continue;
    WiredTigerCursor* cursor = idle_[i].cursor.release();
    if (i + 1 != idle_.size()) idle_[i] = std::move(idle_.back());
    idle_.pop_back();
    return CursorLease(cursor, Release{this, table.id});
  }
  if (table.essential) connection_->openTables().noteEssential();
  else TROUPE_TRY(connection_->openTables().admit(table.ident));
  WT_CURSOR* raw = nullptr;
  const std::string uri = "table:" + table.ident;
  const int code = session_->open_cursor(session_, uri.c_str(), nullptr, "overwrite=false", &raw);
  if (code != 0) return failure(code, "open " + table.ident);
  return CursorLease(new WiredTigerCursor(*this, raw), Release{this, table.id});
}

void WiredTigerSession::releaseCursor(uint32_t table, Cursor* cursor) {
  std::unique_ptr<WiredTigerCursor> owned(static_cast<WiredTigerCursor*>(cursor));
  owned->reset();
  if (idle_.size() >= kMaxIdleCursors) idle_.erase(idle_.begin());
  idle_.push_back({table, std::move(owned)});
}

void WiredTigerSession::forgetTable(const Table& table) {
  std::erase_if(idle_, [&](const Idle& idle) { return idle.table == table.id; });
}

Status WiredTigerSession::truncate(const Table& table, std::string_view from, std::string_view to) {
  if (!inTransaction_) return {ErrorCode::kIllegalOperation, "writes need a transaction"};
  TROUPE_ASSIGN(CursorLease first, cursor(table));
  TROUPE_ASSIGN(CursorLease last, cursor(table));
  // The engine's range includes both ends, so the end is the last row before `to`.
  TROUPE_ASSIGN(const bool any, from.empty() ? first->next() : first->seekAtOrAfter(from));
  if (!any) return {};
  if (!to.empty() && first->key() >= to) return {};
  if (!to.empty()) {
    TROUPE_ASSIGN(bool found, last->seekAtOrBefore(to));
    if (found && last->key() == to) {
      TROUPE_ASSIGN(found, last->previous());
    }
    if (!found) return {};
  }
  WT_CURSOR* stop = to.empty() ? nullptr : static_cast<WiredTigerCursor*>(last.get())->raw();
  const int code =
      session_->truncate(session_, nullptr, static_cast<WiredTigerCursor*>(first.get())->raw(), stop, nullptr);
  return code == 0 ? Status::OK() : failure(code, "truncate " + table.ident);
}

}  // namespace troupe::storage
