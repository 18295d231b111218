#include "supervisors/assembly/rollback_wiring.hpp"

#include <chrono>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/operation_interrupt.hpp"
#include "supervisors/assembly/replication_wiring.hpp"

namespace troupe::supervisors {

namespace {

constexpr Duration kBuildPatience = std::chrono::seconds(30);

/// Those of replicated collections; its failure is left to the exclusive lock, which no build outlives.
Task<void> endBuilds(Node* node) {
  maintenance::AbortBuilds all;
  all.why = {ErrorCode::kInterruptedDueToReplStateChange, "this node rolls back"};
  (void)co_await node->ask(node->address(maintenance::kIndexBuildsPath), local(std::move(all)), kBuildPatience);
}

}  // namespace

replication::RollbackParts wireRollback(server::ServerContext& server, std::shared_ptr<machines::StorageAccess> storage,
                                        storage::OplogStore& oplog, storage::TruncateAfterPoint& endOfLog,
                                        replication::KeptHistory& history, replication::Membership& membership,
                                        Following& following, std::function<void()> forget,
                                        const AssemblyOptions& options) {
  replication::RollbackParts parts;
  parts.storage = std::move(storage);
  parts.oplog = &oplog;
  parts.endOfLog = &endOfLog;
  parts.history = &history;
  parts.log = &server.log;
  if (!options.dataDirectory.empty()) parts.filesDirectory = options.dataDirectory + "/rollback";
  parts.writesFiles = [&server] { return server.parameters.createRollbackDataFiles.load(); };
  // The mark moves first: a topology that is started again before it has answered resumes with it.
  parts.setState = [&server, rollingBack = following.isRollingBack](bool on) {
    *rollingBack = on;
    return askTopology(&server.node, local(replication::RollingBack{on}));
  };
  parts.interruptOperations = [&server] { (void)server::interruptForRollback(server); };
  parts.endIndexBuilds = [&server] { return endBuilds(&server.node); };
  parts.invalidate = std::move(forget);
  parts.showId = [&membership](int64_t id) { membership.setRollbackId(id); };
  parts.fail = [failed = options.failed](const Status& why) {
    if (failed) failed(why);
  };
  wireFollowing(server, following, parts);
  if (options.adjustRollback) options.adjustRollback(parts);
  return parts;
}

}  // namespace troupe::supervisors
