#pragma once
#include "supervisors/metrics/metric_set.hpp"

namespace troupe::link {
class Links;
}

namespace troupe::supervisors {

/// Adds the figures of links to other nodes, by peer and direction, and the connections that were rejected before their
/// peer was known.
void addLinkMetrics(MetricSet& metrics, const link::Links& links);

}  // namespace troupe::supervisors
