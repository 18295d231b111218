#include "actors/maintenance/operation_drain.hpp"

#include <future>

#include "actors/server/hello_state.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::maintenance {

void OperationDrain::onStart() {
  setPhase("standing by", "ends the operations that are left when the node shuts down");
}

void OperationDrain::onStopRequested() {
  if (!server_->hello.shuttingDown()) return stop();  // an operator restarts it: operations go on
  if (server_->failPoints.fires("hangWhileStopping")) std::promise<void>().get_future().wait();
  setPhase("draining", "interrupts operations and waits for the global lock");
  start(drain());
}

Task<void> OperationDrain::drain() {
  server_->clients.each([](server::Client& client) {
    client.withOperation(
        [](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterruptedAtShutdown); });
  });
  server_->fsyncLock.unlockAll();
  server_->operations.idleUnits->endAll(ErrorCode::kInterruptedAtShutdown);
  const auto granted = std::make_shared<Promise<Status>>();
  auto outcome = granted->future();
  const auto taken = server_->shutdownLock.acquire(storage::ResourceId::global(), storage::LockMode::kX, {},
                                                   [granted](const Status& status) { granted->set(status); });
  wait_ = taken.wait;
  if (wait_) (void)co_await outcome;
  wait_.reset();
  stop();
}

void OperationDrain::onStop(const Status&) {
  if (!wait_) return;
  server_->shutdownLock.giveUp(wait_);
  server_->log.warning(log::Component::kStorage, 22325, "main",
                       "Some operations did not end in time and are cut off before storage closes", describe());
}

bson::Document OperationDrain::describe() const {
  int32_t holders = 0;
  for (const storage::ResourceView& resource : server_->locks.inspect())
    if (resource.type == storage::ResourceType::kGlobal) holders += static_cast<int32_t>(resource.granted.size());
  return bson::doc("operations", holders, "waits", wait_ != nullptr);
}

}  // namespace troupe::maintenance
