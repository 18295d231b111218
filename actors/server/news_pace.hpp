#pragma once
#include <chrono>
#include <cstdint>

#include "messaging/clock/time_point.hpp"

namespace troupe::server {

/// How often news come to a reader that waits at the end of a collection, as known by its last answer: whether a
/// moment's wait behind the first ones makes the next answer worth more. An answer costs its reader and its sender some
/// fixed work, mostly in waking each other, which the writers of a busy set pay for: answers of a dozen writes instead
/// of two and a half save a majority write a fifth of its processor time. A writer that comes alone is not kept
/// waiting: news of the log are its commits, however many documents one of them has.
class NewsPace {
 public:
  /// How long further news are gathered.
  static constexpr Duration kGathering = std::chrono::microseconds(300);

  /// An answer leaves; `news`: CappedWaiters::newsOf, up to which it was read.
  void answered(TimePoint now, int64_t news) {
    const int64_t more = news - news_;
    isQuick_ = more > 0 && more * kGathering >= kWorthWaitingFor * (now - answeredAt_);
    answeredAt_ = now;
    news_ = news;
  }
  /// At the pace of the last answer enough would come within the wait.
  bool isQuick() const { return isQuick_; }

 private:
  static constexpr int64_t kWorthWaitingFor = 2;  ///< news
  TimePoint answeredAt_{};
  int64_t news_ = 0;
  bool isQuick_ = false;
};

}  // namespace troupe::server
