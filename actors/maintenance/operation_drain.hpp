#pragma once
#include <memory>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Ends the operations of a node before its storage closes (LCK-005). It stands below all that starts operations and
/// above storage, so an orderly shutdown asks it to stop in between: it interrupts what still runs and takes the global
/// lock exclusively, in front of all who wait for it. It stops when the lock is granted; its grace bounds the wait. The
/// lock is held until the node is gone (ServerContext::shutdownLock).
class OperationDrain final : public Actor {
 public:
  explicit OperationDrain(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  void onStopRequested() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  Task<void> drain();

  server::ServerContext* const server_;
  std::shared_ptr<storage::LockWait> wait_;  ///< while the lock is not granted
};

}  // namespace troupe::maintenance
