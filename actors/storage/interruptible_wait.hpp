#pragma once
#include <functional>
#include <optional>

#include "actors/environment/environment.hpp"
#include "actors/kernel/node.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe {

/// Guard of one wait of an operation: for a lock, a ticket, a flush, new documents. While it lives the wait is ended
/// early, with the reason, when the operation is killed, when its deadline passes, or when the wait's own limit does.
/// It lives on the frame that waits; when the frame goes away first, the wait is abandoned. The only place that
/// connects a wait to `OperationContext::wakeOnKill`: an operation waits for one thing at a time.
class InterruptibleWait {
 public:
  /// Ends the wait with `why` unless it has ended. Called from any thread, possibly before the constructor returns and
  /// more than once; never after the destructor has returned, but for a timer that was about to fire.
  using End = std::function<void(const Status& why)>;
  struct Options {
    std::optional<TimePoint> limit = {};  ///< of this wait, besides the operation's deadline; the earlier one counts
    Status late = {};                     ///< the reason when `limit` has passed
    std::function<void()> abandon = {};   ///< gives the wait up: the frame goes away before `settled`
  };

  InterruptibleWait(Environment& environment, storage::OperationContext& operation, End end)
      : InterruptibleWait(environment, operation, std::move(end), Options{}) {}
  InterruptibleWait(Environment& environment, storage::OperationContext& operation, End end, Options options);
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;
  ~InterruptibleWait();

  /// The outcome was taken: there is nothing to abandon.
  void settled() { abandon_ = nullptr; }

 private:
  Environment& environment_;
  storage::OperationContext& operation_;
  std::function<void()> abandon_;
  std::optional<TimerId> timer_;
};

/// Awaits an answer for an operation, on its coroutine: the wait ends early, with the operation's failure, when it is
/// killed or its deadline passes. The answer is dropped then.
Task<Answer> awaitAnswer(Node& node, storage::OperationContext& operation, Future<Answer> answer);

/// Lets time pass for an operation, on its coroutine. Errors: the operation's, at once, when it is killed or its
/// deadline passes.
Task<Status> pauseFor(Environment& environment, storage::OperationContext& operation, Duration time);

}  // namespace troupe
