#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Sets the operation's reads up as its read concern asks, before the first of them: chooses the source of its
/// snapshots and waits, without holding a thread or a lock, until this member's data are that new (CLK-016). On a node
/// that stands alone there is nothing to choose. Errors: NotWritablePrimary (linearizable on another member);
/// InvalidOptions (a time that no node of the set has given out yet); SnapshotUnavailable; the interrupt when the
/// operation is killed or its time is over.
Task<Status> setUpReadConcern(Request& request);

/// Appends `atClusterTime` of a read that asked for a snapshot: the client's session reads on at the same time.
void appendSnapshotTime(bson::Builder& out, const storage::OperationContext& operation);

/// Linearizable: what was read must not have been taken over by a later primary meanwhile. A note in the log that a
/// majority acknowledges proves it, written in the term in which the read was set up; that of a cursor is the one of
/// its first batch. To be called after the read. Errors: those of a write and its wait, InterruptedDueToReplStateChange
/// when the term has changed.
Task<Status> confirmLinearizable(Request& request);

}  // namespace troupe::server
