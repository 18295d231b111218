#include "storage/sessions/retryable_writes.hpp"

#include <memory>
#include <string>

#include "messaging/bson/json.hpp"
#include "messaging/errors/invariant.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_entry.hpp"

namespace troupe::storage {

namespace {

/// A child whose id has the number of a retryable write of its parent does parts of that one alone, under whatever
/// numbers of its own: they are one history.
bool isPartOfOneWrite(bson::View session) { return session.has("txnNumber"); }

}  // namespace

void RetryableWrites::forget() {
  number_ = -1;
  lastWrite_ = {};
  lastStatement_ = -1;
  statements_ = {};
  memory_.reset();
  next_ = {};
  isComplete_ = true;
}

Status RetryableWrites::load(OperationContext& operation, int64_t wanted) {
  forget();
  place_ = {};
  TROUPE_ASSIGN(const bson::Document found, tables_.find(operation.recoveryUnit(), session_));
  if (found.empty()) return Status::OK();
  TROUPE_ASSIGN(const SessionRecord record, SessionRecord::parse(found));
  number_ = record.txnNumber;
  lastWrite_ = record.lastWrite;
  if (number_ != wanted) TROUPE_TRY(begin(wanted));  // its statements are over, or `wanted` is
  next_ = lastWrite_;
  return Status::OK();
}

Status RetryableWrites::loadPresent(OperationContext& operation) {
  TROUPE_ASSIGN(const bson::Document found, tables_.find(operation.recoveryUnit(), session_));
  if (found.empty()) {
    forget();
    return Status::OK();
  }
  TROUPE_ASSIGN(const SessionRecord record, SessionRecord::parse(found));
  return load(operation, record.txnNumber);
}

Status RetryableWrites::loadMore(OperationContext& operation, const OplogStore& log) {
  RecoveryUnit& unit = operation.recoveryUnit();
  for (int read = 0; read < kPiece && !isLoaded(); ++read) {
    TROUPE_TRY(operation.checkForInterrupt(operation.started()));  // kills alone: there is no clock here
    const OpTime place = next_;  // until its entry counts: what fails has not been read to its end
    TROUPE_ASSIGN(const auto document, entryAt(unit, log, place));
    if (!document) {
      isComplete_ = false;
      next_ = {};
      break;
    }
    TROUPE_ASSIGN(const OplogEntry entry, OplogEntry::parse(*document));
    if (entry.txnNumber != number_ && !isPartOfOneWrite(session_)) {
      next_ = {};
      break;
    }
    TROUPE_TRY(reserve(operation, entry.statements.size()));
    if (statements_.empty() && !entry.statements.empty()) lastStatement_ = entry.statements.back();
    for (const int32_t statement : entry.statements) statements_.emplace(statement, place);
    next_ = entry.previousOpTime.value_or(OpTime());
  }
  return Status::OK();
}

Status RetryableWrites::reserve(const OperationContext& operation, size_t more) {
  return memory_.grow(operation.services().memory, static_cast<int64_t>((size() + more) * kBytesOfStatement));
}

Status RetryableWrites::begin(int64_t number) {
  if (number < number_)
    return {ErrorCode::kTransactionTooOld, "Retryable write with txnNumber " + std::to_string(number) +
                                               " is prohibited on session " + bson::toRelaxedJson(session_) +
                                               " because a newer retryable write with txnNumber " +
                                               std::to_string(number_) + " has already started on this session."};
  if (number == number_) return Status::OK();
  if (!isPartOfOneWrite(session_)) forget();
  number_ = number;
  return Status::OK();
}

StatusWith<std::optional<OpTime>> RetryableWrites::executed(int32_t statement) const {
  const auto found = statements_.find(statement);
  if (found != statements_.end()) return std::optional(found->second);
  if (family_) {
    const auto elsewhere = family_->places.find(statement);
    if (elsewhere != family_->places.end()) return std::optional(elsewhere->second);
  }
  if (isComplete_ && (!family_ || family_->isComplete)) return std::optional<OpTime>();
  return Status(ErrorCode::kIncompleteTransactionHistory,
                "Incomplete history detected for transaction " + std::to_string(number_) + " on session " +
                    bson::toRelaxedJson(session_) +
                    ": the log does not go back to its beginning any more. Read what was written and decide anew");
}

StatusWith<std::optional<bson::Document>> entryAt(RecoveryUnit& unit, const OplogStore& log, const OpTime& place) {
  // Backward: a hole of others does not hide an entry that has been committed.
  TROUPE_ASSIGN(OplogCursor cursor, log.cursor(unit, false));
  TROUPE_ASSIGN(const bool found, cursor.seek(place.timestamp));
  const auto isIt = [&] {
    const bson::Element time = cursor.entry()["ts"], term = cursor.entry()["t"];
    return time.is(bson::Type::kTimestamp) && time.asTimestamp() == place.timestamp && term.toInt64(-1) == place.term;
  };
  if (!found || !isIt()) return std::optional<bson::Document>();
  return std::optional(bson::Document(cursor.entry()));
}

SessionWrites& SessionWrites::of(RecoveryUnit& unit) {
  if (auto* made = static_cast<SessionWrites*>(unit.unitState(UnitPart::kSession))) return *made;
  RetryableWrites* const session = unit.operation()->retryable;
  invariant(session != nullptr, "a statement with an id is of a session that is checked out");
  std::unique_ptr<SessionWrites> owned(new SessionWrites(*session));
  SessionWrites& writes = *owned;
  unit.bindToUnit(UnitPart::kSession, std::move(owned));
  unit.onPreCommit([&writes, &unit](auto) { return writes.write(unit); });
  unit.onCommit([&writes](auto) {
    for (const auto& [statement, entry, wall] : writes.statements_) writes.session_.note(statement, entry);
    writes.session_.notePlace(writes.record_.id);
  });
  return writes;
}

void SessionWrites::add(int32_t statement, const OpTime& entry, bson::Date wall) {
  statements_.push_back({statement, entry, wall});
  last_ = entry;
}

Status SessionWrites::write(RecoveryUnit& unit) {
  TROUPE_TRY(session_.beforeCommit());
  TROUPE_TRY(session_.reserve(*unit.operation(), statements_.size()));
  const bson::View session = session_.session();
  // A version for each entry: a rollback may go back to the time of any of them.
  record_.id = session_.place();
  for (const auto& [statement, entry, wall] : statements_)
    TROUPE_TRY(session_.tables().put(unit, SessionRecord{session, session_.number(), entry, wall}, record_));
  if (kind_ == RetryImage::kNone) return Status::OK();
  const ImageRecord image{session, session_.number(), last_.timestamp, kind_, image_, /*invalidated=*/false};
  SessionTables::Place of;
  return session_.tables().put(unit, image, of);
}

}  // namespace troupe::storage
