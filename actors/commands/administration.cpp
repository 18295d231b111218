// shutdown, logRotate, currentOp, killOp, actorTree.
#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/inspection.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/set_members.hpp"
#include "actors/commands/write_support.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kShutdownArguments[] = {flagArg("force"), numberArg("timeoutSecs")};

Task<Status> shutdown(Request& request) {
  request.dropReply = true;  // as drivers expect, the connection just ends
  request.client().closing = true;
  request.server().requestShutdown();
  co_return Status::OK();
}

Task<Status> currentOp(Request& request) {
  ServerContext& server = request.server();
  const bool idle = request.flag("$all");
  bson::Builder own;  // everything but the command's own options filters the rows
  bool first = true;
  for (const bson::Element& e : request.body()) {
    const bool skip = first || e.name() == "$all" || e.name() == "$ownOps" || e.name() == "$truncateOps" ||
                      e.name() == "$db" || e.name() == "lsid" || e.name() == "$readPreference" ||
                      e.name() == "comment" || e.name() == "maxTimeMS" || e.name() == "$clusterTime" ||
                      e.name() == "apiVersion";
    first = false;
    if (!skip) own.append(e);
  }
  const bson::Document filterDocument = own.finish();
  QueryResources resources(server, request.operation());
  TROUPE_CO_TRY(prepareContext(resources, request, {}, {}));
  TROUPE_CO_ASSIGN(const auto filter, query::parseMatch(filterDocument, resources.context));
  const query::RowFilter wanted(filter.get());
  ListedRows rows(request.operation().memory());
  OperationQuery query{.idleConnections = idle, .idleCursors = idle};
  if (request.flag("$ownOps")) query.narrowTo(request);
  TROUPE_CO_TRY(currentOperations(server, query, rows));
  bson::Builder shown;
  while (const auto row = rows.next()) {
    TROUPE_CO_ASSIGN(const bool passes, wanted.passes(*row, &resources));
    if (passes) shown.push(*row);
  }
  request.reply().append("inprog", shown.finishArray());
  if (server.fsyncLock.count() > 0)
    request.reply().append("fsyncLock", true).append("info", "use fsyncUnlock to let writes go on");
  co_return Status::OK();
}

Task<Status> logRotate(Request& request) {
  const auto which = request.body().first();
  if (which.is(bson::Type::kString) && which.asString() != "server")
    co_return Status(ErrorCode::kNoSuchKey, "there is no log '" + std::string(which.asString()) + "': only 'server'");
  co_return request.server().log.rotate().status();
}

constexpr Argument kKillOpArguments[] = {eitherArg("op", kNumberArg | kStringArg).required()};

Task<Status> killOp(Request& request) {
  const auto op = request.arg("op");
  if (!op.isNumber())
    co_return Status(ErrorCode::kTypeMismatch, "'op' must be the number that currentOp shows as opid");
  request.server().clients.killOperation(op.toInt64(), ErrorCode::kInterrupted);
  request.reply().append("info", "attempting to kill op");
  co_return Status::OK();
}

constexpr Argument kActorTreeArguments[] = {documentArg("filter"), flagArg("members"), documentArg("cursor")};

/// With `members`, the rows of this node come first.
Task<Status> actorTree(Request& request) {
  ListedRows rows(request.operation().memory());
  TROUPE_CO_TRY(rows.reserve(actorRowBytes(request.server())));
  for (bson::Document& row : request.server().actorRows(request.document("filter")))
    TROUPE_CO_TRY(rows.add(std::move(row)));
  if (request.flag("members")) {
    bson::Document question = bson::doc("actorTree", 1, "filter", request.document("filter"));
    TROUPE_CO_TRY((co_await addRowsOfOthers(request, std::move(question), rows)).status());
  }
  co_return co_await replyWithRows(request, "admin.$cmd.actorTree", std::move(rows),
                                   request.document("cursor")["batchSize"]);
}

constexpr Command kAdministrationCommands[] = {
    {.name = "shutdown",
     .summary = "stops the server in order",
     .requirement = {Requirement::Target::kCluster, auth::Action::kShutdown},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kShutdownArguments,
     .run = shutdown},
    {.name = "logRotate",
     .summary = "gives the log file a name with the time, and begins a new one",
     .requirement = {Requirement::Target::kCluster, auth::Action::kLogRotate},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = logRotate},
    {.name = "currentOp",
     .summary = "the operations that run now",
     .requirement = {Requirement::Target::kCluster, auth::Action::kInprog},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = currentOp},
    {.name = "killOp",
     .summary = "ends a running operation",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillop},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kKillOpArguments,
     .run = killOp},
    {.name = "actorTree",
     .summary = "the rows of the live actor tree, or of those of all members of the set",
     .requirement = {Requirement::Target::kCluster, auth::Action::kViewActors},
     .adminOnly = true,
     .arguments = kActorTreeArguments,
     .run = actorTree},
};

}  // namespace

std::span<const Command> administrationCommands() { return kAdministrationCommands; }

}  // namespace troupe::commands
