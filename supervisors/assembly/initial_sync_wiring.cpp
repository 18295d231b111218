#include "supervisors/assembly/initial_sync_wiring.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "supervisors/assembly/replication_wiring.hpp"

namespace troupe::supervisors {

bool lacksData(const replication::Topology::Document& now, const OpTime& applied) {
  return applied == OpTime{} && !now.founder;
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
  parts.candidates = sourceCandidates(server);
  parts.setState = [&server, copying = following.isCopying](bool on) {
    *copying = on;
    return askTopology(&server.node, local(replication::CopyingData{on}));
  };
  parts.stopFollowing = [&server, &following] { return stopFollowing(&server.node, &following); };
  parts.followAgain = [&server, &following] { followAgain(server.node, following); };
  parts.invalidate = [&server, forget] {
    forget();
    server.progress->resetTo({});
  };
  parts.done = [&server, copying = following.isCopying, forget](const OpTime& at) {
    *copying = false;
    server.progress->resetTo(at);
    forget();  // what was read of the copy before it was whole
    server.wakeFlusher();
  };
  parts.roomFor = [&server](size_t bytes) { return server.disk.roomForReplicated(bytes); };
  parts.fail = [failed = options.failed](const Status& why) {
    if (failed) failed(why);
  };
  return parts;
}

}  // namespace troupe::supervisors
