#pragma once
#include <memory>
#include <string>

#include "actors/server/client.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/document.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::server {

/// A long operation of the node's own that operators see and end as they do those of clients: currentOp and lockInfo
/// show it by name, killOp and a shutdown end it, and so does a change of the node's role once it announces writes.
/// Used by one thread at a time; others meet it through ServerContext::clients only.
class ServiceOperation {
 public:
  /// `name`: stands where clients have the name of their connection. `command`: what currentOp shows of it; its first
  /// field is taken for the command's name.
  ServiceOperation(ServerContext& server, std::string name, const storage::Namespace& ns, bson::Document command,
                   storage::OperationOrigin origin = storage::OperationOrigin::kService);
  ~ServiceOperation();
  ServiceOperation(const ServiceOperation&) = delete;
  ServiceOperation& operator=(const ServiceOperation&) = delete;

  storage::OperationContext& operator*() { return operation_; }
  storage::OperationContext* operator->() { return &operation_; }
  const storage::OperationContext* operator->() const { return &operation_; }

 private:
  ServerContext& server_;
  const std::string database_;
  const bson::Document command_;
  storage::OperationContext operation_;
  const std::shared_ptr<Client> client_;
};

}  // namespace troupe::server
