#include "storage/oplog/oplog_cursor.hpp"

#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

StatusWith<bool> OplogCursor::next() { return start_ == bson::Timestamp{} ? records_.next() : seek(start_); }

StatusWith<bool> OplogCursor::seek(bson::Timestamp time) {
  TROUPE_ASSIGN(const bool found, records_.seekBytes(OplogKey(time)));
  start_ = found ? bson::Timestamp{} : time;
  return found;
}

Status OplogCursor::restore(RecoveryUnit& unit) {
  if (unit.isActive()) return {ErrorCode::kIllegalOperation, "the oplog is read on in a snapshot of its own"};
  TROUPE_ASSIGN(const bool there, records_.restore(unit));
  if (there || start_ != bson::Timestamp{}) return Status::OK();
  const bson::Timestamp last = time();
  return {ErrorCode::kCappedPositionLost, "the oplog has been truncated past the position of the cursor, " +
                                              std::to_string(last.seconds) + ":" + std::to_string(last.increment)};
}

}  // namespace troupe::storage
