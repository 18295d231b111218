#pragma once
#include <string>

#include "state_machines/replication/turn.hpp"

/// How a node stands for election.
namespace troupe::replication {

/// Why this node may not stand now; empty: it may.
std::string whyNotStand(const Turn& t);

/// Stands: first asks whether it would be elected, in its present term, so that a node that can't win disturbs nobody.
/// (ELE-007) Without this dry run in a handoff, on request, and when it needs no other vote. (ELE-008)
void stand(Turn& t, ElectionReason reason, bool skipDryRun = false);

/// Stops standing. A refused candidate tries again sooner than the election timeout, if there still is no primary: most
/// likely the votes were split, or a voter had not yet noticed that the primary is gone.
void giveUp(Turn& t, std::string why, bool trySoon = false);

/// ELE-001: no primary for the election timeout. A candidate without an answer begins anew.
void onElectionTimeout(Turn& t, const ElectionTimeout&);
/// ELE-010: only a majority of the voting members, itself included, elects.
void onVoteReply(Turn& t, const VoteReply& reply);
/// ELE-004.
void onStepUp(Turn& t, const StepUp& command);
/// ELE-005: a primary that steps down wants this node to follow it. Only another member of the config is heeded.
void onStepUpRequest(Turn& t, const StepUpRequest& request);
/// replSetFreeze, and the end of it.
void onFreeze(Turn& t, const Freeze& command);
void onFreezeOver(Turn& t, const FreezeOver&);
/// replSetMaintenance, and that of a member that is too stale.
void onMaintenance(Turn& t, const Maintenance& command);
/// RBK-002: the state ROLLBACK begins or ends.
void onRollingBack(Turn& t, const RollingBack& report);
void onCopyingData(Turn& t, const CopyingData& report);

}  // namespace troupe::replication
