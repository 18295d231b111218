#pragma once
#include <chrono>
#include <cstdint>

#include "messaging/clock/time_point.hpp"

namespace troupe::server {

/// How often news come to a reader that waits at the end of a collection, as known by its last answer: whether to
/// gather further ones behind the first makes the next answer worth more. An answer costs its reader and its sender
/// some fixed work, mostly in waking each other, which the writers of a busy set pay for. Writers that wait for a
/// majority come in bursts, all of them after each answer: news are gathered until no more come for a moment, so that
/// one answer has the whole burst. A writer that comes alone, or two that take turns, are not kept waiting: news of the
/// log are its commits, however many documents one of them has.
class NewsPace {
 public:
  /// How long further news are gathered at most.
  static constexpr Duration kGathering = std::chrono::microseconds(1500);
  /// Without news for as long the burst has ended.
  static constexpr Duration kQuiet = std::chrono::microseconds(200);
  /// The same where it is known who is still to come: it ends with them.
  static constexpr Duration kQuietOfKnown = std::chrono::microseconds(500);

  /// An answer leaves; `news`: CappedWaiters::newsOf, up to which it was read.
  void answered(TimePoint now, int64_t news) {
    const int64_t more = news - news_;
    isQuick_ = more >= kWorthWaitingFor && more * kGathering >= kWorthWaitingFor * (now - answeredAt_);
    answeredAt_ = now;
    news_ = news;
  }
  /// The last answer had several news, and at its pace as many would come again.
  bool isQuick() const { return isQuick_; }

 private:
  static constexpr int64_t kWorthWaitingFor = 3;  ///< news
  TimePoint answeredAt_{};
  int64_t news_ = 0;
  bool isQuick_ = false;
};

}  // namespace troupe::server
