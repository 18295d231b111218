#pragma once
#include "supervisors/metrics/metric_set.hpp"

namespace troupe::link {
class Links;
}

namespace troupe::supervisors {

/// The links to other nodes, each end by its peer and by who opened it, and what was rejected before it was known who
/// came.
void addLinkMetrics(MetricSet& metrics, const link::Links& links);

}  // namespace troupe::supervisors
