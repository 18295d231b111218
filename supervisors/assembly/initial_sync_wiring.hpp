#pragma once
#include <functional>
#include <memory>

#include "actors/machines/storage_access.hpp"
#include "actors/replication/initial_syncer.hpp"
#include "actors/server/server_context.hpp"
#include "supervisors/assembly/assembly_options.hpp"
#include "supervisors/assembly/following.hpp"

namespace troupe::supervisors {

/// Whether a member has to copy the data of another one: it has none, and did not found the set. The topology
/// resumes with it, so that the member never stands for election nor is taken for one with data (ISY-001); the sync
/// itself begins when the fetcher has found that it has nothing to go on from.
bool lacksData(const replication::Topology::Document& now, const OpTime& applied);

/// What an initial sync has to do with the rest of the node: the topology changes its state, the node's times begin
/// anew, what is remembered of the data is forgotten (`forget`), a failure ends the node. All that is referred to
/// outlives the actor.
replication::InitialSyncParts wireInitialSync(server::ServerContext& server,
                                              std::shared_ptr<machines::StorageAccess> storage,
                                              storage::OplogStore& oplog, storage::TruncateAfterPoint* endOfLog,
                                              Following& following, std::function<void()> forget,
                                              const AssemblyOptions& options);

}  // namespace troupe::supervisors
