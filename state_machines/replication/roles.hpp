#pragma once
#include <string>

#include "state_machines/replication/turn.hpp"

/// Terms, and the roles of a node that neither leads nor stands for election.
namespace troupe::replication {

/// Whether a term may be what it says. Elections raise terms one by one, so that no member can be this far behind; a
/// single message with the largest number would leave no term for any later election.
bool isPlausible(const Turn& t, int64_t term);

/// A term that was heard of; an implausible one is ignored. A higher one becomes this node's, and ends its activity in
/// the old one: candidates give up, primaries step down. (ELE-011, ELE-031, REP-029)
void raiseTerm(Turn& t, int64_t term);
void onTermHeard(Turn& t, const TermHeard& report);

/// Takes the role that the config gives this node: none yet, removed, arbiter, or follower.
void settle(Turn& t);

/// Waits for the election timeout from now on, if this node may ever stand. (ELE-001, REP-042) A node that needs no
/// other vote does not wait.
void armElectionTimeout(Turn& t);

/// The primary seems to be gone: waits for a short part of the election timeout only. That is safe: members that still
/// see the primary refuse in the dry run, and the next sign of life of the primary puts the election off.
void expectElection(Turn& t);

/// Random part of election timers, so that two nodes seldom stand at once: up to 15 % more.
Millis electionSpread(const ReplicaSetConfig& config);

}  // namespace troupe::replication
