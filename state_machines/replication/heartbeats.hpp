#pragma once
#include <optional>

#include "state_machines/replication/turn.hpp"

/// Heartbeats between members.
namespace troupe::replication {

/// A round: one to each other member, and the timer of the next. (REP-035)
void sendHeartbeats(Turn& t);
void onHeartbeatDue(Turn& t, const HeartbeatDue&);

/// Answers with what this node is, and with its config if the sender's is older; asks the sender for its config if that
/// one is newer. A heartbeat of another set, by name or id, is refused, and nothing of it is taken in. (REP-036 to
/// REP-039)
void onHeartbeatRequest(Turn& t, const HeartbeatRequest& request);
/// The answer of a member that can take nothing in just now, since its document cannot be written: what it was before
/// still holds, and it lives. It speaks for itself alone: what it knew of others does not age meanwhile, and would keep
/// a dead primary alive, and one that is cut off in its role. Nothing when the heartbeat needs more than that, and
/// nothing of a member that leads or asks for votes, for others would go on following it.
std::optional<HeartbeatReply> answerUnheard(const Snapshot<Topology>& now, const HeartbeatRequest& request);
/// REP-029, REP-032, REP-039 to REP-042.
void onHeartbeatReply(Turn& t, const HeartbeatReply& reply);

/// This node's heartbeat to `to`.
HeartbeatRequest heartbeatFor(const Turn& t, const NodeName& to);
/// What it says of this node.
Report reportFor(const Turn& t, const NodeName& to);

}  // namespace troupe::replication
