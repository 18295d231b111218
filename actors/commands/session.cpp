// startSession, refreshSessions, endSessions, killSessions, killAllSessions: logical sessions. (SES)
#include <algorithm>
#include <unordered_set>

#include "actors/commands/families.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_registry.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

Task<Status> startSession(Request& request) {
  ServerContext& server = request.server();
  Environment& environment = server.node.environment();
  const bson::Document id = bson::doc("id", bson::randomUuid([&environment] { return environment.random(); }));
  TROUPE_CO_TRY(server.sessions.touch(id, environment.now()));
  request.reply().append("id", id).append("timeoutMinutes",
                                          static_cast<int32_t>(server.parameters.sessionTimeoutMinutes));
  co_return Status::OK();
}

/// The ids in the command's own array of sessions.
StatusWith<std::vector<std::string>> namedSessions(const Request& request) {
  const bson::Element list = request.body().first();
  if (!list.is(bson::Type::kArray)) {
    return Status(ErrorCode::kTypeMismatch, "BSON field '" + std::string(list.name()) + "' is the wrong type '" +
                                                std::string(bson::typeName(list.type())) + "', expected type 'array'");
  }
  std::vector<std::string> ids;
  for (const bson::Element& e : list.asArray()) {
    if (!e.is(bson::Type::kDocument))
      return Status(ErrorCode::kTypeMismatch, "each session must be a document {id: UUID}");
    TROUPE_ASSIGN(auto id, SessionRegistry::idOf(e.asDocument()));
    ids.push_back(std::move(id));
  }
  return ids;
}

void endCursorsOf(ServerContext& server, const std::unordered_set<std::string>& ids) {
  server.cursors.killIf([&](const ClientCursor& cursor) {
    if (cursor.session.empty()) return false;
    const auto id = SessionRegistry::idOf(cursor.session);
    return id.isOK() && ids.contains(*id);
  });
}

Task<Status> refreshSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto ids, namedSessions(request));
  const auto now = request.server().node.environment().now();
  for (const bson::Element& e : request.body().first().asArray()) {
    TROUPE_CO_TRY(request.server().sessions.touch(e.asDocument(), now));
  }
  co_return Status::OK();
}

Task<Status> endSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto ids, namedSessions(request));
  for (const auto& id : ids) request.server().sessions.end(id);
  endCursorsOf(request.server(), {ids.begin(), ids.end()});
  co_return Status::OK();
}

Task<Status> killSessions(Request& request) {
  ServerContext& server = request.server();
  TROUPE_CO_ASSIGN(auto ids, namedSessions(request));
  if (ids.empty()) ids = server.sessions.ids();
  const std::unordered_set<std::string> chosen(ids.begin(), ids.end());
  endCursorsOf(server, chosen);
  server.clients.each([&](Client& client) {
    if (client.connectionId == request.client().connectionId) return;
    client.withOperation([&](storage::OperationContext& operation) {
      const auto lsid = operation.command["lsid"];
      if (!lsid.is(bson::Type::kDocument)) return;
      const auto id = SessionRegistry::idOf(lsid.asDocument());
      if (id.isOK() && chosen.contains(*id)) operation.kill(ErrorCode::kInterrupted);
    });
  });
  for (const auto& id : ids) server.sessions.end(id);
  co_return Status::OK();
}

/// Takes patterns of users; without any, all sessions end. Patterns name users, whose sessions are not told apart here,
/// so that a pattern ends all sessions as well.
Task<Status> killAllSessions(Request& request) {
  ServerContext& server = request.server();
  const auto ids = server.sessions.ids();
  endCursorsOf(server, {ids.begin(), ids.end()});
  for (const auto& id : ids) server.sessions.end(id);
  co_return Status::OK();
}

constexpr Command kSessionCommands[] = {
    {.name = "startSession", .summary = "begins a logical session", .stableApi = true, .run = startSession},
    {.name = "refreshSessions",
     .summary = "keeps sessions from timing out",
     .requirement = {Requirement::Target::kAuthenticated},
     .stableApi = true,
     .run = refreshSessions},
    {.name = "endSessions", .summary = "ends sessions and their cursors", .stableApi = true, .run = endSessions},
    {.name = "killSessions",
     .summary = "ends sessions, their cursors and running operations",
     .requirement = {Requirement::Target::kAuthenticated},
     .stableApi = true,
     .run = killSessions},
    {.name = "killAllSessions",
     .summary = "ends all sessions and their cursors",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillAnySession},
     .run = killAllSessions},
};

}  // namespace

std::span<const Command> sessionCommands() { return kSessionCommands; }

}  // namespace troupe::commands
