#pragma once
#include <atomic>
#include <mutex>

#include "actors/environment/environment.hpp"
#include "actors/replication/history_window.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "storage/catalog/catalog.hpp"

namespace troupe::replication {

/// The engine's stable time and the oldest one that it keeps history for: each move of the stable point sets both, and
/// a look in between gives up history that the cache has no room for (HistoryWindow). Without such looks a member
/// whose writers have gone would keep the last second's versions in a full cache, and the engine would write their
/// pages over and over (a third to a half of a processor) until something is written again. Thread-safe.
class KeptHistory {
 public:
  /// `wantedSeconds`: what is kept where there is room. All outlive it.
  KeptHistory(storage::Catalog& catalog, const std::atomic<int64_t>& wantedSeconds, const Environment& environment)
      : catalog_(catalog), wantedSeconds_(wantedSeconds), environment_(environment) {}

  void setStable(const OpTime& stable);
  void lookAgain();
  /// From here on nothing moves, until `thaw`: a rollback goes back to the engine's stable time and carries out the log
  /// from there on. Commit points are learned all the while, and a stable time beyond what was carried out so far would
  /// make the engine refuse the rest, and a checkpoint claim it.
  void freeze();
  /// With what is stable by now.
  void thaw(const OpTime& stable);
  /// A rollback has gone back and not come to its end.
  bool isFrozen() const {
    const std::lock_guard lock(mutex_);
    return isFrozen_;
  }
  /// Seconds, and whether there is less than was asked for.
  bson::Document describe() const;

 private:
  // With the mutex.
  void setStableOf(bson::Timestamp stable);
  void setOldest();

  storage::Catalog& catalog_;
  const std::atomic<int64_t>& wantedSeconds_;
  const Environment& environment_;
  mutable std::mutex mutex_;
  bool isFrozen_ = false;
  bson::Timestamp stable_;
  bson::Timestamp oldest_;  ///< as it was set last
  HistoryWindow window_;
};

}  // namespace troupe::replication
