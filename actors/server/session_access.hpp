#pragma once
#include "actors/server/client.hpp"
#include "actors/server/session_key.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/sessions/session_id.hpp"

namespace troupe::server {

/// Where sessions are kept beyond the memory of a node (SES-006).
inline const storage::Namespace kSessions("config", "system.sessions");

/// Whether another node of the cluster is the client, or this node itself.
bool isClusterItself(const Client& client);

/// The session that an lsid names when this client sends it, as records and entries name it. A session belongs to the
/// users that began it: `uid` may be left out, and is that of the client's users otherwise; only the cluster itself
/// names sessions of others, and sessions within sessions. Errors: those of SessionId::parse; Unauthorized (another
/// user's session); InvalidOptions (a child).
StatusWith<storage::SessionId> fullSessionOf(const Client& client, bson::View lsid);
/// Its key, which is that of its parent if it is a child. Errors: the same.
StatusWith<SessionKey> sessionOf(const Client& client, bson::View lsid);

/// The users that go with the key in a SessionCache: the client's if it is their session; nothing otherwise. On the
/// client's own thread, which may not change them meanwhile.
std::span<const UserKey> sessionUsers(const Client& client, const SessionKey& key);

}  // namespace troupe::server
