#include "actors/server/session_access.hpp"

namespace troupe::server {

bool isClusterItself(const Client& client) { return client.isUser("__system", "local"); }

StatusWith<SessionKey> sessionOf(const Client& client, bson::View lsid) {
  TROUPE_ASSIGN(const auto id, SessionKey::idOf(lsid));
  const bson::Element uid = lsid["uid"];
  SessionKey own(id, client.sessionOwner);
  if (!uid.ok()) return own;
  if (isClusterItself(client)) return SessionKey::ofStored(lsid);
  if (!uid.is(bson::Type::kBinary) || uid.asBinary().bytes != own.owner())
    return Status(ErrorCode::kUnauthorized, "lsid.uid is not that of the authenticated user: leave it out");
  return own;
}

std::string_view sessionUser(const Client& client, const SessionKey& key) {
  return key.owner() == client.sessionOwner ? client.ownUserNames() : std::string_view();
}

}  // namespace troupe::server
