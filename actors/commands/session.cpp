// startSession, refreshSessions, endSessions: logical sessions, as their clients begin and end them. (SES)
#include <string>
#include <vector>

#include "actors/commands/families.hpp"
#include "actors/commands/session_arguments.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_cache.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

Task<Status> startSession(Request& request) {
  ServerContext& server = request.server();
  Environment& environment = server.node.environment();
  const bson::Document id = bson::doc("id", bson::randomUuid([&environment] { return environment.random(); }));
  TROUPE_CO_ASSIGN(const SessionKey key, sessionOf(request.client(), id));
  if (isTrusted(server, request.client()))
    server.sessions.touch(key, sessionUser(request.client(), key), environment.now());
  request.reply().append("id", id).append("timeoutMinutes",
                                          static_cast<int32_t>(server.parameters.sessionTimeoutMinutes));
  co_return Status::OK();
}

Task<Status> refreshSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto named, namedSessions(request));
  const auto now = request.server().node.environment().now();
  const Client& client = request.client();
  std::vector<SessionKey> keys;
  for (const bson::View lsid : named) {
    TROUPE_CO_ASSIGN(const SessionKey key, sessionOf(client, lsid));
    keys.push_back(key);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    request.server().sessions.touch(keys[i], sessionUser(client, keys[i]), now);
    if (i % kSessionsAtOnce == kSessionsAtOnce - 1) TROUPE_CO_TRY(co_await request.yield());
  }
  co_return Status::OK();
}

/// The client's own sessions end, whatever its privileges: others are killed. Drivers send this when they close, also
/// after they have logged out: then, and for sessions of others, nothing is done.
Task<Status> endSessions(Request& request) {
  ServerContext& server = request.server();
  const Client& client = request.client();
  TROUPE_CO_ASSIGN(const auto named, namedSessions(request));
  if (!isTrusted(server, client)) co_return Status::OK();
  std::vector<SessionKey> own;
  for (const bson::View lsid : named)
    if (const auto key = sessionOf(client, lsid); key.isOK()) own.push_back(*key);
  const auto now = server.node.environment().now();
  for (size_t i = 0; i < own.size(); ++i) {
    server.sessions.end(own[i], now);
    server.cursors.killOf(std::span(&own[i], 1));
    if (i % kSessionsAtOnce == kSessionsAtOnce - 1) TROUPE_CO_TRY(co_await request.yield());
  }
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
    {.name = "endSessions",
     .summary = "ends the own sessions and their cursors",
     .stableApi = true,
     .run = endSessions},
};

}  // namespace

std::span<const Command> sessionCommands() { return kSessionCommands; }

}  // namespace troupe::commands
