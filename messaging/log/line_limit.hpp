#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace troupe::log {

/// Keeps an event that peers can cause at will from filling the log: one line in each interval, which tells how many
/// were left out before it. Thread-safe.
///   if (const auto leftOut = limit.admit(now)) log.warning(..., bson::doc("leftOut", *leftOut));
class LineLimit {
 public:
  explicit LineLimit(std::chrono::nanoseconds interval = std::chrono::seconds(10)) : interval_(interval) {}

  /// How many events were left out since the last line, if a line is due; nothing if this event is left out, too.
  template <class Time>
  std::optional<int64_t> admit(Time now) {
    const int64_t at = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    int64_t next = next_.load(std::memory_order_relaxed);
    if (at < next || !next_.compare_exchange_strong(next, at + interval_.count(), std::memory_order_relaxed)) {
      leftOut_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return leftOut_.exchange(0, std::memory_order_relaxed);
  }

  /// How many events were left out since the last line, at the end of their source.
  int64_t rest() { return leftOut_.exchange(0, std::memory_order_relaxed); }

 private:
  const std::chrono::nanoseconds interval_;
  std::atomic<int64_t> next_{INT64_MIN};
  std::atomic<int64_t> leftOut_{0};
};

}  // namespace troupe::log
