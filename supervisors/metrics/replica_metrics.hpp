#pragma once
#include "supervisors/metrics/metric_set.hpp"

namespace troupe::replication {
class Membership;
}

namespace troupe::supervisors {

/// Adds a member's view of its replica set: state, right to write, term, members by health, elections and step-downs
/// since the start (ELE-036), and its initial syncs.
void addReplicaMetrics(MetricSet& metrics, const replication::Membership& membership);

}  // namespace troupe::supervisors
