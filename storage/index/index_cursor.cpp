#include "storage/index/index_cursor.hpp"

#include "storage/keys/key_string.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
namespace {

/// Greater than any bytes that may follow a bound in a key: no tag, end byte or positive record id begins so.
constexpr std::string_view kBeyond = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";

std::string beyond(std::string_view key) {
  std::string bytes;
  bytes.reserve(key.size() + kBeyond.size());
  return bytes.append(key).append(kBeyond);
}

}  // namespace

StatusWith<bool> IndexCursor::seek(const IndexBound& start) { return seek(start.key, start.inclusive); }

StatusWith<bool> IndexCursor::seek(std::string_view key, bool inclusive) {
  pending_ = ended_ = false;
  key_ = {};
  if (key.empty()) {
    cursor_->reset();
    return next();
  }
  if (forward_) {
    TROUPE_ASSIGN(const bool found, cursor_->seekAtOrAfter(inclusive ? key : beyond(key)));
    return accept(found);
  }
  TROUPE_ASSIGN(bool found, cursor_->seekAtOrBefore(inclusive ? beyond(key) : key));
  if (found && !inclusive && cursor_->key().starts_with(key)) {
    TROUPE_ASSIGN(found, cursor_->previous());
  }
  return accept(found);
}

StatusWith<bool> IndexCursor::next() {
  if (ended_) return false;
  if (pending_) {
    pending_ = false;
    return accept(true);
  }
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->next() : cursor_->previous());
  return accept(found);
}

StatusWith<bool> IndexCursor::accept(bool positioned) {
  if (!positioned) {
    ended_ = true;
    return false;
  }
  const std::string_view row = cursor_->key();
  const std::string_view value = cursor_->value();
  std::string_view id = value;
  const bool wellFormed = idIndex_ ? value.size() >= RecordKey::kNumberSize : splitIndexRow(row, kind_, key_, id);
  if (!wellFormed)
    return Status(ErrorCode::kDataCorruptionDetected,
                  "an index row of " + table_.ident + " is malformed; run validate with repair");
  RecordKey::decode(id, kind_, id_);
  if (idIndex_) key_ = row;
  typeBits_ = idIndex_ ? value.substr(RecordKey::kNumberSize) : value;
  ended_ = !withinEnd();
  return !ended_;
}

bool IndexCursor::withinEnd() const {
  if (end_.key.empty()) return true;
  if (key_.starts_with(end_.key)) return end_.inclusive;
  return forward_ ? key_ < std::string_view(end_.key) : key_ > std::string_view(end_.key);
}

void IndexCursor::save() {
  if (!pending_ && !ended_) {  // a pending row has not been shown yet: the position is still the one before
    if (key_.empty()) {
      saved_.clear();
    } else {
      saved_ = cursor_->key();
    }
  }
  cursor_.reset();
}

StatusWith<bool> IndexCursor::restore(RecoveryUnit& unit) {
  TROUPE_ASSIGN(cursor_, unit.cursor(table_));
  if (ended_ || saved_.empty()) return !ended_;
  TROUPE_ASSIGN(const bool found, forward_ ? cursor_->seekAtOrAfter(saved_) : cursor_->seekAtOrBefore(saved_));
  if (!found) {
    ended_ = true;
    return false;
  }
  if (cursor_->key() != saved_) {
    pending_ = true;
    return false;
  }
  pending_ = false;
  return accept(true);
}

}  // namespace troupe::storage
