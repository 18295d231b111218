#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::commands {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A text that its operation sets while others may look at it.
class SharedText {
 public:
  SharedText& operator=(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
    return *this;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// What an operation cost, for slow-operation lines and currentOp. Written by the operation only; others look at what
/// currentOp shows, the yields and the plan.
struct OperationMetrics {
  int64_t keysExamined = 0;
  int64_t docsExamined = 0;
  int64_t returned = 0;
  int64_t inserted = 0;
  int64_t modified = 0;
  int64_t deleted = 0;
  int64_t writeConflicts = 0;
  std::atomic<int64_t> yields{0};
  int64_t replyBytes = 0;
  std::chrono::nanoseconds awaited{0};  ///< spent waiting for news, as the client asked: no part of its latency
  bool hasSortStage = false;
  SharedText planSummary;
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

/// One command while it runs. Belongs to its connection. Others meet it only through Client::withOperation, once
/// `database`, `commandName` and `command` are set: they may kill it, and look at these three, the namespace, the lock,
/// and what its metrics share. All else is the operation's own.
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
  /// While the operation waits for something: `wake` is called, from any thread, when it is killed (at once when it has
  /// been). Empty: no longer.
  void wakeOnKill(std::function<void()> wake) {
    const std::lock_guard lock(wakerMutex_);
    onKill_ = std::move(wake);
    if (onKill_ && killed()) onKill_();
  }
  bool killed() const { return killed_.load(std::memory_order_relaxed) != 0; }
  /// maxTimeMS, or the deadline of who asked for it: the earliest holds. Without one there is no limit.
  void setDeadline(SteadyTime deadline) { deadline_ = deadline_ ? std::min(*deadline_, deadline) : deadline; }
  std::optional<SteadyTime> deadline() const { return deadline_; }
  /// The failure the operation has to end with now: it was killed, or its time (maxTimeMS) is over.
  Status checkForInterrupt(SteadyTime now) const {
    if (const auto code = killed_.load(std::memory_order_relaxed))
      return {static_cast<ErrorCode>(code), "operation was interrupted"};
    if (deadline_ && now >= *deadline_) return {ErrorCode::kMaxTimeMSExpired, "operation exceeded time limit"};
    return Status::OK();
  }

  std::string_view database;
  SharedText ns;  ///< "db.collection" once known
  /// The namespace as operators see it, also while it is not known.
  std::string shownNs() const {
    std::string known = ns.text();
    return known.empty() ? std::string(database) + ".$cmd" : known;
  }
  std::string_view commandName;
  bson::View command;  ///< the request's body
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
