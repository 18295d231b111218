#pragma once
#include <string_view>

#include "messaging/bson/view.hpp"
#include "storage/engine/engine.hpp"
#include "storage/oplog/oplog_visibility.hpp"

namespace troupe::storage {

class RecoveryUnit;

/// An entry's time as its key: eight bytes, big-endian, so that bytes order as times do.
class OplogKey {
 public:
  explicit OplogKey(bson::Timestamp time);
  operator std::string_view() const { return {bytes_, sizeof bytes_}; }  // NOLINT: usable as a key
  static bson::Timestamp decode(std::string_view key);

 private:
  char bytes_[8];
};

/// A walk over the oplog within a snapshot. Forward it ends at the visibility point as it was before the snapshot was
/// opened, hence before the first hole (TRN-008); backward it ignores the point (TRN-009). The entry is borrowed and
/// valid until the next call. Around a yield: `save`, abandon the snapshot, `restore`, which also takes the point anew:
/// so a cursor that tails goes on.
class OplogCursor {
 public:
  /// Moves to the next entry; false at the end, which is not final on a forward cursor.
  StatusWith<bool> next();
  /// Positions on the first entry at or after `time` (backward: at or before); false at the end.
  /// `next` then begins there, once it is visible.
  StatusWith<bool> seek(bson::Timestamp time);
  bson::Timestamp time() const { return time_; }
  bson::View entry() const { return bson::View(cursor_->value().data()); }
  /// The end of a forward walk.
  bson::Timestamp end() const { return end_; }

  void save() { cursor_.reset(); }
  /// Takes a cursor in a new snapshot; the unit must have none open (IllegalOperation). CappedPositionLost when the
  /// entry it stood on has been truncated: entries behind it may be gone too, unread.
  Status restore(RecoveryUnit& unit);

 private:
  friend class OplogStore;
  OplogCursor(Table table, const OplogVisibility* visibility, bool forward)
      : table_(std::move(table)), visibility_(visibility), forward_(forward) {}
  Status open(RecoveryUnit& unit);
  bool landed(bool found);

  Table table_;
  const OplogVisibility* visibility_;
  bool forward_;
  Session::CursorLease cursor_;
  bson::Timestamp time_;   ///< of the entry shown last; zero: none
  bson::Timestamp start_;  ///< what was sought last
  bson::Timestamp end_;
};

}  // namespace troupe::storage
