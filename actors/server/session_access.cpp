#include "actors/server/session_access.hpp"

#include <string>

namespace troupe::server {

namespace {

/// Sessions within sessions are for servers among themselves.
Status checkNotOfServers(bson::View lsid) {
  for (const bson::Element& e : lsid)
    if (e.name() == "txnNumber" || e.name() == "txnUUID")
      return {ErrorCode::kInvalidOptions,
              "lsid." + std::string(e.name()) + " is for the sessions of servers among themselves"};
  return Status::OK();
}

}  // namespace

bool isClusterItself(const Client& client) { return client.isUser("__system", "local"); }

StatusWith<SessionKey> sessionOf(const Client& client, bson::View lsid) {
  TROUPE_ASSIGN(const auto id, SessionKey::idOf(lsid));
  const bson::Element uid = lsid["uid"];
  SessionKey own(id, client.sessionOwner);
  if (isClusterItself(client)) {
    if (!uid.ok()) return own;
    return SessionKey::ofStored(lsid);
  }
  TROUPE_TRY(checkNotOfServers(lsid));
  if (!uid.ok()) return own;
  if (!uid.is(bson::Type::kBinary) || uid.asBinary().bytes != own.owner())
    return Status(ErrorCode::kUnauthorized, "lsid.uid is not that of the authenticated user: leave it out");
  return own;
}

std::string_view sessionUser(const Client& client, const SessionKey& key) {
  return key.owner() == client.sessionOwner ? client.ownUserNames() : std::string_view();
}

}  // namespace troupe::server
