#include "supervisors/assembly/replication_wiring.hpp"

#include <memory>
#include <utility>

#include "actors/kernel/node.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::supervisors {

namespace {

using Waiter = std::shared_ptr<Promise<Status>>;

std::function<void()> succeeds(Waiter waiter) {
  return [waiter = std::move(waiter)] { waiter->set(Status::OK()); };
}

std::function<void()> loses(Waiter waiter) {
  return [waiter = std::move(waiter)] {
    waiter->set({ErrorCode::kInterruptedDueToReplStateChange, "this node is not the primary any more"});
  };
}

Task<Status> awaitMajority(server::ServerContext& server) {
  storage::ReplicatedWrites& writes = *server.operations.replicated;
  if (!writes.fence.isOpen()) co_return Status(ErrorCode::kNotWritablePrimary, "this node is not the primary");
  storage::OperationContext operation(server.operations, storage::OperationOrigin::kMachine);
  TROUPE_CO_ASSIGN(const OpTime last, storage::lastLogged(server.catalog.unguarded(), operation.recoveryUnit()));
  operation.recoveryUnit().releaseSession();
  const auto waiter = std::make_shared<Promise<Status>>();
  auto outcome = waiter->future();
  replication::Acknowledgement majority;
  majority.majority = true;
  const auto watch = writes.fence.whenClosed(loses(waiter));
  const auto id = server.progress->whenAcknowledged(last, majority, succeeds(waiter));
  if (id != 0) server.wakeFlusher();
  Status status = co_await outcome;
  server.progress->withdraw(id);
  co_return status;
}

}  // namespace

std::function<Task<Status>()> majorityWait(server::ServerContext& server) {
  return [&server] { return awaitMajority(server); };
}

replication::ProgressReporter::Parts wireProgress(server::ServerContext& server) {
  const Address topology = server.node.address(replication::kTopologyPath);
  return {*server.progress, *server.membership, [membership = server.membership] { return membership->syncSource(); },
          [&server, topology](replication::AppliedAdvanced news) {
            server.node.tell(topology, local(std::move(news)));
          }};
}

Status beginHistory(storage::Engine& engine, const storage::OplogStore& oplog, storage::SessionPool& sessions) {
  if (engine.initialDataTimestamp() != bson::Timestamp{}) return Status::OK();
  storage::OperationContext operation({.sessions = sessions}, storage::OperationOrigin::kApplier);
  TROUPE_ASSIGN(const auto first, oplog.oldest(operation.recoveryUnit()));
  if (!first) return Status::OK();
  TROUPE_TRY(engine.setStableTimestamp(*first));
  engine.setInitialDataTimestamp(*first);
  return Status::OK();
}

Status startTimes(storage::Catalog& catalog, const storage::OplogStore& oplog, storage::SessionPool& sessions,
                  replication::ReplicationProgress& progress, bool lacksData) {
  if (lacksData) {
    progress.resetTo({});
    return Status::OK();
  }
  storage::OperationContext operation({.sessions = sessions});
  TROUPE_ASSIGN(const OpTime end, storage::lastLogged(catalog, operation.recoveryUnit()));
  progress.resetTo(end);
  catalog.engine().setInitialDataTimestamp(catalog.engine().recoveryTimestamp());
  return beginHistory(catalog.engine(), oplog, sessions);
}

std::function<void(const OpTime&)> stableTimeSetter(storage::Engine& engine, const server::Parameters& parameters) {
  return [&engine, &parameters](const OpTime& stable) {
    if (stable == OpTime{}) return;
    (void)engine.setStableTimestamp(stable.timestamp);
    const auto window = static_cast<uint32_t>(parameters.minSnapshotHistoryWindowInSeconds.load());
    if (stable.timestamp.seconds > window)
      (void)engine.setOldestTimestamp({stable.timestamp.seconds - window, stable.timestamp.increment});
  };
}

}  // namespace troupe::supervisors
