#include "supervisors/assembly/replication_wiring.hpp"

#include <algorithm>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::supervisors {

using log::Component;
using replication::ReplicationProgress;

DataRole::DataRole(server::ServerContext& server, std::shared_ptr<replication::StateTransition> transition)
    : server_(server),
      transition_(std::move(transition)),
      writes_(std::make_shared<replication::PrimaryProgress>(*server.operations.replicated, *server.progress)) {}

/// The clock does not go back with the log: it may have seen later times.
void DataRole::beginTerm(int64_t term) {
  storage::SlotReserver& slots = server_.operations.replicated->slots;
  const bson::Timestamp clock = slots.newest();
  slots.resetTo(server_.progress->applied().timestamp);
  slots.advanceTo(clock);
  {
    const std::lock_guard lock(mutex_);
    term_ = term;
  }
  writes_->begin(term);
}

void DataRole::acceptWrites(int64_t term) {
  transition_->acceptWrites(term);
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(noted_, term) == term) return;  // a step-down of the same term has failed
  }
  server_.operations.replicated->fence.whenOpen([self = shared_from_this(), term] {
    self->server_.node.post([self, term] { self->server_.node.start(noteTerm(self, term)); });
  });
}

void DataRole::follow() {
  int64_t term = 0;
  {
    const std::lock_guard lock(mutex_);
    term = std::exchange(term_, 0);
  }
  if (term != 0) server_.node.start(leaveTerm(shared_from_this(), term));
}

Task<void> DataRole::leaveTerm(std::shared_ptr<DataRole> self, int64_t term) {
  co_await self->transition_->untilOver();
  self->writes_->end(term);
}

bool DataRole::hasReplicatedData() const {
  const auto catalog = server_.catalog.unguarded().snapshot();
  return std::ranges::any_of(catalog->databases(), [&](const std::string& db) {
    return std::ranges::any_of(catalog->collections(db), [](const auto& each) { return each->ns().isReplicated(); });
  });
}

Task<Status> DataRole::noteBeginning() {
  const bool complete = !hasReplicatedData();
  storage::OperationContext operation(server_.operations);
  CollectionWriter writer(server_.writes, operation);
  TROUPE_CO_TRY(co_await writer.note(
      bson::doc("msg", complete ? "initiating set" : "initiating set over data that are not in this log")));
  server_.engine.setInitialDataTimestamp(operation.lastOpTime().timestamp);
  co_return Status::OK();
}

Task<void> DataRole::noteTerm(std::shared_ptr<DataRole> self, int64_t term) {
  server::ServerContext& server = self->server_;
  Status outcome;
  if (server.progress->applied() == OpTime{}) outcome = co_await self->noteBeginning();
  if (outcome.isOK()) {
    storage::OperationContext operation(server.operations);
    operation.setWriteTerm(term);
    CollectionWriter writer(server.writes, operation);
    outcome = co_await writer.note(bson::doc("msg", "new primary"));
  }
  if (!outcome.isOK())
    server.log.info(Component::kReplication, 21331, "topology", "The new term was not noted in the log",
                    bson::doc("term", term, "reason", outcome.toString()));
}

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
          [&server, topology](OpTime applied) {
            server.node.tell(topology, local(replication::AppliedAdvanced{applied}));
          }};
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
