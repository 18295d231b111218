#pragma once
#include "actors/server/server_context.hpp"

namespace troupe::server {

/// Whether this node stands alone over the data of a replica set: a member's directory that was started without it. No
/// other member hears of what is changed then, so the node changes nothing by itself. Any thread.
bool holdsDataOfSet(const ServerContext& server);

}  // namespace troupe::server
