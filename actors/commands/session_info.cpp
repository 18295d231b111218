// sessionInfo, refreshLogicalSessionCacheNow, reapLogicalSessionCacheNow: what operators see of sessions, and how they
// have the jobs of sessions done now. (SES-005, SES-008)
#include <algorithm>
#include <optional>

#include "actors/commands/families.hpp"
#include "actors/commands/listed_rows.hpp"
#include "actors/commands/session_arguments.hpp"
#include "actors/commands/session_inspection.hpp"
#include "actors/kernel/node.hpp"
#include "actors/maintenance/session_reaper.hpp"
#include "actors/maintenance/session_refresher.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr int64_t kUsualRows = 100, kMostRows = 1000;
/// About, for the budget of the operation.
constexpr int64_t kRowBytes = 1024;

/// A page of the node's sessions, the one used last first: `limit` of them, behind the session `after`.
Task<Status> sessionInfo(Request& request) {
  const int64_t limit = request.number("limit", kUsualRows);
  if (limit < 1 || limit > kMostRows)
    co_return Status(ErrorCode::kBadValue,
                     "'limit' must be from 1 to 1000: read more in pages, each behind the 'next' "
                     "of the one before");
  std::optional<SessionKey> after;
  if (request.arg("after")) {
    TROUPE_CO_ASSIGN(after, SessionKey::ofStored(request.document("after")));
  }
  ServerContext& server = request.server();
  if (after && !server.sessions.contains(*after))
    co_return Status(ErrorCode::kNoSuchKey, "the session 'after' has ended meanwhile: begin again without 'after'");
  ListedRows rows(request.operation().memory());
  TROUPE_CO_TRY(rows.reserve(limit * kRowBytes));
  for (bson::Document& row : sessionRows(server, after ? &*after : nullptr, static_cast<size_t>(limit)))
    TROUPE_CO_TRY(rows.add(std::move(row)));
  const bool isFull = static_cast<int64_t>(rows.size()) == limit;
  bson::Builder& reply = request.reply();
  reply.append("total", static_cast<int64_t>(server.sessions.size())).openArray("sessions");
  bson::Document last;
  while (const auto row = rows.next()) {
    reply.push(*row);
    last = bson::Document((*row)["_id"].asDocument());
  }
  reply.close();
  if (isFull) reply.append("next", last);
  co_return Status::OK();
}

Task<Status> refreshNow(Request& request) {
  Node& node = request.server().node;
  auto asked = node.ask(node.address(maintenance::kSessionRefresherPath), local(maintenance::RefreshSessions{}));
  const Answer answer = co_await awaitAnswer(node, request.operation(), std::move(asked));
  co_return answer.status();
}

/// What is in use here has to be written before what nobody uses is removed.
Task<Status> reapNow(Request& request) {
  TROUPE_CO_TRY(co_await refreshNow(request));
  Node& node = request.server().node;
  auto asked = node.ask(node.address(maintenance::kSessionReaperPath), local(maintenance::ReapSessions{}));
  const Answer answer = co_await awaitAnswer(node, request.operation(), std::move(asked));
  co_return answer.status();
}

constexpr Argument kSessionInfoArguments[] = {numberArg("limit"), documentArg("after")};

constexpr Command kSessionInfoCommands[] = {
    {.name = "sessionInfo",
     .summary = "the node's sessions, the one used last first: owner, last use, cursors, what runs and who waits",
     .requirement = {Requirement::Target::kCluster, auth::Action::kListSessions},
     .adminOnly = true,
     .arguments = kSessionInfoArguments,
     .run = sessionInfo},
    {.name = "refreshLogicalSessionCacheNow",
     .summary = "brings the node's sessions and config.system.sessions together now",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillAnySession},
     .adminOnly = true,
     .run = refreshNow},
    {.name = "reapLogicalSessionCacheNow",
     .summary = "removes now what was kept for retries in sessions that are gone",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillAnySession},
     .adminOnly = true,
     .run = reapNow},
};

}  // namespace

std::span<const Command> sessionInfoCommands() { return kSessionInfoCommands; }

}  // namespace troupe::commands
