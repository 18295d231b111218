#pragma once
#include "actors/server/server_context.hpp"

namespace troupe::commands {

/// Sections of serverStatus about a member's part in its set: repl, electionMetrics, flowControl, opcountersRepl and
/// oplogTruncation. Nothing on a node that stands alone.
void appendReplication(bson::Builder& b, const server::ServerContext& server);
/// `metrics.repl`. Nothing on a node that stands alone.
void appendReplicationMetrics(bson::Builder& b, const server::ServerContext& server);

}  // namespace troupe::commands
