#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::server {

/// Path of the actor that removes their records, on every member.
inline constexpr const char* kChildSessionReaperPath = "/node/replication/child-session-reaper";
/// Told to it when there are enough of them.
struct ReapChildren {};

/// Child sessions whose retryable write is over, until their records are removed together (SES-012). They count for the
/// term in which they were dropped: what a step-down or a restart loses, the periodic reaping finds. Thread-safe.
class DroppedChildren {
 public:
  /// Those beyond are left to the periodic reaping.
  static constexpr size_t kMost = 100'000;

  /// `session`: the whole id.
  void add(int64_t term, bson::Document session) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(term_, term) != term) sessions_.clear();
    if (sessions_.size() < kMost) sessions_.push_back(std::move(session));
    size_.store(sessions_.size(), std::memory_order_relaxed);
  }
  /// Hands out those of that term; any others are forgotten.
  std::vector<bson::Document> take(int64_t term) {
    const std::lock_guard lock(mutex_);
    size_.store(0, std::memory_order_relaxed);
    auto taken = std::exchange(sessions_, {});
    if (term_ != term) taken.clear();
    return taken;
  }
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  int64_t term_ = 0;
  std::vector<bson::Document> sessions_;
  std::atomic<size_t> size_{0};
};

}  // namespace troupe::server
