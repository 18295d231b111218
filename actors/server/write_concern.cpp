#include "actors/server/write_concern.hpp"

#include <memory>
#include <optional>

#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/bson/validate.hpp"

namespace troupe::server {

namespace {

/// How long the client wants to wait: `wtimeout`, none when it is 0.
std::optional<TimePoint> limitOf(const storage::WriteConcern& concern, TimePoint now) {
  if (!concern.timeout || concern.timeout->count() <= 0) return std::nullopt;
  return now + *concern.timeout;
}

Status timedOut() {
  return {ErrorCode::kWriteConcernFailed, "waiting for the write concern timed out",
          bson::doc("errInfo", bson::doc("wtimeout", true))};
}

}  // namespace

Task<Status> awaitWriteConcern(Request& request) {
  const storage::WriteConcern& concern = request.operation().writeConcern;
  ServerContext& server = request.server();
  const auto ticket = server.durability.take();
  if (!concern.isAwaited()) co_return Status::OK();
  if (server.durability.isDurable(ticket)) co_return Status::OK();
  Environment& environment = server.node.environment();
  const auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  const auto end = [promise](const Status& status) { promise->set(status); };
  const InterruptibleWait guard(environment, request.operation(), end,
                                {.limit = limitOf(concern, environment.now()), .late = timedOut()});
  if (server.durability.wait(ticket, end)) server.wakeFlusher();
  co_return co_await outcome;
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
