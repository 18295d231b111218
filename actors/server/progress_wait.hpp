#pragma once
#include <chrono>
#include <functional>

#include "actors/replication/replication_progress.hpp"
#include "actors/server/request.hpp"
#include "actors/storage/interruptible_wait.hpp"

namespace troupe::server {

/// One of the waits of ReplicationProgress, with its arguments.
using AskProgress = std::function<replication::ReplicationProgress::WaiterId(
    replication::ReplicationProgress& progress, replication::ReplicationProgress::Verdict done)>;

/// Between two looks for the client of an operation that waits for its set: such waits are many, and few of them long.
inline constexpr std::chrono::seconds kLookWhileAwaitingSet(1);

/// Waits for a time of this member, of others or of the set, without holding a thread. Only on a member. Errors: the
/// interrupt when the operation is killed or its time is over; those of the wait; `options.late` when its own limit has
/// passed.
Task<Status> awaitProgress(Request& request, AskProgress ask, InterruptibleWait::Options options);

}  // namespace troupe::server
