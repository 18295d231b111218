#pragma once
#include "storage/oplog/oplog_key.hpp"
#include "storage/records/record_store.hpp"

namespace troupe::storage {

/// A walk over the oplog's records by their times, within a snapshot. Forward it ends at the visibility point as it was
/// before the snapshot was opened, hence before the first hole (TRN-008); backward it ignores the point (TRN-009). The
/// entry is borrowed and valid until the next call. Around a yield: `save`, abandon the snapshot, `restore`, which also
/// takes the point anew: so a cursor that tails goes on.
class OplogCursor {
 public:
  /// Moves to the next entry; false at the end, which is not final on a forward cursor.
  StatusWith<bool> next();
  /// Positions on the first entry at or after `time` (backward: at or before); false at the end.
  /// `next` then begins there, once it is visible.
  StatusWith<bool> seek(bson::Timestamp time);
  /// Of the entry shown last; zero before the first.
  bson::Timestamp time() const {
    return records_.id().ok() ? OplogKey::decode(records_.id().bytes()) : bson::Timestamp{};
  }
  bson::View entry() const { return records_.document(); }

  void save() { records_.save(); }
  /// Takes a cursor in a new snapshot; the unit must have none open (IllegalOperation). CappedPositionLost when the
  /// entry it stood on has been truncated: entries behind it may be gone too, unread.
  Status restore(RecoveryUnit& unit);

 private:
  friend class OplogStore;
  explicit OplogCursor(RecordCursor records) : records_(std::move(records)) {}

  RecordCursor records_;
  bson::Timestamp start_;  ///< target of a seek that found no visible entry yet; zero: none
};

}  // namespace troupe::storage
