#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "messaging/bson/document.hpp"

namespace troupe::storage {

/// A stretch of the oplog that is truncated at once: the entries up to `last` and after the marker before (TRN-001).
/// Counts are approximate: entries may be committed out of order.
struct TruncateMarker {
  bson::Timestamp last;
  int64_t wallMillis = 0;  ///< wall time of the newest entry
  int64_t records = 0;
  int64_t bytes = 0;
};

/// When the oplog is truncated.
struct OplogLimits {
  int64_t maxBytes = int64_t{990} << 20;
  int64_t minRetentionMillis = 0;  ///< entries are kept at least that long, at any size (TRN-007)
};

/// Divides the oplog into markers, the oldest first, and a partial one that new entries fill. A marker is closed once
/// it holds a share of the size limit. Thread-safe.
class TruncateMarkers {
 public:
  explicit TruncateMarkers(const OplogLimits& limits) { setLimits(limits); }

  void setLimits(const OplogLimits& limits);
  OplogLimits limits() const;
  /// Bytes from which on a marker is closed: between a tenth and a hundredth of the limit, about 16 MiB.
  int64_t markerBytes() const;

  /// Committed entries, `newest` the latest of them.
  void add(bson::Timestamp newest, int64_t wallMillis, int64_t records, int64_t bytes);
  /// Entries found at start, in order, that are older than all added ones.
  void addOlder(bson::Timestamp time, int64_t wallMillis, int64_t bytes);
  /// The scan at start has ended: what it left open joins the entries added since.
  void finishOlder();

  /// The oldest marker when it may go: the whole is larger than the limit, it has been kept long enough, and nothing
  /// from `pin` on is needed any more (TRN-005 to TRN-007). A pin is the oldest time that recovery, a backup or a
  /// prepared transaction needs; nothing when there is none.
  std::optional<TruncateMarker> expired(int64_t nowMillis, std::optional<bson::Timestamp> pin) const;
  /// The oldest marker has been truncated.
  void dropOldest();
  /// Everything later than `point` was cut off, `records` and `bytes` in all (TRN-010).
  void cutAfter(bson::Timestamp point, int64_t records, int64_t bytes);
  /// Nothing is left.
  void clear();

  int64_t records() const;
  int64_t bytes() const;
  /// Entries that `add` was told of, also those that have gone since.
  int64_t added() const { return added_.load(std::memory_order_relaxed); }
  size_t size() const;
  /// {markers: [{last, wall, records, bytes}], partial: {...}, totalRecords, totalBytes} for the admin page.
  bson::Document describe() const;

 private:
  int64_t markerBytesLocked() const;

  mutable std::mutex mutex_;
  OplogLimits limits_;
  std::deque<TruncateMarker> markers_;
  TruncateMarker partial_;  ///< of added entries
  TruncateMarker older_;    ///< of a scan that has not ended
  size_t scanned_ = 0;      ///< markers at the front that the scan has made
  int64_t records_ = 0;
  int64_t bytes_ = 0;
  std::atomic<int64_t> added_{0};
};

}  // namespace troupe::storage
