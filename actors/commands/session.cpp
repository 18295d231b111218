// startSession, refreshSessions, endSessions: logical sessions, as their clients begin and end them. (SES)
#include <functional>

#include "actors/commands/families.hpp"
#include "actors/commands/session_arguments.hpp"
#include "actors/commands/session_choice.hpp"
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
    server.sessions.touch(key, sessionUsers(request.client(), key), environment.now());
  request.reply().append("id", id).append("timeoutMinutes",
                                          static_cast<int32_t>(server.parameters.sessionTimeoutMinutes));
  co_return Status::OK();
}

Task<Status> refreshSessions(Request& request) {
  ServerContext& server = request.server();
  const auto now = server.node.environment().now();
  const Client& client = request.client();
  const std::function<Status(bson::View)> check = [&](bson::View lsid) { return sessionOf(client, lsid).status(); };
  TROUPE_CO_TRY(co_await eachSession(request, &check));
  const std::function<Status(bson::View)> touch = [&](bson::View lsid) -> Status {
    TROUPE_ASSIGN(const SessionKey key, sessionOf(client, lsid));
    server.sessions.touch(key, sessionUsers(client, key), now);
    return Status::OK();
  };
  co_return co_await eachSession(request, &touch);
}

/// The client's own sessions end, whatever its privileges: others are killed. Drivers send this when they close, also
/// after they have logged out: then, and for sessions of others, nothing is done.
Task<Status> endSessions(Request& request) {
  const std::function<Status(bson::View)> none = [](bson::View) { return Status::OK(); };
  TROUPE_CO_TRY(co_await eachSession(request, &none));
  if (!isTrusted(request.server(), request.client())) co_return Status::OK();
  TROUPE_CO_ASSIGN(const bson::View named, ownArray(request));
  Steps steps;
  for (const bson::Element& e : named) {
    const auto key = sessionOf(request.client(), e.asDocument());
    if (key.isOK()) {
      const auto ended = co_await endSession(request, *key);
      TROUPE_CO_TRY(ended.status());
    }
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
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
