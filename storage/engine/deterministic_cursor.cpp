#include "storage/engine/deterministic_session.hpp"

namespace troupe::storage::deterministic {

DeterministicCursor::DeterministicCursor(DeterministicSession& session, Table table)
    : session_(session), table_(std::move(table)) {
  ++session_.state_->find(table_)->cursors;
}

DeterministicCursor::~DeterministicCursor() {
  if (TableState* table = session_.state_->find(table_)) --table->cursors;
}

bool DeterministicCursor::positioned() const { return positionedIn_ == session_.epoch_; }
std::string_view DeterministicCursor::key() const { return positioned() ? std::string_view(key_) : std::string_view(); }
std::string_view DeterministicCursor::value() const {
  return positioned() ? std::string_view(value_) : std::string_view();
}

Status DeterministicCursor::readable() const {
  TROUPE_TRY(session_.usable());
  if (session_.state_->find(table_)) return {};
  return {ErrorCode::kNoSuchKey, "no such table: " + table_.ident};
}

/// Takes the position when the row is visible; false when there is nothing to see.
StatusWith<bool> DeterministicCursor::lookAt(Rows::iterator it) {
  const std::string* value = nullptr;
  const Visible seen = session_.txn_ ? State::visible(it->second, *session_.txn_, &value)
                                     : State::visible(it->second, session_.reader(), &value);
  if (seen == Visible::kNothing) return false;
  if (seen == Visible::kPreparedConflict) {
    positionedIn_ = 0;
    return Status(ErrorCode::kPreparedTransactionInProgress,
                  "conflict with a prepared transaction; wait until it is decided");
  }
  key_ = it->first;
  value_ = *value;
  positionedIn_ = session_.epoch_;
  return true;
}

StatusWith<bool> DeterministicCursor::forward(Rows::iterator from) {
  Rows& rows = session_.state_->find(table_)->rows;
  for (auto it = from; it != rows.end(); ++it) {
    TROUPE_ASSIGN(const bool found, lookAt(it));
    if (found) return true;
  }
  positionedIn_ = 0;
  return false;
}

StatusWith<bool> DeterministicCursor::backward(Rows::iterator after) {
  Rows& rows = session_.state_->find(table_)->rows;
  for (auto it = after; it != rows.begin();) {
    TROUPE_ASSIGN(const bool found, lookAt(--it));
    if (found) return true;
  }
  positionedIn_ = 0;
  return false;
}

StatusWith<bool> DeterministicCursor::seek(std::string_view key) {
  TROUPE_TRY(readable());
  Rows& rows = session_.state_->find(table_)->rows;
  auto it = rows.find(key);
  if (it != rows.end()) {
    TROUPE_ASSIGN(const bool found, lookAt(it));
    if (found) return true;
  }
  positionedIn_ = 0;
  return false;
}

StatusWith<bool> DeterministicCursor::seekAtOrAfter(std::string_view key) {
  TROUPE_TRY(readable());
  return forward(session_.state_->find(table_)->rows.lower_bound(key));
}

StatusWith<bool> DeterministicCursor::seekAtOrBefore(std::string_view key) {
  TROUPE_TRY(readable());
  return backward(session_.state_->find(table_)->rows.upper_bound(key));
}

StatusWith<bool> DeterministicCursor::next() {
  TROUPE_TRY(readable());
  Rows& rows = session_.state_->find(table_)->rows;
  return forward(positioned() ? rows.upper_bound(key_) : rows.begin());
}

StatusWith<bool> DeterministicCursor::previous() {
  TROUPE_TRY(readable());
  Rows& rows = session_.state_->find(table_)->rows;
  return backward(positioned() ? rows.lower_bound(key_) : rows.end());
}

Status DeterministicCursor::write(std::string_view key, std::shared_ptr<const std::string> value, Expect expect,
                                  bool keepsPlace) {
  TROUPE_TRY(readable());
  if (!session_.txn_) return {ErrorCode::kIllegalOperation, "writes need an open, unprepared transaction"};
  if (key.empty()) return {ErrorCode::kBadValue, "a key must not be empty"};
  if (session_.txn_->ignorePrepare)
    return {ErrorCode::kBadValue, "a transaction that ignores prepared ones cannot write"};
  const bool here = keepsPlace && positioned() && key == key_;
  const std::string owned(key);  // it may point into key_ or value_
  positionedIn_ = 0;
  TableState& table = *session_.state_->find(table_);
  auto it = table.rows.find(owned);
  static const Row kNoVersions;
  const Row& row = it == table.rows.end() ? kNoVersions : it->second;
  const std::string* seen = nullptr;
  if (expect != Expect::kAny) {
    // A prepared version counts as a conflict of writers, found below.
    const bool present = State::visible(row, *session_.txn_, &seen) == Visible::kValue;
    if (present && expect == Expect::kAbsent) return {ErrorCode::kDuplicateKey, "the key exists already"};
    if (!present && expect == Expect::kPresent && State::mayWrite(row, *session_.txn_)) {
      return {ErrorCode::kNoSuchKey, "no such key"};
    }
  }
  if (!State::mayWrite(row, *session_.txn_)) {
    return {ErrorCode::kWriteConflict, "Write conflict; please retry your operation or multi-document transaction."};
  }
  if (it == table.rows.end()) it = table.rows.try_emplace(owned).first;
  if (here) {
    positionedIn_ = session_.epoch_;
    value_ = value ? *value : std::string();
  }
  session_.record(table_, owned, it->second, std::move(value));
  return {};
}

Status DeterministicCursor::insert(std::string_view key, std::string_view value) {
  return write(key, std::make_shared<const std::string>(value), Expect::kAbsent, false);
}
Status DeterministicCursor::put(std::string_view key, std::string_view value) {
  return write(key, std::make_shared<const std::string>(value), Expect::kAny, false);
}
Status DeterministicCursor::update(std::string_view key, std::string_view value) {
  return write(key, std::make_shared<const std::string>(value), Expect::kPresent, true);
}
Status DeterministicCursor::remove(std::string_view key) { return write(key, nullptr, Expect::kPresent, true); }

}  // namespace troupe::storage::deterministic
