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
  /// Not while a rollback has taken storage down.
  void lookAgain();
  /// Seconds, and whether there is less than was asked for.
  bson::Document describe() const;

 private:
  void setOldest();  // with the mutex

  storage::Catalog& catalog_;
  const std::atomic<int64_t>& wantedSeconds_;
  const Environment& environment_;
  mutable std::mutex mutex_;
  bson::Timestamp stable_;
  bson::Timestamp oldest_;  ///< as it was set last
  HistoryWindow window_;
};

}  // namespace troupe::replication
