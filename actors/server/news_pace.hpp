#pragma once
#include <chrono>
#include <cstdint>

#include "messaging/clock/time_point.hpp"

namespace troupe::server {

/// How fast a collection grows under a reader that waits at its end, known by the reader's last answer: whether a
/// moment's wait behind the first news makes the next answer worth more. An answer costs its reader and its sender some
/// fixed work, mostly in waking each other, which the writers of a busy set pay for: answers of a dozen entries instead
/// of two and a half save a majority write a quarter of its processor time. A writer that comes alone is not kept
/// waiting.
class NewsPace {
 public:
  /// How long further news are gathered.
  static constexpr Duration kGathering = std::chrono::microseconds(300);

  /// An answer with so many documents leaves.
  void answered(TimePoint now, int64_t documents) {
    isQuick_ = documents > 0 && documents * kGathering >= kWorthWaitingFor * (now - answeredAt_);
    answeredAt_ = now;
  }
  /// At the pace of the last answer enough would come within the wait.
  bool isQuick() const { return isQuick_; }

 private:
  static constexpr int64_t kWorthWaitingFor = 2;  ///< documents
  TimePoint answeredAt_{};
  bool isQuick_ = false;
};

}  // namespace troupe::server
