#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::commands {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What an operation cost, for slow-operation lines and currentOp. Written by the operation only.
struct OperationMetrics {
  int64_t keysExamined = 0;
  int64_t docsExamined = 0;
  int64_t returned = 0;
  int64_t inserted = 0;
  int64_t modified = 0;
  int64_t deleted = 0;
  int64_t writeConflicts = 0;
  int64_t yields = 0;
  int64_t replyBytes = 0;
  std::chrono::nanoseconds awaited{0};  ///< spent waiting for news, as the client asked: no part of its latency
  bool hasSortStage = false;
  std::string planSummary;
};

/// The lock on its collection that an operation holds or waits for, as currentOp shows it. Any thread may look.
struct ShownLock {
  std::atomic<char> mode{0};  ///< 'w' beside other writers, 'W' alone, 0 none
  std::atomic<bool> waiting{false};

  void await(char wanted) {
    mode.store(wanted, std::memory_order_relaxed);
    waiting.store(true, std::memory_order_relaxed);
  }
  void granted() { waiting.store(false, std::memory_order_relaxed); }
  void released() { mode.store(0, std::memory_order_relaxed); }
};

/// One command while it runs. Belongs to its connection; `kill` and `killed` may be used from any thread, all else by
/// the operation itself, or by currentOp while it holds the client's mutex (Client::withOperation).
class Operation {
 public:
  Operation(int64_t id, SteadyTime started) : id_(id), started_(started) {}

  int64_t id() const { return id_; }
  SteadyTime started() const { return started_; }

  /// Asks the operation to end with `code` (Interrupted, InterruptedAtShutdown, CursorKilled ...) at its next check.
  void kill(ErrorCode code) {
    killed_.store(static_cast<int32_t>(code), std::memory_order_relaxed);
    const std::lock_guard lock(wakerMutex_);
    if (onKill_) onKill_();
  }
  /// While the operation waits for something: `wake` is called, from any thread, when it is killed (at once when it has been).
  /// Empty: no longer.
  void wakeOnKill(std::function<void()> wake) {
    const std::lock_guard lock(wakerMutex_);
    onKill_ = std::move(wake);
    if (onKill_ && killed()) onKill_();
  }
  bool killed() const { return killed_.load(std::memory_order_relaxed) != 0; }
  /// maxTimeMS: nothing means no limit.
  void setDeadline(std::optional<SteadyTime> deadline) { deadline_ = deadline; }
  std::optional<SteadyTime> deadline() const { return deadline_; }
  /// The failure the operation has to end with now: it was killed, or its time (maxTimeMS) is over.
  Status checkForInterrupt(SteadyTime now) const {
    if (const auto code = killed_.load(std::memory_order_relaxed))
      return {static_cast<ErrorCode>(code), "operation was interrupted"};
    if (deadline_ && now >= *deadline_) return {ErrorCode::kMaxTimeMSExpired, "operation exceeded time limit"};
    return Status::OK();
  }

  std::string_view database;
  std::string ns;  ///< "db.collection" once known
  std::string_view commandName;
  bson::View command;  ///< the request's body, or the cursor's originating command
  OperationMetrics metrics;
  ShownLock lock;

 private:
  const int64_t id_;
  const SteadyTime started_;
  std::optional<SteadyTime> deadline_;
  std::atomic<int32_t> killed_{0};
  std::mutex wakerMutex_;
  std::function<void()> onKill_;
};

}  // namespace troupe::commands
