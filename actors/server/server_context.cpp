#include "actors/server/server_context.hpp"

#include "actors/kernel/node.hpp"

namespace troupe::server {

bool isTrusted(const ServerContext& server, const Client& client) {
  return !server.identity.authentication || client.authenticated();
}

int64_t wallMillis(const ServerContext& server) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(server.node.environment().wallNow().time_since_epoch())
      .count();
}

bson::ObjectId newObjectId(ServerContext& server) {
  const auto sinceEpoch = server.node.environment().wallNow().time_since_epoch();
  return server.objectIds.next(
      static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(sinceEpoch).count()));
}

}  // namespace troupe::server
