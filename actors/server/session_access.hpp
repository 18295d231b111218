#pragma once
#include "actors/server/client.hpp"
#include "actors/server/session_key.hpp"
#include "storage/catalog/namespace.hpp"

namespace troupe::server {

/// Where sessions are kept beyond the memory of a node (SES-006).
inline const storage::Namespace kSessions("config", "system.sessions");

/// Whether another node of the cluster is the client, or this node itself.
bool isClusterItself(const Client& client);

/// The session that an lsid names when this client sends it. A session belongs to the users that began it: `uid` may be
/// left out, and is that of the client's users otherwise; only the cluster itself names sessions of others. Errors:
/// those of SessionKey::idOf; InvalidOptions (a client's session with the fields of servers); Unauthorized (another
/// user's session).
StatusWith<SessionKey> sessionOf(const Client& client, bson::View lsid);

/// The names that go with the key in a SessionCache: those of the client's users if it is their session; nothing
/// otherwise. On the client's own thread.
std::string_view sessionUser(const Client& client, const SessionKey& key);

}  // namespace troupe::server
