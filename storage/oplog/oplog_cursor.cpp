#include "storage/oplog/oplog_cursor.hpp"

#include <cstring>

#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

OplogKey::OplogKey(bson::Timestamp time) {
  const uint64_t big = __builtin_bswap64(time.asUint64());
  std::memcpy(bytes_, &big, sizeof big);
}

bson::Timestamp OplogKey::decode(std::string_view key) {
  uint64_t big = 0;
  std::memcpy(&big, key.data(), sizeof big);
  return bson::Timestamp::fromUint64(__builtin_bswap64(big));
}

/// The point is read first: what is committed up to it is in every later snapshot. The other way round an entry that
/// was committed in between would lie below the point and not be in the snapshot, and be passed over.
Status OplogCursor::open(RecoveryUnit& unit) {
  if (forward_ && unit.isActive())
    return {ErrorCode::kIllegalOperation, "the oplog is read forward in a snapshot of its own"};
  end_ = visibility_->get();
  TROUPE_ASSIGN(cursor_, unit.cursor(table_));
  return Status::OK();
}

bool OplogCursor::landed(bool found) {
  if (!found) return false;
  const bson::Timestamp at = OplogKey::decode(cursor_->key());
  if (forward_ && at > end_) return false;
  time_ = at;
  return true;
}

StatusWith<bool> OplogCursor::next() {
  if (time_ == bson::Timestamp{}) {
    if (start_ != bson::Timestamp{}) return seek(start_);
    cursor_->reset();
    TROUPE_ASSIGN(const bool first, forward_ ? cursor_->next() : cursor_->previous());
    return landed(first);
  }
  // From the time and not from the engine's position: that may have moved to an entry beyond the end.
  const OplogKey key(time_);
  if (cursor_->key() != std::string_view(key)) {
    TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
    if (!found || cursor_->key() != std::string_view(key)) return landed(found);
  }
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->next() : cursor_->previous());
  return landed(found);
}

StatusWith<bool> OplogCursor::seek(bson::Timestamp time) {
  const OplogKey key(time);
  time_ = {};
  start_ = time;
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(key) : cursor_->seekAtOrBefore(key));
  return landed(found);
}

Status OplogCursor::restore(RecoveryUnit& unit) {
  TROUPE_TRY(open(unit));
  if (time_ == bson::Timestamp{}) return Status::OK();
  TROUPE_ASSIGN(const bool there, cursor_->seek(OplogKey(time_)));
  if (there) return Status::OK();
  return {ErrorCode::kCappedPositionLost, "the oplog has been truncated past the position of the cursor, " +
                                              std::to_string(time_.seconds) + ":" + std::to_string(time_.increment)};
}

}  // namespace troupe::storage
