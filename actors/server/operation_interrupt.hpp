#pragma once
#include <cstdint>

namespace troupe::server {

struct ServerContext;

/// Ends what stands in the way of a rollback (RBK-002): all operations, of clients and of the node's services, that
/// have asked for a lock, and all cursors, whose documents may be undone. What holds no lock goes on: hello, the state
/// of the set, commands that wait for a change of it. Called again until the locks are free. Returns how many
/// operations were ended, those that have been told already included. Any thread.
int64_t interruptForRollback(const ServerContext& server);

}  // namespace troupe::server
