#pragma once
#include "supervisors/metrics/metric_set.hpp"

namespace troupe {
class Node;
}
namespace troupe::server {
struct ServerContext;
}

namespace troupe::supervisors {

/// The actors of a node: counts by type and phase, mailboxes and work by type, one set of figures for each supervised
/// actor, dead letters by reason. Connections and other actors that come and go are only summed, so that the number of
/// series is bounded.
void addActorMetrics(MetricSet& metrics, Node& node);
/// The server: connections, operations, documents, cursors, sessions, network, storage engine, journal, disk.
void addServerMetrics(MetricSet& metrics, server::ServerContext& server);
/// The process, by the names Prometheus clients use: memory, processor time, open files, start time.
void addProcessMetrics(MetricSet& metrics);

}  // namespace troupe::supervisors
