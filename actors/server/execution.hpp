#pragma once
#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

/// One run of a command, whether a client or another node sent it: its operation and its request. Both borrow the
/// message, the server and the client. Lives on the frame of the coroutine that runs it.
struct Execution {
  Execution(const wire::Request& wire, ServerContext& server, Client& client)
      : operation(server.operations, storage::OperationOrigin::kClient, server.clients.nextOperationId(),
                  server.node.environment().now()),
        request(wire, server, client, operation) {}

  Task<void> run() { return dispatch(request); }

  storage::OperationContext operation;
  Request request;
};

}  // namespace troupe::server
