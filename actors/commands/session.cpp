// startSession, refreshSessions, endSessions, killSessions, killAllSessions: logical sessions. (SES)
#include <string>
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
  TROUPE_CO_TRY(server.sessions.touch(id, environment.now(), request.client().sessionOwner));
  request.reply().append("id", id).append("timeoutMinutes",
                                          static_cast<int32_t>(server.parameters.sessionTimeoutMinutes));
  co_return Status::OK();
}

/// The documents in the command's own array of sessions.
StatusWith<std::vector<bson::View>> namedSessions(const Request& request) {
  const bson::Element list = request.body().first();
  if (!list.is(bson::Type::kArray)) {
    return Status(ErrorCode::kTypeMismatch, "BSON field '" + std::string(list.name()) + "' is the wrong type '" +
                                                std::string(bson::typeName(list.type())) + "', expected type 'array'");
  }
  std::vector<bson::View> sessions;
  for (const bson::Element& e : list.asArray()) {
    if (!e.is(bson::Type::kDocument))
      return Status(ErrorCode::kTypeMismatch, "each session must be a document {id: UUID}");
    TROUPE_TRY(SessionRegistry::idOf(e.asDocument()).status());
    sessions.push_back(e.asDocument());
  }
  return sessions;
}

/// The sessions that an array of ids names: the client's own ones, or everybody's where it may kill any session.
class ChosenSessions {
 public:
  /// `emptyIsAll`: no ids stand for all of them.
  static StatusWith<ChosenSessions> of(const Request& request, bool emptyIsAll) {
    TROUPE_ASSIGN(const auto named, namedSessions(request));
    ChosenSessions chosen;
    chosen.all_ = emptyIsAll && named.empty();
    chosen.anybodys_ = request.authorize(auth::Action::kKillAnySession, auth::Resource::cluster()).isOK();
    chosen.owner_ = request.client().sessionOwner;
    for (const bson::View lsid : named) {
      TROUPE_ASSIGN(auto id, SessionRegistry::idOf(lsid));
      chosen.ids_.insert(std::move(id));
    }
    return chosen;
  }
  static ChosenSessions everyone() {
    ChosenSessions chosen;
    chosen.all_ = chosen.anybodys_ = true;
    return chosen;
  }

  bool contains(const SessionRegistry::Key& key) const {
    const auto id = key.substr(0, SessionRegistry::kIdBytes);
    return (all_ || ids_.contains(id)) && (anybodys_ || key.substr(SessionRegistry::kIdBytes) == owner_);
  }
  bool contains(bson::View lsid, std::string_view userNames) const {
    const auto key = SessionRegistry::keyOf(lsid, SessionRegistry::ownerOf(userNames));
    return key.isOK() && contains(*key);
  }

 private:
  std::unordered_set<std::string> ids_;
  std::string owner_;
  bool all_ = false, anybodys_ = false;
};

void endChosen(ServerContext& server, const ChosenSessions& chosen) {
  for (const auto& key : server.sessions.keys())
    if (chosen.contains(key)) server.sessions.end(key);
  server.cursors.killIf(
      [&](const ClientCursor& cursor) {
        return !cursor.session.empty() && chosen.contains(cursor.session, joinedNames(cursor.owners));
      },
      CursorRegistry::Afterwards::kNotFound);
}

Task<Status> refreshSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto sessions, namedSessions(request));
  const auto now = request.server().node.environment().now();
  for (const bson::View lsid : sessions)
    TROUPE_CO_TRY(request.server().sessions.touch(lsid, now, request.client().sessionOwner));
  co_return Status::OK();
}

Task<Status> endSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto chosen, ChosenSessions::of(request, false));
  endChosen(request.server(), chosen);
  co_return Status::OK();
}

/// Ends the sessions, and what others do in them.
void killChosen(const Request& request, const ChosenSessions& chosen) {
  ServerContext& server = request.server();
  server.clients.each([&](Client& client) {
    if (client.connectionId == request.client().connectionId) return;
    const std::string users = client.userNames();
    client.withOperation([&](storage::OperationContext& operation) {
      const auto lsid = operation.command["lsid"];
      if (lsid.is(bson::Type::kDocument) && chosen.contains(lsid.asDocument(), users))
        operation.kill(ErrorCode::kInterrupted);
    });
  });
  endChosen(server, chosen);
}

Task<Status> killSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto chosen, ChosenSessions::of(request, true));
  killChosen(request, chosen);
  co_return Status::OK();
}

/// Takes patterns of users; without any, all sessions end. Patterns name users, whose sessions are not told apart here,
/// so that a pattern ends all sessions as well.
Task<Status> killAllSessions(Request& request) {
  killChosen(request, ChosenSessions::everyone());
  co_return Status::OK();
}

constexpr Argument kStartSessionArguments[] = {anyArg("comment"), kAnyOtherArgs};

constexpr Command kSessionCommands[] = {
    {.name = "startSession",
     .summary = "begins a logical session",
     .requirement = {Requirement::Target::kAuthenticated},
     .stableApi = true,
     .arguments = kStartSessionArguments,
     .run = startSession},
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
     .summary = "ends all sessions, their cursors and running operations",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillAnySession},
     .run = killAllSessions},
};

}  // namespace

std::span<const Command> sessionCommands() { return kSessionCommands; }

}  // namespace troupe::commands
