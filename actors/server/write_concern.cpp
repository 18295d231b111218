#include "actors/server/write_concern.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/bson/validate.hpp"

namespace troupe::commands {

namespace {

/// One wait that ends with the first of: the flush, a kill, the time. Whatever comes later finds it settled.
class DurabilityWait {
 public:
  explicit DurabilityWait(Request& request)
      : operation_(request.operation()), environment_(request.server().node.environment()) {}
  DurabilityWait(const DurabilityWait&) = delete;
  ~DurabilityWait() {
    operation_.wakeOnKill(nullptr);
    if (timer_) environment_.cancel(*timer_);
  }

  Future<std::optional<Status>> begin(ServerContext& server, storage::DurabilityTicket ticket) {
    auto outcome = settled_->future();
    operation_.wakeOnKill([settled = settled_] { settled->set(std::nullopt); });
    if (const auto until = limit())
      timer_ = environment_.schedule(*until, [settled = settled_] { settled->set(std::nullopt); });
    if (server.durability.wait(ticket, [settled = settled_](const Status& flushed) { settled->set(flushed); }))
      server.wakeFlusher();
    return outcome;
  }
  /// The wait ended without the flush.
  Status timeOut() const {
    TROUPE_TRY(operation_.checkForInterrupt(environment_.now()));
    return {ErrorCode::kWriteConcernFailed, "waiting for the write concern timed out",
            bson::doc("errInfo", bson::doc("wtimeout", true))};
  }

 private:
  std::optional<TimePoint> limit() const {
    std::optional<TimePoint> until = operation_.deadline();
    const auto timeout = operation_.writeConcern.timeout;
    if (!timeout || timeout->count() <= 0) return until;
    const TimePoint own = environment_.now() + *timeout;
    return until ? std::min(*until, own) : own;
  }

  storage::OperationContext& operation_;
  Environment& environment_;
  std::shared_ptr<Promise<std::optional<Status>>> settled_ = std::make_shared<Promise<std::optional<Status>>>();
  std::optional<TimerId> timer_;
};

}  // namespace

Task<Status> awaitWriteConcern(Request& request) {
  const storage::WriteConcern& concern = request.operation().writeConcern;
  ServerContext& server = request.server();
  const auto ticket = server.durability.take();
  if (!concern.journaled && !concern.majority) co_return Status::OK();
  if (server.durability.isDurable(ticket)) co_return Status::OK();
  DurabilityWait wait(request);
  const auto outcome = co_await wait.begin(server, ticket);
  if (outcome) co_return *outcome;
  co_return wait.timeOut();
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

}  // namespace troupe::commands
