#include "actors/transport/remote_command.hpp"

#include <algorithm>

namespace troupe::transport {

namespace {

/// Registers the running operation with its RemoteRun, so that it can be killed.
class Shown {
 public:
  Shown(RemoteRun& run, storage::OperationContext& operation) : run_(run) { run_.setOperation(&operation); }
  Shown(const Shown&) = delete;
  ~Shown() { run_.setOperation(nullptr); }

 private:
  RemoteRun& run_;
};

/// The failure that an error reply tells of.
Status failureOf(bson::View reply) {
  if (reply["ok"].truthy()) return Status::OK();
  bson::Builder extra;
  for (const bson::Element& e : reply)
    if (e.name() != "ok" && e.name() != "errmsg" && e.name() != "code" && e.name() != "codeName") extra.append(e);
  const auto code = static_cast<ErrorCode>(reply["code"].toInt64(static_cast<int64_t>(ErrorCode::kUnknownError)));
  std::string reason(reply["errmsg"].toStringOr());
  const bson::Document more = extra.finish();
  return more.empty() ? Status(code, std::move(reason)) : Status(code, std::move(reason), more);
}

}  // namespace

RemoteCommand::RemoteCommand(server::ServerContext& server, std::shared_ptr<RemoteRuns> runs, RemoteRuns::Key key,
                             std::shared_ptr<RemoteRun> run, std::string peer)
    : server(server),
      runs(std::move(runs)),
      key(std::move(key)),
      run(std::move(run)),
      client(server.clients.addWithoutConnection(std::move(peer))) {}

RemoteCommand::~RemoteCommand() {
  server.clients.remove(client->connectionId);
  runs->remove(key);
}

Task<StatusWith<RemoteReply>> execute(std::shared_ptr<RemoteCommand> owner, std::string database,
                                      bson::Document command, TimePoint deadline, size_t batchBytes) {
  wire::Request wire;
  wire.database = database;
  wire.body = command;
  server::Execution execution(wire, owner->server, *owner->client);
  if (deadline != kNoDeadline) execution.operation.setDeadline(deadline);
  if (batchBytes > 0)
    execution.request.rawBatch.emplace(
        server::RawBatch{std::clamp(batchBytes, kSmallestBatch, kLargestBatch), std::string()});
  {
    const Shown shown(*owner->run, execution.operation);
    co_await execution.run();
  }
  if (execution.request.dropReply) co_return Status(ErrorCode::kHostUnreachable, "the command ended without a reply");
  RemoteReply reply;
  reply.document = std::move(execution.request.message()).finishBody();
  if (Status failure = failureOf(reply.document); !failure.isOK()) co_return failure;
  if (auto& batch = execution.request.rawBatch) reply.bytes = std::move(batch->documents);
  co_return reply;
}

}  // namespace troupe::transport
