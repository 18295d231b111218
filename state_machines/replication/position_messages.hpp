#pragma once
#include <cstdint>
#include <vector>

#include "messaging/clock/op_time.hpp"
#include "messaging/description/message.hpp"
#include "state_machines/replication/positions.hpp"
#include "state_machines/replication/replica_set_config.hpp"
#include "state_machines/replication/set_identity.hpp"

/// Messages between the members of a replica set about how far each is. They may be lost and overtake each other:
/// values only grow, and each is sent again.
namespace troupe::replication {

struct MemberPosition {
  NodeName host;
  OpTime applied, durable;
  int32_t distance = 0;  ///< over how many members this report tells of it; 0: it is the sender, or was silent lately
  bool operator==(const MemberPosition&) const = default;
};

/// A member to the one it fetches from: its own position, and those of the members that fetch from it (REP-048, 049).
struct PositionReport {
  NodeName from;
  int64_t term = 0;
  ConfigVersion config;
  std::vector<MemberPosition> positions;
  ReplicaSetId replicaSetId = {};  ///< of the sender's set
};

/// A member to those that fetch from it, a primary to all: where the commit point is. Also the answer to a report.
struct CommitPointNews {
  NodeName from;
  int64_t term = 0;
  ConfigVersion config;
  OpTime commitPoint;
  ReplicaSetId replicaSetId = {};  ///< of the sender's set
};

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::MemberPosition, 0, host, applied, durable, distance)
TROUPE_MESSAGE(troupe::replication::PositionReport, from, term, config, positions, replicaSetId)
TROUPE_MESSAGE(troupe::replication::CommitPointNews, from, term, config, commitPoint, replicaSetId)
