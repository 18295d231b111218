#pragma once
#include <memory>

#include "actors/kernel/node.hpp"
#include "actors/replication/remote_members.hpp"

namespace troupe::supervisors {

/// The other members over this node's links: commands and cursors as the cluster itself. `node` outlives it.
std::unique_ptr<replication::RemoteMembers> linkedMembers(Node& node);

}  // namespace troupe::supervisors
