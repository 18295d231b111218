#pragma once
#include "state_machines/replication/turn.hpp"

/// A node's view of the other members: whether each is alive, by which path of heartbeats, and its progress.
namespace troupe::replication {

/// Over how many others a sign of life may have come: longer ways do not exist in small sets, and are rare in large
/// ones.
int maxDistance(const ReplicaSetConfig& config);

/// One view for each other member of the config; those of members that stay are kept. For a primary all members count
/// as heard of now: it steps down if it then hears nothing of a majority.
void rebuildViews(Turn& t);

/// There was a sign of life of that member over that distance: it counts for the election timeout. (ELE-032, REP-052)
void hear(Turn& t, const NodeName& host, int distance);

/// Takes over what a member says of itself and of others. (REP-040, REP-049, REP-050)
void note(Turn& t, const Report& report);

/// Keeps why a member refuses this node's heartbeats: a refusal is no sign of life. OK: it does not.
void noteRefusal(Turn& t, const NodeName& host, const Status& refusal);

/// Reports of positions are signs of life, too, of all whom they list. (REP-050, REP-052)
void onMembersHeard(Turn& t, const MembersHeard& report);

/// Nothing was heard of a member over that distance for too long; a primary without a majority steps down. (ELE-032)
void onLivenessTimeout(Turn& t, const LivenessTimeout& event);

/// No connection to a member: it is down to others at once, but counts for the majority until it was silent long
/// enough. If it was the primary, this node stands soon. (ELE-001)
void onUnreachable(Turn& t, const Unreachable& event);

/// Whether that many data-bearing voters, this node included, have applied all that it has. (ELE-026)
bool majorityHasCaughtUp(const Turn& t);

/// Whether a majority of the voters, this node included, holds the present config.
bool majorityHoldsConfig(const Turn& t);

}  // namespace troupe::replication
