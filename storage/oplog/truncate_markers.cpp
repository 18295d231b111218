#include "storage/oplog/truncate_markers.hpp"

#include <algorithm>

namespace troupe::storage {

namespace {

constexpr int64_t kWantedMarkerBytes = int64_t{16} << 20;
constexpr int64_t kFewestMarkers = 10, kMostMarkers = 100;

void grow(TruncateMarker& marker, bson::Timestamp newest, int64_t wallMillis, int64_t records, int64_t bytes) {
  if (newest > marker.last) {
    marker.last = newest;
    marker.wallMillis = wallMillis;
  }
  marker.records += records;
  marker.bytes += bytes;
}

bson::Document describeMarker(const TruncateMarker& marker) {
  return bson::doc("last", marker.last, "wall", bson::Date{marker.wallMillis}, "records", marker.records, "bytes",
                   marker.bytes);
}

}  // namespace

void TruncateMarkers::setLimits(const OplogLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

OplogLimits TruncateMarkers::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

int64_t TruncateMarkers::markerBytesLocked() const {
  const int64_t count = std::clamp(limits_.maxBytes / kWantedMarkerBytes, kFewestMarkers, kMostMarkers);
  return std::max<int64_t>(1, limits_.maxBytes / count);
}

int64_t TruncateMarkers::markerBytes() const {
  const std::lock_guard lock(mutex_);
  return markerBytesLocked();
}

void TruncateMarkers::add(bson::Timestamp newest, int64_t wallMillis, int64_t records, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  records_ += records;
  bytes_ += bytes;
  added_.fetch_add(records, std::memory_order_relaxed);
  grow(partial_, newest, wallMillis, records, bytes);
  if (partial_.bytes < markerBytesLocked()) return;
  // An entry that is committed late may be older than the marker before says: markers stay in order all the same.
  if (!markers_.empty()) partial_.last = std::max(partial_.last, markers_.back().last);
  markers_.push_back(partial_);
  partial_ = {};
}

void TruncateMarkers::addOlder(bson::Timestamp time, int64_t wallMillis, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++records_;
  bytes_ += bytes;
  grow(older_, time, wallMillis, 1, bytes);
  if (older_.bytes < markerBytesLocked()) return;
  markers_.insert(markers_.begin() + static_cast<std::ptrdiff_t>(scanned_), older_);
  ++scanned_;
  older_ = {};
}

void TruncateMarkers::finishOlder() {
  const std::lock_guard lock(mutex_);
  // The remainder goes with the oldest entries that were added since.
  TruncateMarker& next = scanned_ < markers_.size() ? markers_[scanned_] : partial_;
  grow(next, older_.last, older_.wallMillis, older_.records, older_.bytes);
  older_ = {};
  scanned_ = 0;
}

std::optional<TruncateMarker> TruncateMarkers::expired(int64_t nowMillis, std::optional<bson::Timestamp> pin) const {
  const std::lock_guard lock(mutex_);
  if (markers_.empty() || bytes_ <= limits_.maxBytes) return std::nullopt;
  const TruncateMarker& oldest = markers_.front();
  if (pin && oldest.last >= *pin) return std::nullopt;
  if (limits_.minRetentionMillis > 0 && nowMillis - oldest.wallMillis < limits_.minRetentionMillis) return std::nullopt;
  return oldest;
}

void TruncateMarkers::dropOldest() {
  const std::lock_guard lock(mutex_);
  if (markers_.empty()) return;
  records_ -= markers_.front().records;
  bytes_ -= markers_.front().bytes;
  markers_.pop_front();
  if (scanned_ > 0) --scanned_;
}

void TruncateMarkers::cutAfter(bson::Timestamp point, int64_t records, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  records_ = std::max<int64_t>(0, records_ - records);
  bytes_ = std::max<int64_t>(0, bytes_ - bytes);
  int64_t recordsLeft = records_, bytesLeft = bytes_;
  while (!markers_.empty() && markers_.back().last > point) markers_.pop_back();
  scanned_ = std::min(scanned_, markers_.size());
  for (const TruncateMarker& marker : markers_) {
    recordsLeft -= marker.records;
    bytesLeft -= marker.bytes;
  }
  // The rest of a marker that was cut through fills the partial one.
  partial_ = {.last = point,
              .wallMillis = partial_.wallMillis,
              .records = std::max<int64_t>(0, recordsLeft - older_.records),
              .bytes = std::max<int64_t>(0, bytesLeft - older_.bytes)};
}

void TruncateMarkers::clear() {
  const std::lock_guard lock(mutex_);
  markers_.clear();
  partial_ = older_ = {};
  scanned_ = 0;
  records_ = bytes_ = 0;
}

int64_t TruncateMarkers::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

int64_t TruncateMarkers::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

size_t TruncateMarkers::size() const {
  const std::lock_guard lock(mutex_);
  return markers_.size();
}

bson::Document TruncateMarkers::describe() const {
  const std::lock_guard lock(mutex_);
  bson::Builder out;
  out.append("count", static_cast<int64_t>(markers_.size()));
  if (!markers_.empty())
    out.append("first", describeMarker(markers_.front())).append("last", describeMarker(markers_.back()));
  out.append("partial", describeMarker(partial_));
  out.append("totalRecords", records_).append("totalBytes", bytes_);
  return out.finish();
}

}  // namespace troupe::storage
