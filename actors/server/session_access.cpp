#include "actors/server/session_access.hpp"

namespace troupe::server {

bool isClusterItself(const Client& client) { return client.isUser("__system", "local"); }

StatusWith<storage::SessionId> fullSessionOf(const Client& client, bson::View lsid) {
  const std::string& own = client.sessionOwner.empty() ? SessionKey::nobody() : client.sessionOwner;
  TROUPE_ASSIGN(const auto session, storage::SessionId::parse(lsid, own));
  if (isClusterItself(client)) return session;
  if (std::string_view(session.uid.data(), session.uid.size()) != own)
    return Status(ErrorCode::kUnauthorized, "lsid.uid is not that of the authenticated user: leave it out");
  if (session.isChild())
    return Status(ErrorCode::kInvalidOptions, "lsid.txnUUID is for the sessions of servers among themselves");
  return session;
}

StatusWith<SessionKey> sessionOf(const Client& client, bson::View lsid) {
  TROUPE_ASSIGN(const auto id, fullSessionOf(client, lsid));
  return SessionKey({id.id.data(), id.id.size()}, {id.uid.data(), id.uid.size()});
}

std::span<const UserKey> sessionUsers(const Client& client, const SessionKey& key) {
  return key.owner() == client.sessionOwner ? client.ownUsers() : std::span<const UserKey>();
}

}  // namespace troupe::server
