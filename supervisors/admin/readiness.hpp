#pragma once
#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"

namespace troupe::supervisors {

/// Whether a node serves clients, or why it does not: it does not listen, or it is a member of a set in a state in
/// which it refuses reads and writes. One that waits for its first config is ready: `replSetInitiate` comes as a
/// client's command. `membership` is null on a node of no set.
Status readinessOf(const Node& node, const replication::Membership* membership);

}  // namespace troupe::supervisors
