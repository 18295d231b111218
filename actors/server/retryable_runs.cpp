#include "actors/server/retryable_runs.hpp"

#include <algorithm>
#include <utility>

#include "actors/machines/retry_pause.hpp"
#include "actors/server/error_labels.hpp"
#include "messaging/bson/ids.hpp"

namespace troupe::server {

/// One run's session: given back in any case, also when the task is dropped.
class RetryableRuns::Lease {
 public:
  Lease(std::shared_ptr<Sessions> of, Node& node) : of_(std::move(of)), session_(of_->take(node)) {}
  ~Lease() { of_->giveBack(session_); }
  Lease(const Lease&) = delete;

  const SessionNumber& number() const { return session_; }

 private:
  const std::shared_ptr<Sessions> of_;
  const SessionNumber session_;
};

RetryableRuns::SessionNumber RetryableRuns::Sessions::take(Node& node) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    free_.push_back({bson::randomUuid([&node] { return node.environment().random(); })});
    ++made_;
  }
  SessionNumber session = free_.back();
  free_.pop_back();
  ++session.txnNumber;
  return session;
}

void RetryableRuns::Sessions::giveBack(const SessionNumber& session) {
  const std::lock_guard lock(mutex_);
  free_.push_back(session);
}

size_t RetryableRuns::Sessions::count() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

RetryableRuns::RetryableRuns(Node& node, replication::RemoteMembers& members, std::string target,
                             const Options& options)
    : node_(node), members_(members), target_(std::move(target)), options_(options) {}

namespace {

/// What an attempt ended with; a write whose concern failed since the primary has gone is as good as unanswered.
Status failureOf(const StatusWith<bson::Document>& reply) {
  if (!reply.isOK()) return reply.status();
  const bson::Element concern = (*reply)["writeConcernError"];
  if (!concern.is(bson::Type::kDocument)) return Status::OK();
  return {static_cast<ErrorCode>(concern.asDocument()["code"].toInt64()),
          std::string(concern.asDocument()["errmsg"].toStringOr("the write concern failed"))};
}

Status noAnswer(const Status& last) {
  if (last.isOK()) return {ErrorCode::kMaxTimeMSExpired, "the deadline has passed before the command was sent"};
  return last.withContext("the deadline has passed; whether the command was carried out is not known");
}

bson::Document numbered(const bson::Document& command, const RetryableRuns::SessionNumber& under) {
  bson::Builder sent;
  sent.appendAll(command).append("lsid", bson::doc("id", under.id)).append("txnNumber", under.txnNumber);
  return sent.finish();
}

}  // namespace

bool isSentAgain(const Status& failure) {
  return isRetryableWriteError(failure.code()) || failure == ErrorCode::kMaxTimeMSExpired ||
         failure == ErrorCode::kInterrupted;
}

Task<StatusWith<bson::Document>> RetryableRuns::runOnce(std::string database, bson::Document command,
                                                        TimePoint deadline) {
  const Duration left = deadline - node_.environment().now();
  if (left <= Duration::zero()) co_return noAnswer(Status::OK());
  co_return co_await members_.run(target_, database, command, left);
}

Task<StatusWith<bson::Document>> RetryableRuns::run(std::string database, bson::Document command, TimePoint deadline) {
  if (!options_.numbered) co_return co_await runOnce(std::move(database), std::move(command), deadline);
  const Lease session(made_, node_);
  co_return co_await run(session.number(), std::move(database), std::move(command), deadline);
}

Task<StatusWith<bson::Document>> RetryableRuns::run(SessionNumber under, std::string database, bson::Document command,
                                                    TimePoint deadline) {
  if (!options_.numbered) co_return co_await runOnce(std::move(database), std::move(command), deadline);
  const bson::Document sent = numbered(command, under);
  machines::RetryPause pause(options_.firstPause, options_.longestPause);
  Status last;
  for (;;) {
    const Duration left = deadline - node_.environment().now();
    if (left <= Duration::zero()) co_return noAnswer(last);
    const Duration time = std::min(left, options_.attempt);
    auto reply = co_await members_.run(target_, database, sent, time);
    last = failureOf(reply);
    if (!isSentAgain(last)) co_return reply;
    const Duration rest = std::max(Duration::zero(), deadline - node_.environment().now());
    co_await node_.sleepFor(std::min(pause.next(node_.environment()), rest));
  }
}

}  // namespace troupe::server
