#pragma once
#include "supervisors/metrics/metric_set.hpp"

namespace troupe::server {
struct ServerContext;
}

namespace troupe::supervisors {

/// Adds how far a member of a replica set has come, and how far behind it and others are; what it fetches and applies,
/// and what its rollbacks took back; and flow control. `server` is a member's.
void addReplicationMetrics(MetricSet& metrics, server::ServerContext& server);

}  // namespace troupe::supervisors
