#pragma once
#include "actors/kernel/task.hpp"
#include "actors/server/server_context.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::maintenance {

/// Removes what a build that runs no more has left: its unfinished indexes, their tables, their rows in the catalog.
/// The one way for builds that failed or were aborted, for those a start finds, and for those a new primary finds.
/// Waits for the collection's exclusive lock within `operation`, whose kill or deadline ends the wait. It holds no lock
/// below the global one, announces writes, and outlives the task. Logs what became of it, unless nothing was left.
///
/// The removal is a write like any other, so a member that has lost the right to write may not do it: the outcome is
/// NotWritablePrimary or InterruptedDueToReplStateChange, and the unfinished index stays for the next primary, which
/// discards it as it steps up (IndexBuilds). Writers keep an unfinished index up in every role, so nothing of it is
/// lost meanwhile: a primary that is to go on with a build (commit quorum, resumable builds) has to be taught so here
/// and in IndexBuilds, and nowhere else.
Task<Status> discardBuild(server::ServerContext& server, storage::OperationContext& operation,
                          storage::UnfinishedBuild left);

/// The same in an operation of its own (ServiceOperation), for the supervisor of builds: currentOp and lockInfo show it
/// as "DiscardIndexBuild <uuid>"; killOp, a change of role and a shutdown end it.
Task<Status> discardBuild(server::ServerContext& server, storage::UnfinishedBuild left);

}  // namespace troupe::maintenance
