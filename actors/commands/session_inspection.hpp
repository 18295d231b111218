#pragma once
#include <span>
#include <vector>

#include "actors/server/server_context.hpp"
#include "actors/server/session_cache.hpp"

namespace troupe::commands {
using namespace server;

/// Rows of sessionInfo and of the admin page for sessions of this node: {_id: {id, uid}, session: the id as text, user,
/// lastUse, openCursors, operation?: {opid, command, ns}, waiters, kills}. Waiters: operations that await the session,
/// or another of its family. Kills: that the command which has it was told of and has not answered yet.
std::vector<bson::Document> sessionRows(ServerContext& server, std::span<const SessionCache::Row> sessions);

}  // namespace troupe::commands
