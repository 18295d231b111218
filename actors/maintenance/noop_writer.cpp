#include "actors/maintenance/noop_writer.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/storage/collection_writer.hpp"

namespace troupe::maintenance {

void NoopWriter::onStart() {
  setPhase("waiting", "for a time without writes");
  every(std::chrono::seconds(server_->parameters.periodicNoopIntervalSecs.load()), [this] { look(); });
}

void NoopWriter::look() {
  const OpTime last = server_->progress->applied();
  const bool idle = std::exchange(seen_, last) == last;
  if (!idle || writing_ || !server_->parameters.writePeriodicNoops || !server_->membership->view()->isWritable())
    return;
  writing_ = true;
  start(write());
}

Task<void> NoopWriter::write() {
  storage::OperationContext operation(server_->operations);
  CollectionWriter writer(server_->writes, operation);
  const Status outcome = co_await writer.note(bson::doc("msg", "periodic noop"));
  lastError_ = outcome.isOK() ? "" : outcome.toString();
  if (outcome.isOK()) ++written_;
  seen_ = server_->progress->applied();
  writing_ = false;
}

}  // namespace troupe::maintenance
