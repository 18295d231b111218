#include "supervisors/assembly/rollback_wiring.hpp"

#include <chrono>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/operation_interrupt.hpp"

namespace troupe::supervisors {

namespace {

/// The topology answers at once, unless it is being started anew.
constexpr Duration kTopologyPatience = std::chrono::seconds(30);

Task<Status> askTopologyForState(Node* node, bool rollingBack) {
  const Address topology = node->address(replication::kTopologyPath);
  const Answer answer = co_await node->ask(topology, local(replication::RollingBack{rollingBack}), kTopologyPatience);
  co_return answer.status();
}

/// Those of replicated collections; its failure is left to the exclusive lock, which no build outlives.
Task<void> endBuilds(Node* node) {
  maintenance::AbortBuilds all;
  all.why = {ErrorCode::kInterruptedDueToReplStateChange, "this node rolls back"};
  (void)co_await node->ask(node->address(maintenance::kIndexBuildsPath), local(std::move(all)), kTopologyPatience);
}

}  // namespace

replication::RollbackParts wireRollback(server::ServerContext& server, std::shared_ptr<machines::StorageAccess> storage,
                                        storage::OplogStore& oplog, storage::TruncateAfterPoint& endOfLog,
                                        replication::Membership& membership, std::function<void()> forget,
                                        const AssemblyOptions& options) {
  replication::RollbackParts parts;
  parts.storage = std::move(storage);
  parts.oplog = &oplog;
  parts.endOfLog = &endOfLog;
  parts.log = &server.log;
  if (!options.dataDirectory.empty()) parts.filesDirectory = options.dataDirectory + "/rollback";
  parts.writesFiles = [&server] { return server.parameters.createRollbackDataFiles.load(); };
  parts.setState = [&server](bool rollingBack) { return askTopologyForState(&server.node, rollingBack); };
  parts.interruptOperations = [&server] { (void)server::interruptForRollback(server); };
  parts.endIndexBuilds = [&server] { return endBuilds(&server.node); };
  parts.invalidate = std::move(forget);
  parts.showId = [&membership](int64_t id) { membership.setRollbackId(id); };
  parts.fail = [failed = options.failed](const Status& why) {
    if (failed) failed(why);
  };
  return parts;
}

}  // namespace troupe::supervisors
