#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Appends what a request to a member asks for beside its result: `$replData` (REP-027), the state of the set as this
/// member knows it, and `$oplogQueryData` (REP-031), for readers of its log. It tells no
/// more than `hello` does, to a client that may run the command. On a node that stands alone, or has no config: nothing.
void appendReplicationMetadata(Request& request);

}  // namespace troupe::server
