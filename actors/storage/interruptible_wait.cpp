#include "actors/storage/interruptible_wait.hpp"

#include <memory>
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

namespace {

Task<void> forward(Future<Answer> answer, std::shared_ptr<Promise<Answer>> to) {
  Answer got = co_await answer;
  to->set(std::move(got));
}

}  // namespace

Task<Answer> awaitAnswer(Node& node, storage::OperationContext& operation, Future<Answer> answer) {
  auto promise = std::make_shared<Promise<Answer>>();
  auto outcome = promise->future();
  node.start(forward(std::move(answer), promise));
  const auto end = [promise](const Status& why) { promise->set(why); };
  const InterruptibleWait guard(node.environment(), operation, end);
  co_return co_await outcome;
}

Task<Status> pauseFor(Environment& environment, storage::OperationContext& operation, Duration time) {
  auto promise = std::make_shared<Promise<Status>>();
  auto over = promise->future();
  auto end = [promise](const Status& why) { promise->set(why); };
  InterruptibleWait::Options options;
  options.limit = environment.now() + time;
  const InterruptibleWait guard(environment, operation, end, std::move(options));
  co_return co_await over;
}

}  // namespace troupe
