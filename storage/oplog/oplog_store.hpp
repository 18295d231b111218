#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "storage/oplog/oplog_cursor.hpp"
#include "storage/oplog/oplog_visibility.hpp"
#include "storage/oplog/truncate_markers.hpp"

namespace troupe::storage {

class RecoveryUnit;
class SessionPool;

/// An entry (oplog_entry.hpp) as it is stored. Borrowed.
struct OplogRow {
  bson::Timestamp time;
  int64_t wallMillis = 0;
  bson::View document;
};

/// The oplog's table: time (8 bytes, big-endian) -> entry. Entries may be committed in any order of their times;
/// forward readers stop at the visibility point. Old entries are truncated by markers from the old end. The table is
/// logged. The collection local.oplog.rs shows the same table to clients (oplog_collection.hpp). Any thread; every call
/// works in the caller's recovery unit, writes need a unit of work.
class OplogStore {
 public:
  static constexpr std::string_view kIdent = "oplog";

  /// Opens or creates the table. Its entries, all of them committed, are visible: `visibility`, which outlives the
  /// store, is set to the newest. The size is not known until `scan` has ended.
  /// Snapshots of the pool note `visibility` from now on. `size`: counters that others show, too.
  static StatusWith<std::unique_ptr<OplogStore>> open(Engine& engine, SessionPool& pool, const OplogLimits& limits,
                                                      OplogVisibility& visibility,
                                                      std::shared_ptr<SizeInfo> size = std::make_shared<SizeInfo>());

  /// Adds entries. Sizes and markers follow the commit. Errors: DuplicateKey (an entry of that time exists),
  /// WriteConflict.
  Status insert(RecoveryUnit& unit, std::span<const OplogRow> entries);

  StatusWith<OplogCursor> cursor(RecoveryUnit& unit, bool forward = true) const;
  /// Time of the newest entry, visible or not; nothing when there is none.
  StatusWith<std::optional<bson::Timestamp>> newest(RecoveryUnit& unit) const;
  StatusWith<std::optional<bson::Timestamp>> oldest(RecoveryUnit& unit) const;
  /// Reads the time of the oldest entry, which `beginning` returns from then on. Called by the thread of
  /// `truncateOldest`.
  Status noteBeginning(RecoveryUnit& unit);
  /// Time of the oldest entry when it was looked for last; zero: it was not, or there was none. Any thread.
  bson::Timestamp beginning() const { return bson::Timestamp::fromUint64(beginning_.load(std::memory_order_relaxed)); }

  OplogVisibility& visibility() { return visibility_; }
  const OplogVisibility& visibility() const { return visibility_; }

  /// Counts up to `maxEntries` of the entries that were there at the opening and makes their markers (TRN-004); true
  /// when all have been. Gives way between calls, so a start is not held up. One caller.
  StatusWith<bool> scan(RecoveryUnit& unit, int maxEntries);
  /// Truncates the oldest marker if it has expired; see TruncateMarkers::expired. True when one went. Untimestamped
  /// (TRN-003). One caller at a time.
  StatusWith<bool> truncateOldest(RecoveryUnit& unit, int64_t nowMillis, std::optional<bson::Timestamp> pin);
  /// Removes all entries later than `point`, as recovery and rollback do, and moves the visibility point there
  /// (TRN-010). On a node that has handed out slots beyond it `SlotReserver::resetTo` follows.
  Status cutAfter(RecoveryUnit& unit, bson::Timestamp point);
  /// Removes everything without reading it, for an initial sync. Nobody may truncate or scan meanwhile.
  Status clear(RecoveryUnit& unit);

  /// The catalog was read again (Catalog::reload), and what it shows as local.oplog.rs counts with these from now on.
  /// Nobody else may use the log meanwhile.
  void countWith(std::shared_ptr<SizeInfo> size);

  /// Of truncation since the opening, as serverStatus shows it. Any thread.
  struct Figures {
    int64_t truncations = 0, truncateMicros = 0;
    int64_t scanMicros = 0;  ///< to count the entries that were there
  };
  Figures figures() const {
    return {truncations_.load(std::memory_order_relaxed), truncateMicros_.load(std::memory_order_relaxed),
            scanMicros_.load(std::memory_order_relaxed)};
  }
  void noteTruncation(std::chrono::microseconds took) {
    truncations_.fetch_add(1, std::memory_order_relaxed);
    truncateMicros_.fetch_add(took.count(), std::memory_order_relaxed);
  }
  void noteScan(std::chrono::microseconds took) { scanMicros_.fetch_add(took.count(), std::memory_order_relaxed); }

  TruncateMarkers& markers() { return markers_; }
  int64_t records() const { return markers_.records(); }
  int64_t bytes() const { return markers_.bytes(); }
  /// Entries that were committed since the opening.
  int64_t added() const { return markers_.added(); }
  const Table& table() const { return records_->table(); }

 private:
  OplogStore(Table table, std::shared_ptr<SizeInfo> size, const OplogLimits& limits, OplogVisibility& visibility)
      : records_(std::in_place, std::move(table), RecordIds::kTimes, std::move(size)),
        visibility_(visibility),
        markers_(limits) {}

  std::optional<RecordStore> records_;  ///< always there
  OplogVisibility& visibility_;
  TruncateMarkers markers_;
  bson::Timestamp truncatedTo_;  ///< everything up to it is gone: truncation need not look there again
  bson::Timestamp scanEnd_;      ///< newest entry at the opening
  bson::Timestamp scanned_;
  std::atomic<uint64_t> beginning_{0};
  std::atomic<int64_t> truncations_{0}, truncateMicros_{0}, scanMicros_{0};
};

}  // namespace troupe::storage
