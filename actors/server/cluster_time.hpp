#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Takes the `$clusterTime` of a request over (CLK-005): from then on this member gives out later times only. With
/// authentication a time that is later than all this member knows has to be signed, unless the client has the right
/// advanceClusterTime, as other nodes have (CLK-006). Errors: ClusterTimeFailsRateLimiter (more than
/// maxAcceptableLogicalClockDriftSecs ahead of this node's clock, CLK-007); those of TimeProofs::verify.
Status takeClusterTime(const Request& request);

/// Appends `operationTime`, the time of the newest operation that the command wrote or could see (CLK-015), and
/// `$clusterTime`, the newest that this member knows, with its signature for clients that may not advance the clock. On
/// a node that stands alone: nothing.
void appendTimes(Request& request);

}  // namespace troupe::server
