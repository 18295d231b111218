#include "actors/commands/session_inspection.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "actors/kernel/node.hpp"
#include "actors/server/session_catalog.hpp"

namespace troupe::commands {

namespace {

/// What runs in a session just now, {opid, command, ns}.
using WorkBySession = std::unordered_map<SessionKey, bson::Document>;

void noteWork(ServerContext& server, WorkBySession& work) {
  server.clients.each([&](Client& client) {
    client.withSession([&](storage::OperationContext& operation, const SessionKey& key) {
      const auto found = work.find(key);
      if (found == work.end() || !found->second.empty()) return;
      found->second = bson::doc("opid", operation.id(), "command", operation.commandName, "ns", operation.shownNs());
    });
  });
}

/// What numbered commands do in the session; nothing but zeros where none was sent.
FamilyRow familyOf(const ServerContext& server, const SessionKey& key) {
  if (!server.sessionCatalog) return {};
  return server.sessionCatalog->family(key.bytes()).value_or(FamilyRow());
}

std::string shownId(const SessionKey& key) {
  bson::Uuid uuid;
  std::ranges::copy(key.id(), uuid.bytes.begin());
  return uuid.toString();
}

}  // namespace

std::vector<bson::Document> sessionRows(ServerContext& server, std::span<const SessionCache::Row> sessions) {
  WorkBySession work;
  for (const SessionCache::Row& session : sessions) work.try_emplace(session.key);
  noteWork(server, work);
  const TimePoint now = server.node.environment().now();
  const int64_t wall = wallMillis(server);
  std::vector<bson::Document> rows;
  for (const SessionCache::Row& session : sessions) {
    const bson::Document& its = work[session.key];
    const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(now - session.lastUse).count();
    bson::Builder row;
    row.append("_id", session.key.toDocument()).append("session", shownId(session.key)).append("user", session.user);
    row.append("lastUse", bson::Date{wall - idle});
    row.append("openCursors", static_cast<int64_t>(server.cursors.countOf(session.key)));
    if (!its.empty()) row.append("operation", its);
    const FamilyRow family = familyOf(server, session.key);
    row.append("waiters", static_cast<int64_t>(family.waiters)).append("kills", static_cast<int64_t>(family.kills));
    rows.push_back(row.finish());
  }
  return rows;
}

}  // namespace troupe::commands
