#pragma once
#include <string>

#include "state_machines/replication/turn.hpp"

/// How a primary ceases to be one.
namespace troupe::replication {

/// At once and without conditions; a conditional attempt that was under way fails. (ELE-028, ELE-031 to ELE-034)
void stepDown(Turn& t, std::string why);

/// replSetStepDown: refuses writes, and steps down as soon as others can go on without it. (ELE-026, ELE-029, ELE-035)
void onStepDown(Turn& t, const StepDown& command);
/// Steps down if a majority has caught up with this node's last write and an electable member is among it. (ELE-026)
void tryStepDown(Turn& t);
void onWritesEnded(Turn& t, const WritesEnded& report);
void onMemberAdvanced(Turn& t, const MemberAdvanced& report);
/// ELE-005: a member that was asked to take over does not: the next best one is asked, if it was this one's turn.
void passHandoffOn(Turn& t, const NodeName& host);
void onStepUpRefusal(Turn& t, const StepUpRefusal& refusal);
/// ELE-027: with force, it steps down now in any case; else it stays primary and takes writes again.
void onStepDownDeadline(Turn& t, const StepDownDeadline&);

}  // namespace troupe::replication
