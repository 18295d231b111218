#include "actors/replication/history_window.hpp"

#include <algorithm>

#include "storage/engine/open_tables.hpp"
#include "storage/engine/rollback_reason.hpp"

namespace troupe::replication {

void HistoryWindow::look(bool isPressed, int64_t wanted, bson::Timestamp stable, TimePoint now) {
  const double passed = std::chrono::duration<double>(now - looked_).count();
  looked_ = now;
  noteStable(stable, now);
  const auto most = static_cast<double>(wanted);
  if (isPressed) kept_ = (isShort_ ? std::min(kept_, most) : most) / 2;
  else if (isShort_) kept_ += passed;
  isShort_ = (isPressed || isShort_) && kept_ < most;
}

void HistoryWindow::noteStable(bson::Timestamp stable, TimePoint now) {
  stables_.emplace_back(now, stable);
  while (stables_.size() > 1 && now - stables_[1].first >= kLeast) stables_.pop_front();
}

bson::Timestamp HistoryWindow::oldest(bson::Timestamp stable, int64_t wanted, int64_t wallNow) const {
  const auto before = [&](int64_t seconds) {
    const int64_t at = std::max<int64_t>(int64_t{stable.seconds} - seconds, 0);
    return bson::Timestamp{static_cast<uint32_t>(at), stable.increment};
  };
  if (!isShort_) return before(wanted);
  if (wallNow - stable.seconds >= kLongAgoSeconds) return stable;
  if (kept_ >= 1) return before(std::min(static_cast<int64_t>(kept_), wanted));
  const bool isKnown = !stables_.empty() && looked_ - stables_.front().first >= kLeast;
  return std::min(stable, isKnown ? stables_.front().second : before(std::min<int64_t>(1, wanted)));
}

/// Eviction sets in at the target, and brings the share back to about there.
bool HistoryWindow::isPressed(const storage::EngineStatistics& statistics, bool dropsWait) {
  const bool isFull = statistics.cacheBytesMax > 0 &&
                      statistics.cacheBytesDirty * 1000 >= statistics.cacheBytesMax * storage::kDirtyTargetPercent * 9;
  return isFull || (dropsWait && storage::areMostTablesOpen(statistics));
}

}  // namespace troupe::replication
