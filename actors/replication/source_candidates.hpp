#pragma once
#include <cstdint>

#include "actors/replication/replica_view.hpp"
#include "state_machines/replication/positions.hpp"
#include "state_machines/replication/sync_source.hpp"

namespace troupe::replication {

/// What a member knows of the others as sources of its log: from its config, from heartbeats, and from their own
/// reports of their positions. `own` is left for the fetcher to fill in.
Candidates candidatesOf(const ReplicaView& view, const Positions& positions, int64_t maxLagSecs);

}  // namespace troupe::replication
