#pragma once
#include "actors/commands/request.hpp"

namespace troupe::commands {

struct ServerContext;

/// Whether this node may run the request in its present role in a replica set: writes need the primary
/// (NotWritablePrimary), reads the primary or a secondary that the client wants to read from (NotPrimaryNoSecondaryOk,
/// NotPrimaryOrSecondary). The database `local` belongs to the node alone and is always served. On a standalone node: OK.
Status checkRole(const Request& request);

/// Ends all writes that run: this node is no longer the primary they began on (ELE-028).
void interruptWrites(const ServerContext& server);

}  // namespace troupe::commands
