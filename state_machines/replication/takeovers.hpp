#pragma once
#include "state_machines/replication/turn.hpp"

/// When a follower stands although there is a primary.
namespace troupe::replication {

/// After news of the primary: arms or takes back the timers of takeovers. (REP-041)
void considerTakeovers(Turn& t);
/// Takes them back.
void dropTakeovers(Turn& t);

/// ELE-002: the higher a node's priority, the sooner it stands against a primary of a lower one.
Millis priorityTakeoverDelay(const ReplicaSetConfig& config, const NodeName& self);
void onPriorityTakeoverDue(Turn& t, const PriorityTakeoverDue&);
/// ELE-003: a node that is ahead of a primary which takes too long to catch up stands against it.
void onCatchUpTakeoverDue(Turn& t, const CatchUpTakeoverDue&);

}  // namespace troupe::replication
