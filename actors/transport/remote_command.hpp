#pragma once
#include <memory>
#include <optional>
#include <string>

#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/execution.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/remote_runs.hpp"
#include "messaging/schemas/command.capnp.h"
#include "messaging/wire/request.hpp"

namespace troupe::transport {

/// Bounds of what one batch of a remote cursor may hold.
inline constexpr size_t kSmallestBatch = 4 * 1024;
inline constexpr size_t kLargestBatch = 16 * 1024 * 1024;

/// Execution of a command or cursor for another node. It is known to `runs`, and its client to the server,
/// until it goes.
struct RemoteCommand {
  RemoteCommand(server::ServerContext& server, std::shared_ptr<RemoteRuns> runs, RemoteRuns::Key key,
                std::shared_ptr<RemoteRun> run, std::string peer);
  ~RemoteCommand();
  RemoteCommand(const RemoteCommand&) = delete;

  server::ServerContext& server;
  const std::shared_ptr<RemoteRuns> runs;
  const RemoteRuns::Key key;
  const std::shared_ptr<RemoteRun> run;
  const std::shared_ptr<server::Client> client;
};

/// The reply of a command, and the bytes it gives besides: documents of a batch.
struct RemoteReply {
  bson::Document document;
  std::string bytes;  ///< the documents; the reply's own bytes are added when it is sent
};

/// Runs one command of `owner` through the dispatch. `batchBytes`, if not 0: the documents of a batch go beside the
/// reply, about so many bytes. Errors: the command's, as a status.
Task<StatusWith<RemoteReply>> execute(std::shared_ptr<RemoteCommand> owner, std::string database,
                                      bson::Document command, TimePoint deadline, size_t batchBytes);

/// A payload of type T (`CommandReply`, `CursorOpened`) with this reply; `fill(T::Builder)` sets further fields.
template <class T, class Fill>
Payload replyPayload(RemoteReply reply, Fill&& fill) {
  const auto size = static_cast<uint32_t>(reply.document.bytes().size());
  reply.bytes += reply.document.bytes();
  return build<T>(
      [&](typename T::Builder out) {
        out.setDocumentBytes(size);
        fill(out);
      },
      std::make_shared<const std::string>(std::move(reply.bytes)));
}

}  // namespace troupe::transport
