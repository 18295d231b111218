#include "supervisors/assembly/initial_sync_wiring.hpp"

#include <chrono>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/source_candidates.hpp"

namespace troupe::supervisors {

namespace {

/// The topology answers at once, unless it is being started anew.
constexpr Duration kPatienceForState = std::chrono::seconds(30);

Task<Status> askForCopyingState(Node* node, bool copying) {
  const Address topology = node->address(replication::kTopologyPath);
  const Answer answer = co_await node->ask(topology, local(replication::CopyingData{copying}), kPatienceForState);
  co_return answer.status();
}

}  // namespace

bool lacksData(const machines::Snapshot<replication::Topology>& now, const OpTime& applied) {
  return applied == OpTime{} && !now.document.founder && now.memory.phase == replication::Topology::Phase::kFollower;
}

replication::InitialSyncParts wireInitialSync(server::ServerContext& server,
                                              std::shared_ptr<machines::StorageAccess> storage,
                                              storage::OplogStore& oplog, storage::TruncateAfterPoint* endOfLog,
                                              Following& following, std::function<void()> forget,
                                              const AssemblyOptions& options) {
  replication::InitialSyncParts parts;
  parts.storage = std::move(storage);
  parts.oplog = &oplog;
  parts.endOfLog = endOfLog;
  parts.writes = server.operations.replicated;
  parts.members = following.members.get();
  parts.writer = &following.copyWriter;
  parts.status = server.membership->syncStatus();
  parts.log = &server.log;
  parts.candidates = [&server] {
    return replication::candidatesOf(*server.membership->view(), server.progress->positions(),
                                     server.parameters.maxSyncSourceLagSecs);
  };
  parts.setState = [&server](bool copying) { return askForCopyingState(&server.node, copying); };
  parts.invalidate = [&server, forget] {
    forget();
    server.progress->resetTo({});
  };
  parts.done = [&server, forget](const OpTime& at) {
    server.progress->resetTo(at);
    forget();  // what was read of the copy before it was whole
    server.wakeFlusher();
  };
  parts.fail = [failed = options.failed](const Status& why) {
    if (failed) failed(why);
  };
  return parts;
}

}  // namespace troupe::supervisors
