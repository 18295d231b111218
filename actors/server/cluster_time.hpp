#pragma once
#include "actors/server/cluster_clock.hpp"
#include "actors/server/request.hpp"

namespace troupe::server {

/// The cluster clock of a member of a replica set. What other members say needs no signature: their links have proven
/// the cluster's key, or nobody has to prove anything here. Times too far ahead are not believed either way (CLK-007).
/// On a node that stands alone: no times.
class MemberClock final : public ClusterClock {
 public:
  /// It outlives the clock.
  explicit MemberClock(ServerContext& server) : server_(server) {}
  bson::Timestamp newest() const override;
  bool learn(bson::Timestamp time, bool authenticated) override;

 private:
  ServerContext& server_;
};

/// Takes the `$clusterTime` of a request over (CLK-005): from then on this member gives out later times only. With
/// authentication a time that is later than all this member knows has to be signed, unless the client has the right
/// advanceClusterTime, as other nodes have (CLK-006). Errors: ClusterTimeFailsRateLimiter (more than
/// maxAcceptableLogicalClockDriftSecs ahead of this node's clock, CLK-007); those of TimeProofs::verify.
Status takeClusterTime(const Request& request);

/// Appends `operationTime`, the time of the newest operation that the command wrote or could see, if any (CLK-015), and
/// `$clusterTime`, the newest that this member knows, with its signature for clients that may not advance the clock. On
/// a node that stands alone: nothing.
void appendTimes(Request& request);

}  // namespace troupe::server
