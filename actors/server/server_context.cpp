#include "actors/server/server_context.hpp"

#include "actors/kernel/node.hpp"

namespace troupe::server {

int64_t wallMillis(const ServerContext& server) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(server.node.environment().wallNow().time_since_epoch())
      .count();
}

}  // namespace troupe::server
