#include "actors/replication/kept_history.hpp"

#include <chrono>

namespace troupe::replication {

void KeptHistory::setStable(const OpTime& stable) {
  const std::lock_guard lock(mutex_);
  if (!isFrozen_) setStableOf(stable.timestamp);
}

void KeptHistory::freeze() {
  const std::lock_guard lock(mutex_);
  isFrozen_ = true;
}

void KeptHistory::thaw(const OpTime& stable) {
  const std::lock_guard lock(mutex_);
  isFrozen_ = false;
  setStableOf(stable.timestamp);
}

void KeptHistory::setStableOf(bson::Timestamp stable) {
  if (stable == bson::Timestamp{}) return;
  (void)catalog_.engine().setStableTimestamp(stable);
  stable_ = stable;
  setOldest();
}

void KeptHistory::lookAgain() {
  const std::lock_guard lock(mutex_);
  if (!isFrozen_ && stable_ != bson::Timestamp{} && oldest_ != stable_) setOldest();
}

void KeptHistory::setOldest() {
  const TimePoint now = environment_.coarseNow();
  if (window_.isDue(now)) {
    const bool dropsWait = catalog_.reaper().size() > 0;
    window_.look(HistoryWindow::isPressed(catalog_.engine().statistics(), dropsWait), wantedSeconds_.load(), stable_,
                 now);
  }
  const auto wallNow = std::chrono::duration_cast<std::chrono::seconds>(environment_.wallNow().time_since_epoch());
  const bson::Timestamp oldest = window_.oldest(stable_, wantedSeconds_.load(), wallNow.count());
  if (oldest.seconds == 0) return;
  oldest_ = oldest;
  (void)catalog_.engine().setOldestTimestamp(oldest_);
}

bson::Document KeptHistory::describe() const {
  const std::lock_guard lock(mutex_);
  const int64_t kept = oldest_ == bson::Timestamp{} ? 0 : static_cast<int64_t>(stable_.seconds) - oldest_.seconds;
  return bson::doc("stable", stable_, "oldest", oldest_, "keptSeconds", kept, "wantedSeconds", wantedSeconds_.load());
}

}  // namespace troupe::replication
