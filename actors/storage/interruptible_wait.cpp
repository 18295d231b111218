#include "actors/storage/interruptible_wait.hpp"

#include <utility>

namespace troupe {

InterruptibleWait::InterruptibleWait(Environment& environment, storage::OperationContext& operation, End end,
                                     Options options)
    : environment_(environment), operation_(operation), abandon_(std::move(options.abandon)) {
  // `kill` calls back under the operation's mutex, which the destructor takes too: `operation` is alive in the
  // callback.
  operation.wakeOnKill([end, &operation] { end(operation.checkForInterrupt({})); });
  std::optional<TimePoint> until = operation.deadline();
  Status late(ErrorCode::kMaxTimeMSExpired, "operation exceeded time limit");
  if (options.limit && (!until || *options.limit < *until)) {
    until = options.limit;
    late = std::move(options.late);
  }
  if (until) timer_ = environment.schedule(*until, [end = std::move(end), late = std::move(late)] { end(late); });
}

InterruptibleWait::~InterruptibleWait() {
  operation_.wakeOnKill(nullptr);
  if (timer_) environment_.cancel(*timer_);
  if (abandon_) abandon_();
}

}  // namespace troupe
