#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

#include "messaging/clock/time_point.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::replication {

/// How much history a member keeps behind the stable time: what it is asked for
/// (minSnapshotHistoryWindowInSeconds), as long as the engine's cache has room for it. A page with versions that may
/// still be read cannot leave the cache; one that is full of such pages copies them to a file of the engine's and back,
/// over and over, which takes more time than the writes. So under pressure half as much is kept with each look, down to
/// what was stable a moment ago (kLeast), for reads at a time that somebody was just told; a whole second of a busy
/// member's writes would be more than a small cache lets be unwritten. More is kept again when the pressure has gone,
/// as time passes. Likewise where most of the tables allowed are open and dropped ones are among them, which stay as
/// long as history has them. A member that catches up keeps none under pressure: nobody reads there as of before what
/// is stable long ago, and it fills its cache within a second. Reads of an older time are refused (SnapshotTooOld). Not
/// thread-safe.
class HistoryWindow {
 public:
  static constexpr std::chrono::milliseconds kLeast{250};
  static constexpr int64_t kLongAgoSeconds = 5;
  static constexpr std::chrono::milliseconds kLookEvery{100};

  /// Whether it is time to look at the cache again.
  bool isDue(TimePoint now) const { return now - looked_ >= kLookEvery; }
  /// `wanted`: seconds.
  void look(bool isPressed, int64_t wanted, bson::Timestamp stable, TimePoint now);
  /// Up to which time history may go, never beyond `stable`. `wallNow`: seconds since 1970.
  bson::Timestamp oldest(bson::Timestamp stable, int64_t wanted, int64_t wallNow) const;

  /// Whether the cache holds as much that is not written as the engine lets it, or most tables are open and some of
  /// them were dropped (`dropsWait`): without these less history would close none.
  static bool isPressed(const storage::EngineStatistics& statistics, bool dropsWait = false);

 private:
  void noteStable(bson::Timestamp stable, TimePoint now);

  TimePoint looked_{};
  bool isShort_ = false;                                       ///< less is kept than was wanted
  double kept_ = 0;                                            ///< in seconds, then
  std::deque<std::pair<TimePoint, bson::Timestamp>> stables_;  ///< of the last looks; the first is kLeast ago
};

}  // namespace troupe::replication
