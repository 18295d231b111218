#pragma once
#include <string>

#include "state_machines/replication/turn.hpp"

/// How a set gets its config, and a new one. (ELE-033, ELE-037)
namespace troupe::replication {

/// replSetInitiate: the first config, if all its members answer and have neither one nor data.
void onInitiate(Turn& t, const Initiate& command);
/// Asks those members again that have not answered.
void askMembersOfNewSet(Turn& t);
void onMemberOfNewSet(Turn& t, const HeartbeatReply& reply);
/// They have had their time.
void onInitiateDeadline(Turn& t, const MembersDeadline&);

/// A node that holds data may be the first of a set, and gives them to the others. It joins no set: it would lose them.
void onOwnData(Turn& t, const OwnData& report);

/// replSetReconfig. Without force, a config follows another one only when a majority holds the one before in the term
/// of this primary, and it differs by one voter at most: so no two majorities of configs in use are without a common
/// member. Members that it adds are asked first: it fails at once if one of them refuses, being of another set or
/// having data of its own, and later, with NodeNotFound, if fewer than a majority of the new voters are there: such a
/// set would have no primary. With force, all that is asked of a config besides being valid is that it names this node.
void onReconfig(Turn& t, const Reconfig& command);
/// While new members are asked: asks them, also again.
void askNewMembers(Turn& t);
/// `refusal`: why the sender is no member of this set; OK: it could be one.
void onNewMember(Turn& t, const NodeName& host, const Status& refusal);
/// They have had their time.
void onNewMembersDeadline(Turn& t, const MembersDeadline&);
/// The change has had its time: it is taken back, if it is not installed yet, and its command hears what it lacks.
void onReconfigDeadline(Turn& t, const ReconfigDeadline&);
/// The change that is under way, if there is one, has ended without success: answers its command.
void abandonChange(Turn& t, ErrorCode code, std::string why);
/// Goes on with a change that waits for a majority.
void proceedWithReconfig(Turn& t);
/// Asks the data layer to count by the present config, unless it has said that it does: an answer is lost with a phase.
/// A primary asks as soon as it takes writes: what a change waits for is then what came before its term, and not what
/// clients have written since, which a member that has gone does not have.
void putInUse(Turn& t);
void onConfigInUse(Turn& t, const ConfigInUse& report);

/// A newer config came with a heartbeat; the sender calls this node `self`. A node in the middle of a step-up takes it
/// only if it has no place for a primary there; the next heartbeat brings it again. (REP-039)
void learnConfig(Turn& t, const ReplicaSetConfig& config, const NodeName& self);

}  // namespace troupe::replication
