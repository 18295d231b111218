#include "actors/server/write_concern.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "actors/kernel/node.hpp"
#include "actors/server/progress_wait.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/validate.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::server {

namespace {

using replication::Acknowledgement;
using replication::ReplicationProgress;

/// How long the client wants to wait: `wtimeout`, none when it is 0.
std::optional<TimePoint> limitOf(const storage::WriteConcern& concern, TimePoint now) {
  if (!concern.timeout || concern.timeout->count() <= 0) return std::nullopt;
  return now + *concern.timeout;
}

Status timedOut() {
  return {ErrorCode::kWriteConcernFailed, "waiting for the write concern timed out",
          bson::doc("errInfo", bson::doc("wtimeout", true))};
}

InterruptibleWait::Options waitOptions(const Request& request) {
  const TimePoint now = request.server().node.environment().now();
  return {.limit = limitOf(request.operation().writeConcern, now), .late = timedOut()};
}

/// The journal of this node has what was committed before the ticket was taken.
Task<Status> awaitJournal(Request& request, storage::DurabilityTicket ticket) {
  ServerContext& server = request.server();
  if (server.durability.isDurable(ticket)) co_return Status::OK();
  const auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  const auto end = [promise](const Status& status) { promise->set(status); };
  const InterruptibleWait guard(server.node.environment(), request.operation(), end, waitOptions(request));
  if (server.durability.wait(ticket, end)) server.wakeFlusher();
  co_return co_await outcome;
}

/// A writer that waits for members: from here on until it has their answer, or its frame has gone.
class BurstMember {
 public:
  explicit BurstMember(WriterBursts& bursts) : bursts_(bursts) { bursts_.arrived(); }
  BurstMember(const BurstMember&) = delete;
  BurstMember& operator=(const BurstMember&) = delete;
  ~BurstMember() { leave(); }
  void leave() {
    if (!hasLeft_.exchange(true)) bursts_.left();
  }

 private:
  WriterBursts& bursts_;
  std::atomic<bool> hasLeft_{false};
};

AskProgress acknowledged(const OpTime& write, const Acknowledgement& wanted, std::shared_ptr<BurstMember> member) {
  return [write, wanted, member = std::move(member)](ReplicationProgress& progress, ReplicationProgress::Verdict done) {
    return progress.whenAcknowledged(write, wanted, [member, done = std::move(done)](const Status& verdict) {
      member->leave();
      done(verdict);
    });
  };
}

/// Members have the write. The own journal counts among them, so it is flushed as soon as the write's burst is sent.
Task<Status> awaitMembers(Request& request, storage::DurabilityTicket ticket) {
  ServerContext& server = request.server();
  const storage::OperationContext& operation = request.operation();
  const Acknowledgement wanted = acknowledgementOf(operation.writeConcern);
  TROUPE_CO_TRY(replication::checkSatisfiable(server.progress->role()->config, wanted));
  if (!server.durability.isDurable(ticket)) server.durability.expectFlush();
  auto ask = acknowledged(operation.lastOpTime(), wanted, std::make_shared<BurstMember>(server.bursts));
  const bool isGathered = server.bursts.isGathered(operation.lastOpTime().timestamp);
  if (!isGathered && server.durability.claimWake()) server.wakeFlusher();
  co_return co_await awaitProgress(request, std::move(ask), waitOptions(request));
}

}  // namespace

Acknowledgement acknowledgementOf(const storage::WriteConcern& concern) {
  return {.members = concern.w,
          .majority = concern.majority,
          .mode = concern.named ? std::optional(concern.mode) : std::nullopt,
          .journaled = concern.journaled};
}

storage::WriteConcern implicitWriteConcern(const replication::ReplicaSetConfig& config) {
  storage::WriteConcern concern;
  const auto arbiters = std::ranges::count_if(config.members, [](const auto& member) { return member.arbiterOnly; });
  concern.majority = arbiters == 0 || config.voters() - arbiters > config.majority();
  return concern;
}

Task<Status> awaitWriteConcern(Request& request, WhileAwaited client) {
  const storage::OperationContext& operation = request.operation();
  const storage::WriteConcern& concern = operation.writeConcern;
  const auto ticket = request.server().durability.take();  // the write is due for the next flush, awaited or not
  if (!concern.isAwaited()) co_return Status::OK();
  // What was written stays; only the wait ends.
  if (client == WhileAwaited::kClientIsThere) request.endWithClient(kLookWhileAwaitingSet);
  const bool isReplicated = request.server().progress && operation.lastOpTime() != OpTime{};
  const bool needsMembers = concern.majority || concern.named || concern.w > 1;
  if (isReplicated && needsMembers) co_return co_await awaitMembers(request, ticket);
  co_return co_await awaitJournal(request, ticket);
}

void appendWriteConcernError(Request& request, const Status& failure) {
  bson::Builder& reply = request.reply();
  reply.openDocument("writeConcernError")
      .append("code", static_cast<int32_t>(failure.code()))
      .append("codeName", errorName(failure.code()))
      .append("errmsg", bson::asUtf8(failure.reason()));
  if (failure.extra()) reply.appendAll(*failure.extra());
  reply.close();
}

}  // namespace troupe::server
