#pragma once
#include <chrono>
#include <cstdint>

#include "messaging/clock/time_point.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::replication {

/// How much history a member keeps behind the stable time: what it is asked for
/// (minSnapshotHistoryWindowInSeconds), as long as the engine's cache has room for it. A page with versions that may
/// still be read cannot leave the cache; one that is full of such pages copies them to a file of the engine's and back,
/// over and over, which takes more time than the writes. So under pressure half as much is kept with each look, but
/// always the last second by the clock; and more again when the pressure has gone, as time passes. Likewise where most
/// of the tables allowed are open and dropped ones are among them, which stay as long as history has them. A member
/// that catches up keeps none then: nobody reads there as of before what is stable long ago, and it fills its cache
/// within a second. Reads of an older time are refused (SnapshotTooOld). Not thread-safe.
class HistoryWindow {
 public:
  static constexpr int64_t kLeastSeconds = 1;
  static constexpr int64_t kLongAgoSeconds = 5;
  static constexpr std::chrono::milliseconds kLookEvery{100};

  /// Whether it is time to look at the cache again.
  bool isDue(TimePoint now) const { return now - looked_ >= kLookEvery; }
  /// `wanted`: seconds.
  void look(bool isPressed, int64_t wanted, TimePoint now);
  /// Up to which second history may go. `stable` and `wallNow`: seconds since 1970.
  int64_t oldest(int64_t stable, int64_t wanted, int64_t wallNow) const;

  /// Whether the cache holds as much that is not written as the engine lets it, or most tables are open and some of
  /// them were dropped (`dropsWait`): without these less history would close none.
  static bool isPressed(const storage::EngineStatistics& statistics, bool dropsWait = false);

 private:
  TimePoint looked_{};
  bool isShort_ = false;  ///< less is kept than was wanted
  double kept_ = 0;       ///< in seconds, then
};

}  // namespace troupe::replication
