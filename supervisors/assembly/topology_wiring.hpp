#pragma once
#include <memory>

#include "actors/machines/storage_access.hpp"
#include "actors/replication/topology_actor.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/links.hpp"
#include "supervisors/assembly/assembly_options.hpp"
#include "supervisors/assembly/following.hpp"

namespace troupe::supervisors {

/// The effects of a role change on the rest of the node: waiting hellos are answered, services that run on
/// the primary only are told, running writes end, links follow the config. `links` may be null. All that is referred to
/// outlives the topology actor.
replication::TopologyParts wireTopology(server::ServerContext& server, std::shared_ptr<machines::StorageAccess> storage,
                                        replication::Membership& membership, std::shared_ptr<link::Links> links,
                                        Following& following, const AssemblyOptions& options);

/// Whether the data directory may be a member's of the set that the node is started for: found out before the actors
/// begin, since no restart of one would mend it. Errors: InvalidReplicaSetConfig, which names both sets.
Status checkStoredSet(const machines::StorageAccess& storage, const replication::Membership& membership);

/// A primary that is told to stop asks another member to take over (BOOT-005), and waits for it 2 s at most.
void handOver(server::ServerContext& server);

}  // namespace troupe::supervisors
