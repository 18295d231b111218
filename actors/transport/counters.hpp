#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "messaging/bson/document.hpp"
#include "messaging/link/rejection.hpp"

namespace troupe::link {

/// Counters of one link end, over all its connections. Counted with relaxed atomics, read by anyone.
struct LinkCounters {
  std::atomic<int64_t> framesIn{0}, framesOut{0};
  std::atomic<int64_t> bytesIn{0}, bytesOut{0};
  std::atomic<int64_t> opened{0};           ///< times the link came to be open
  std::atomic<int64_t> lost{0};             ///< connections and tries that ended
  std::atomic<int64_t> dropped{0};          ///< messages without answer that were not carried
  std::atomic<int64_t> failedAsks{0};       ///< asks answered with a failure by the link itself
  std::atomic<int64_t> timesRefused{0};     ///< cluster times of the other node that were not believed
  std::atomic<int64_t> roundTripMicros{0};  ///< of the last heartbeat; 0: none yet
  std::array<std::atomic<int64_t>, kRejections> rejected{};

  void reject(Rejection reason) { rejected[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }
  int64_t count(Rejection reason) const {
    return rejected[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }
  void setLastError(std::string error) {
    const std::lock_guard lock(mutex_);
    lastError_ = std::move(error);
  }
  std::string lastError() const {
    const std::lock_guard lock(mutex_);
    return lastError_;
  }
  /// Appends the counters as fields of a state document; rejections only when there were some.
  void describe(bson::Builder& out) const;

 private:
  mutable std::mutex mutex_;
  std::string lastError_;
};

}  // namespace troupe::link
