#include "actors/server/progress_wait.hpp"

#include <memory>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

namespace {

using replication::ReplicationProgress;

/// Interest in a time; withdrawn with the frame that waits.
class Interest {
 public:
  Interest(ReplicationProgress& progress, const AskProgress& ask, const std::shared_ptr<Promise<Status>>& done)
      : progress_(progress), waiter_(ask(progress, [done](const Status& verdict) { done->set(verdict); })) {}
  Interest(const Interest&) = delete;
  Interest& operator=(const Interest&) = delete;
  ~Interest() { progress_.withdraw(waiter_); }

 private:
  ReplicationProgress& progress_;
  const ReplicationProgress::WaiterId waiter_;
};

InterruptibleWait::End endOf(std::shared_ptr<Promise<Status>> promise) {
  return [promise = std::move(promise)](const Status& why) { promise->set(why); };
}

}  // namespace

Task<Status> awaitProgress(Request& request, AskProgress ask, InterruptibleWait::Options options) {
  ServerContext& server = request.server();
  const auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  const InterruptibleWait guard(server.node.environment(), request.operation(), endOf(promise), std::move(options));
  const Interest interest(*server.progress, ask, promise);
  co_return co_await outcome;
}

}  // namespace troupe::server
