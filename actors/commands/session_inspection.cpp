#include "actors/commands/session_inspection.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "actors/kernel/node.hpp"
#include "actors/server/session_catalog.hpp"

namespace troupe::commands {

namespace {

/// What runs in a session just now.
struct SessionWork {
  bson::Document first;  ///< {opid, command, ns}
  int64_t numbered = 0;  ///< commands with a transaction number: one of them has the session, the others wait
};

using WorkBySession = std::unordered_map<SessionKey, SessionWork>;

void noteWork(ServerContext& server, WorkBySession& work) {
  server.clients.each([&](Client& client) {
    client.withSession([&](storage::OperationContext& operation, const SessionKey& key) {
      const auto found = work.find(key);
      if (found == work.end()) return;
      found->second.numbered += operation.command["txnNumber"].ok();
      if (found->second.first.empty())
        found->second.first =
            bson::doc("opid", operation.id(), "command", operation.commandName, "ns", operation.shownNs());
    });
  });
}

/// That the operation which has the session was told of and has not answered yet (SES-011).
int64_t killsOf(const ServerContext& server, const SessionKey& key) {
  if (!server.sessionCatalog) return 0;
  const auto family = server.sessionCatalog->family(key.bytes());
  return family ? static_cast<int64_t>(family->kills) : 0;
}

std::string shownId(const SessionKey& key) {
  bson::Uuid uuid;
  std::ranges::copy(key.id(), uuid.bytes.begin());
  return uuid.toString();
}

}  // namespace

std::vector<bson::Document> sessionRows(ServerContext& server, const SessionKey* after, size_t most) {
  const auto sessions = server.sessions.recent(after, most);
  WorkBySession work;
  for (const SessionCache::Row& session : sessions) work.try_emplace(session.key);
  noteWork(server, work);
  const TimePoint now = server.node.environment().now();
  const int64_t wall = wallMillis(server);
  std::vector<bson::Document> rows;
  for (const SessionCache::Row& session : sessions) {
    const SessionWork& its = work[session.key];
    const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(now - session.lastUse).count();
    bson::Builder row;
    row.append("_id", session.key.toDocument()).append("session", shownId(session.key)).append("user", session.user);
    row.append("lastUse", bson::Date{wall - idle});
    row.append("openCursors", static_cast<int64_t>(server.cursors.countOf(session.key)));
    if (!its.first.empty()) row.append("operation", its.first);
    row.append("waiters", std::max<int64_t>(0, its.numbered - 1)).append("kills", killsOf(server, session.key));
    rows.push_back(row.finish());
  }
  return rows;
}

bool SessionChoice::contains(const SessionKey& key) const {
  return all_ || keys_.contains(key) || (!ids_.empty() && ids_.contains(std::string(key.id()))) ||
         (!owners_.empty() && owners_.contains(std::string(key.owner())));
}

size_t killWorkOf(ServerContext& server, const SessionChoice& choice, const Client* except) {
  size_t killed = 0;
  server.clients.each([&](Client& client) {
    if (&client == except) return;
    client.withSession([&](storage::OperationContext& operation, const SessionKey& key) {
      if (!choice.contains(key)) return;
      operation.kill(ErrorCode::kInterrupted);
      ++killed;
    });
  });
  if (server.sessionCatalog) {
    const SessionKey* own = except ? except->session() : nullptr;
    server.sessionCatalog->kill([&](std::string_view family) {
      if (family.size() != SessionKey::kBytes || (own && own->bytes() == family)) return false;
      return choice.contains(SessionKey(family.substr(0, SessionKey::kIdBytes), family.substr(SessionKey::kIdBytes)));
    });
  }
  if (choice.isNamed() && choice.ids_.empty()) {
    server.cursors.killOf(std::vector<SessionKey>(choice.keys_.begin(), choice.keys_.end()));
  } else {
    server.cursors.killIf(
        [&](const ClientCursor& cursor) { return cursor.sessionKey && choice.contains(*cursor.sessionKey); },
        CursorRegistry::Afterwards::kNotFound);
  }
  return killed;
}

size_t killNamedSessions(ServerContext& server, const SessionChoice& choice, const Client* except) {
  killWorkOf(server, choice, except);
  std::unordered_set<SessionKey> named = choice.keys_;
  for (const std::string& id : choice.ids_)
    for (const SessionKey& key : server.sessions.keysOf(id)) named.insert(key);
  const TimePoint now = server.node.environment().now();
  size_t known = 0;
  for (const SessionKey& key : named) known += server.sessions.end(key, now);
  return known;
}

}  // namespace troupe::commands
