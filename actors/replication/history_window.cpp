#include "actors/replication/history_window.hpp"

#include <algorithm>

#include "storage/engine/open_tables.hpp"
#include "storage/engine/rollback_reason.hpp"

namespace troupe::replication {

void HistoryWindow::look(bool isPressed, int64_t wanted, TimePoint now) {
  const double passed = std::chrono::duration<double>(now - looked_).count();
  looked_ = now;
  const auto most = static_cast<double>(wanted);
  if (isPressed) kept_ = (isShort_ ? std::min(kept_, most) : most) / 2;
  else if (isShort_) kept_ += passed;
  isShort_ = (isPressed || isShort_) && kept_ < most;
}

int64_t HistoryWindow::oldest(int64_t stable, int64_t wanted, int64_t wallNow) const {
  if (!isShort_) return stable - wanted;
  if (wallNow - stable >= kLongAgoSeconds) return stable;
  const int64_t shortened = std::min(stable - static_cast<int64_t>(kept_), wallNow - kLeastSeconds);
  return std::max(shortened, stable - wanted);
}

/// Eviction sets in at the target, and brings the share back to about there.
bool HistoryWindow::isPressed(const storage::EngineStatistics& statistics, bool dropsWait) {
  const bool isFull = statistics.cacheBytesMax > 0 &&
                      statistics.cacheBytesDirty * 1000 >= statistics.cacheBytesMax * storage::kDirtyTargetPercent * 9;
  return isFull || (dropsWait && storage::areMostTablesOpen(statistics));
}

}  // namespace troupe::replication
