#pragma once
#include "actors/kernel/task.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::commands {

/// A replica set as this node sees it, for operators' pages: who leads, who fetches from whom, lags, votes, the commit
/// point, and how far back the log of each member reaches, which the members are asked for.
///   {set, term, self, commitPoint: {seconds, increment, term},
///    members: [{name, id, self, state, health, votes, priority, hidden, arbiter, delaySeconds, syncSource,
///               applied: {seconds, increment}, lagSeconds, logWindowSeconds, pingMillis, message}]}
/// `lagSeconds` is 0 while nothing is known to compare, `logWindowSeconds` null for a log that cannot be read in time.
/// A node that stands alone: {set: "", self, members: []}. `server` outlives the task, which runs on the pool.
Task<bson::Document> pictureOfSet(server::ServerContext& server);

}  // namespace troupe::commands
