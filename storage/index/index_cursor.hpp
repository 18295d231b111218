#pragma once
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"
#include "storage/engine/engine.hpp"
#include "storage/records/record_id.hpp"

namespace troupe::storage {

class IndexAccess;
class RecoveryUnit;

/// A bound on keys: key-string bytes without RecordId. A key that *begins* with the bytes counts as equal to them, so a
/// bound on {a: 1} of an index {a, b} is just the first component (without end byte); a key string finished with a
/// discriminator before or after works as well. Empty bytes are no bound.
struct IndexBound {
  std::string key;
  bool inclusive = true;
};

/// Walks an index within the recovery unit's snapshot, forward or backward, from a start to an end bound. A row's
/// bytes are borrowed and valid until the next call. Around a yield: `save()` and `restore()`.
class IndexCursor {
 public:
  IndexCursor() = default;
  /// Positions on the first row at or behind the bound in the cursor's direction and within the end bound; false when
  /// none.
  StatusWith<bool> seek(const IndexBound& start);
  /// As seek without copying: `key` with its inclusiveness.
  StatusWith<bool> seek(std::string_view key, bool inclusive);
  /// The next row; on a fresh cursor the first. False at the end.
  StatusWith<bool> next();
  void setEnd(IndexBound end) { end_ = std::move(end); }

  /// The key string without RecordId; decode it with the index's pattern.
  std::string_view key() const { return key_; }
  std::string_view typeBits() const { return typeBits_; }
  const RecordId& id() const { return id_; }

  /// Gives pages and cursor back; the position is kept by key and id.
  void save();
  /// Takes a cursor in the new snapshot; true when the row is still there. When false, `next` goes on behind it.
  StatusWith<bool> restore(RecoveryUnit& unit);

 private:
  friend class IndexAccess;
  StatusWith<bool> accept(bool positioned);
  bool withinEnd() const;

  Table table_;
  Session::CursorLease cursor_;
  IndexBound end_;
  std::string saved_;
  std::string_view key_, typeBits_;
  RecordId id_;
  RecordIds kind_ = RecordIds::kNumbers;
  bool idIndex_ = false;
  bool forward_ = true;
  bool pending_ = false;
  bool ended_ = false;
};

}  // namespace troupe::storage
