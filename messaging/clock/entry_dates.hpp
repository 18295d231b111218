#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "messaging/bson/types.hpp"
#include "messaging/clock/op_time.hpp"

namespace troupe {

/// When entries of the log were written, by the clock of their writer. Times of a cluster tell that by themselves,
/// until one that lies ahead is taken over from a client: from then on the writes of many seconds share one of them,
/// and only their increments grow. Remembers how far ahead times were, of the last hour at least. Any thread.
class EntryDates {
 public:
  /// The entry of `time` was written at `wall`. In growing times, but for a rollback: later ones are forgotten.
  void note(bson::Timestamp time, bson::Date wall);
  /// An entry of `time` was heard of at `now`, and so written by then. Nothing where it is not the newest one.
  void noteHeard(bson::Timestamp time, bson::Date now);
  /// To the second, where the times of those days were not ahead. An entry that is older than all that is known, as
  /// after a start, was written before them.
  bson::Date of(const OpTime& at) const;
  /// The same in seconds, for figures.
  double secondsOf(const OpTime& at) const { return static_cast<double>(of(at).millis) / 1000; }
  /// How far ahead of its writer's clock the newest entry was; 0: not worth mentioning.
  int64_t aheadMillis() const { return newest_.load(std::memory_order_relaxed); }

 private:
  struct Sample {
    uint64_t time;
    int64_t aheadMillis;  ///< of entries from `time` on
    int64_t dateMillis;   ///< of the entry of `time`
  };
  std::atomic<int64_t> newest_{0};
  mutable std::mutex mutex_;
  std::deque<Sample> samples_;
};

}  // namespace troupe
