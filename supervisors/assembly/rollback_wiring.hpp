#pragma once
#include <functional>
#include <memory>

#include "actors/machines/storage_access.hpp"
#include "actors/replication/rollback_actor.hpp"
#include "actors/server/server_context.hpp"
#include "supervisors/assembly/assembly_options.hpp"
#include "supervisors/assembly/following.hpp"

namespace troupe::supervisors {

/// What a rollback has to do with the rest of the node: operations end, the topology changes its state, background work
/// and builds of indexes stop, nothing is fetched or applied, what is remembered of the data is forgotten (`forget`), a
/// failure ends the node. All that is referred to outlives the rollback actor.
replication::RollbackParts wireRollback(server::ServerContext& server, std::shared_ptr<machines::StorageAccess> storage,
                                        storage::OplogStore& oplog, storage::TruncateAfterPoint& endOfLog,
                                        replication::KeptHistory& history, replication::Membership& membership,
                                        Following& following, std::function<void()> forget,
                                        const AssemblyOptions& options);

}  // namespace troupe::supervisors
