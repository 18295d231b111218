#include "actors/server/service_operation.hpp"

#include <utility>

#include "actors/kernel/node.hpp"

namespace troupe::server {

ServiceOperation::ServiceOperation(ServerContext& server, std::string name, const storage::Namespace& ns,
                                   bson::Document command, storage::OperationOrigin origin)
    : server_(server),
      database_(ns.db()),
      command_(std::move(command)),
      operation_(server.operations, origin, server.clients.nextOperationId(), server.node.environment().now()),
      client_(server.clients.addWithoutConnection(std::move(name))) {
  operation_.database = database_;
  operation_.command = command_;
  operation_.commandName = operation_.command.first().name();
  operation_.ns = ns.toString();
  client_->setOperation(&operation_);
}

ServiceOperation::~ServiceOperation() {
  client_->setOperation(nullptr);
  server_.clients.remove(client_->connectionId);
}

}  // namespace troupe::server
