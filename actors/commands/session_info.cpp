// sessionInfo, refreshLogicalSessionCacheNow, reapLogicalSessionCacheNow: what operators see of sessions, and how they
// have the jobs of sessions done now. (SES-005, SES-008)
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "actors/commands/families.hpp"
#include "actors/commands/listed_rows.hpp"
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

/// The end of a page as clients get it, and give it back: {lsid: {id, uid}, use}.
bson::Document toDocument(const SessionCache::Mark& mark) {
  return bson::doc("lsid", mark.key.toDocument(), "use", mark.useNumber);
}

StatusWith<SessionCache::Mark> markIn(bson::View after) {
  const bson::Element lsid = after["lsid"], use = after["use"];
  if (!lsid.is(bson::Type::kDocument) || !use.is(bson::Type::kInt64))
    return Status(ErrorCode::kTypeMismatch, "'after' must be the 'next' of another page, {lsid, use}");
  TROUPE_ASSIGN(const SessionKey key, SessionKey::ofStored(lsid.asDocument()));
  return SessionCache::Mark{key, use.asInt64()};
}

/// A session that was used or has ended since it was the last of a page has lost its place in the order of use. The
/// next page is found by the number of its use then: no session comes twice, since each use gives a higher one.
Task<StatusWith<SessionCache::Page>> pageOf(Request& request, std::optional<SessionCache::Mark> after, size_t most) {
  SessionCache& sessions = request.server().sessions;
  if (auto page = sessions.recent(after, most)) co_return std::move(*page);
  SessionCache::Page page;
  for (SessionCache::Place place; !place.atEnd;) {
    sessions.addOlder(place, after->useNumber, most, page.rows);
    TROUPE_CO_TRY(co_await request.yield());
  }
  std::ranges::sort(page.rows, std::greater(), &SessionCache::Row::useNumber);
  if (page.rows.size() == most) page.next = {page.rows.back().key, page.rows.back().useNumber};
  co_return page;
}

/// A page of the node's sessions, the one used last first: `limit` of them, behind the `next` of the page before.
Task<Status> sessionInfo(Request& request) {
  const int64_t limit = request.number("limit", kUsualRows);
  if (limit < 1 || limit > kMostRows)
    co_return Status(ErrorCode::kBadValue,
                     "'limit' must be from 1 to 1000: read more in pages, each behind the 'next' "
                     "of the one before");
  std::optional<SessionCache::Mark> after;
  if (request.arg("after")) {
    TROUPE_CO_ASSIGN(after, markIn(request.document("after")));
  }
  ServerContext& server = request.server();
  ListedRows rows(request.operation().memory());
  TROUPE_CO_TRY(rows.reserve(limit * kRowBytes));
  TROUPE_CO_ASSIGN(const SessionCache::Page page, co_await pageOf(request, after, static_cast<size_t>(limit)));
  for (bson::Document& row : sessionRows(server, page.rows)) TROUPE_CO_TRY(rows.add(std::move(row)));
  bson::Builder& reply = request.reply();
  reply.append("total", static_cast<int64_t>(server.sessions.size())).openArray("sessions");
  while (const auto row = rows.next()) reply.push(*row);
  reply.close();
  if (page.next) reply.append("next", toDocument(*page.next));
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
