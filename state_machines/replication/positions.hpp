#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "messaging/clock/op_time.hpp"
#include "messaging/description/description.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/replication/replica_set_config.hpp"

namespace troupe::replication {

/// The place of a member in the history of its set.
struct Position {
  OpTime applied;  ///< of the newest entry whose data can be read there
  OpTime durable;  ///< of the newest entry that a kill of the member cannot undo; never beyond `applied`
  bool operator==(const Position&) const = default;
};
using Positions = std::map<NodeName, Position>;

/// The new commit point (REP-043): the newest OpTime of the primary's own term that a write majority of the voters with
/// data have, durably or applied (REP-044). An OpTime of an earlier term is never committed by counting: a member that
/// has it may still lose it to one that stands with a later term. What precedes the new point is committed with it.
/// Never before `present`. `term`: in which this node leads.
OpTime commitPoint(const ReplicaSetConfig& config, const Positions& positions, int64_t term, const OpTime& present);

/// The commit point as a member takes it over that knows `present` and has applied up to `applied`.
/// From its source (REP-047): never beyond what it has applied, and nothing of a later term than its newest entry has:
/// the source may have come to a branch of history that this entry is not on. What is committed in the entry's own term
/// or before is on all branches that go on.
OpTime learnedFromSource(const OpTime& told, const OpTime& applied, const OpTime& present);
/// From a heartbeat (REP-046): only one of the term of its own newest entry, for on another branch of history it would
/// name entries that this member does not have.
OpTime learnedFromHeartbeat(const OpTime& told, const OpTime& applied, const OpTime& present);
/// An arbiter has no data to compare with, and takes what it hears (REP-030, REP-063).
OpTime learnedByArbiter(const OpTime& told, const OpTime& present);

/// What a write waits for besides its commit on the primary.
struct Acknowledgement {
  int64_t members = 1;                             ///< that have applied it, the primary included
  bool majority = false;                           ///< the commit point has reached it
  std::optional<std::string> mode = std::nullopt;  ///< a name of settings.getLastErrorModes
  bool journaled = false;                          ///< durable on the members that count
};
/// Whether it can be reached by this config at all. Errors: UnsatisfiableWriteConcern (too few members with data),
/// UnknownReplWriteConcern (no such mode).
Status checkSatisfiable(const ReplicaSetConfig& config, const Acknowledgement& wanted);
/// Whether the commit point alone says so. Where the config counts what is merely applied, it says nothing of journals.
bool isOfCommitPoint(const ReplicaSetConfig& config, const Acknowledgement& wanted);
/// Whether members that have `write` satisfy it. `committed`: the commit point.
bool isSatisfied(const ReplicaSetConfig& config, const Positions& positions, const OpTime& committed,
                 const OpTime& write, const Acknowledgement& wanted);

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::Position, 0, applied, durable)
