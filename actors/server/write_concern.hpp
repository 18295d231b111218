#pragma once
#include "actors/server/request.hpp"
#include "state_machines/replication/positions.hpp"
#include "state_machines/replication/replica_set_config.hpp"
#include "storage/operation/concerns.hpp"

namespace troupe::server {

/// Write concern of a write that names none: a majority, unless arbiters make that one too hard to reach (ELE,
/// OPL-012).
storage::WriteConcern implicitWriteConcern(const replication::ReplicaSetConfig& config);

/// What the members have to acknowledge.
replication::Acknowledgement acknowledgementOf(const storage::WriteConcern& concern);

/// Whether a wait ends with the operation's client.
enum class WhileAwaited {
  kClientIsThere,    ///< else the operation ends, as with a command that has done all it does
  kClientMayBeGone,  ///< the command has more to do afterwards
};

/// Waits, without holding a thread, until what the operation has written is as safe as its write concern asks: the only
/// place where write concerns are awaited. On a member that is the OpTime of its last write, or of the newest that it
/// may have relied on. Gives WriteConcernFailed after `wtimeout`, the interrupt when the operation is killed or its
/// time is over, the failure of the flush; UnsatisfiableWriteConcern and UnknownReplWriteConcern of what its set cannot
/// give.
Task<Status> awaitWriteConcern(Request& request, WhileAwaited client = WhileAwaited::kClientIsThere);

/// Appends `writeConcernError: {code, codeName, errmsg, errInfo}` to the reply.
void appendWriteConcernError(Request& request, const Status& failure);

}  // namespace troupe::server
