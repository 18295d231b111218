// explain: how a query would run, or ran, in three verbosities.
#include "actors/commands/families.hpp"
#include "actors/commands/prepared_aggregation.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/version.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

using query::ExplainVerbosity;

constexpr Argument kExplainArguments[] = {stringArg("verbosity")};

void appendServerInfo(Request& request, bson::View command) {
  const auto& identity = request.server().identity;
  bson::Builder& reply = request.reply();
  reply.append("command", command);
  reply.append("serverInfo",
               bson::doc("host", identity.host.substr(0, identity.host.rfind(':')), "port",
                         static_cast<int32_t>(identity.port), "version", kServerVersion, "gitVersion", ""));
}

StatusWith<ExplainVerbosity> verbosityOf(const Request& request) {
  const auto name = request.text("verbosity", "allPlansExecution");
  if (name == "queryPlanner") return ExplainVerbosity::kQueryPlanner;
  if (name == "executionStats") return ExplainVerbosity::kExecutionStats;
  if (name == "allPlansExecution") return ExplainVerbosity::kAllPlansExecution;
  return Status(ErrorCode::kFailedToParse,
                "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}");
}

Task<Status> runToEnd(Request& request, ResultStream& stream) {
  TimePoint lastYield = request.operation().started();
  for (int n = 1;; ++n) {
    TROUPE_CO_ASSIGN(const auto next, stream.next());
    if (next.isEnd()) co_return Status::OK();
    if (next.isDocument() && (n & 63) != 0) continue;
    TROUPE_CO_TRY(co_await letOthersRun(request, stream, lastYield));
  }
}

/// A find-shaped request from the command that is explained.
query::FindRequest requestOf(bson::View command, std::string_view filterName) {
  const auto doc = [&](std::string_view name) {
    const auto e = command[name];
    return e.isObjectLike() ? e.asDocument() : bson::View();
  };
  query::FindRequest find;
  find.filter = doc(filterName);
  find.projection = doc(filterName == "filter" ? "projection" : "");
  find.sort = doc("sort");
  find.skip = command["skip"].toInt64();
  if (const int64_t limit = command["limit"].toInt64(); limit > 0 && filterName != "q") find.limit = limit;
  if (const auto hint = command["hint"]; !hint.isNullish()) find.hint = hint;
  return find;
}

Task<Status> explainQuery(Request& request, AuthorizedNamespace ns, bson::View command, query::FindRequest find,
                          ExplainVerbosity verbosity) {
  ServerContext& server = request.server();
  auto resources = std::make_shared<QueryResources>(server, request.operation());
  TROUPE_CO_TRY(resources->open(request, ns));
  const auto collation = command["collation"];
  const auto let = command["let"];
  TROUPE_CO_TRY(prepareContext(*resources, request, collation.isObjectLike() ? collation.asDocument() : bson::View(),
                               let.isObjectLike() ? let.asDocument() : bson::View()));
  TROUPE_CO_ASSIGN(auto opened, query::openFind(resources->collection, find, resources->unit(), resources->context));
  query::Executor* executor = opened.get();
  const auto stream = streamOf(resources, std::move(opened));
  request.reply().append("explainVersion", "1").openDocument("queryPlanner");
  executor->explainPlanner(request.reply());
  request.reply().close();
  if (verbosity != ExplainVerbosity::kQueryPlanner) {
    TROUPE_CO_TRY(co_await runToEnd(request, *stream));
    request.reply().openDocument("executionStats");
    executor->explainExecution(request.reply());
    if (verbosity == ExplainVerbosity::kAllPlansExecution) request.reply().openArray("allPlansExecution").close();
    request.reply().close();
  }
  appendServerInfo(request, command);
  request.reply().append("serverParameters", bson::Document());
  co_return Status::OK();
}

bson::View firstStatement(bson::View command, std::string_view list) {
  const auto e = command[list];
  return e.is(bson::Type::kArray) && e.asArray().first().is(bson::Type::kDocument) ? e.asArray().first().asDocument()
                                                                                   : bson::View();
}

/// The actions that the explained command needs. An explanation of a write reads the documents it would write.
StatusWith<auth::ActionSet> actionsOf(bson::View command) {
  using enum auth::Action;
  const auto name = command.first().name();
  if (name == "find" || name == "count" || name == "distinct") return auth::actions({kFind});
  if (name == "update") return auth::actions({kFind, kUpdate});
  if (name == "delete") return auth::actions({kFind, kRemove});
  if (name == "findAndModify" || name == "findandmodify")
    return auth::actions({kFind, command["remove"].truthy() ? kRemove : kUpdate});
  return Status(ErrorCode::kCommandNotFound, "Explain failed due to unknown command: " + std::string(name));
}

StatusWith<AuthorizedNamespace> explainedInput(Request& request, bson::View command) {
  const bson::Element first = command.first();
  return resolveInput(request, storage::Namespace(request.db(), first.toStringOr()), command);
}

Task<Status> explain(Request& request) {
  const bson::Element what = request.body().first();
  if (!what.is(bson::Type::kDocument))
    co_return Status(ErrorCode::kTypeMismatch, "explain command requires a nested object");
  TROUPE_CO_ASSIGN(const auto verbosity, verbosityOf(request));
  const bson::View command = what.asDocument();
  const bson::Element first = command.first();
  const auto name = first.name();
  if (name == "aggregate") {
    TROUPE_CO_ASSIGN(auto input, explainedInput(request, command));
    co_return co_await explainAggregate(request, std::move(input), command, verbosity);
  }
  TROUPE_CO_ASSIGN(const auto needed, actionsOf(command));
  storage::Namespace named(request.db(), first.toStringOr());
  TROUPE_CO_TRY(storage::validateNamespace(named));
  TROUPE_CO_ASSIGN(const auto ns, NamespaceResolution::resolve(request, std::move(named), needed));
  const auto collection = request.server().catalog.find(ns);
  if (collection && collection->isView()) {
    bson::Builder aggregate;
    aggregate.append("aggregate", ns.collection())
        .appendArray("pipeline", findAsPipeline(command))
        .append("cursor", bson::Document());
    const bson::Document onView = aggregate.finish();
    co_return co_await explainAggregate(request, ns, onView, verbosity);
  }
  if (name == "find") co_return co_await explainQuery(request, ns, command, requestOf(command, "filter"), verbosity);
  if (name == "count" || name == "distinct" || name == "findAndModify" || name == "findandmodify") {
    co_return co_await explainQuery(request, ns, command, requestOf(command, "query"), verbosity);
  }
  const bson::View statement = firstStatement(command, name == "update" ? "updates" : "deletes");
  co_return co_await explainQuery(request, ns, statement, requestOf(statement, "q"), verbosity);
}

constexpr Command kExplainCommands[] = {
    {.name = "explain",
     .summary = "how a find, aggregate, count, distinct, update, delete or findAndModify runs",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kRead,
     .stableApi = true,
     .readConcerns = ReadConcerns::kAll,
     .arguments = kExplainArguments,
     .run = explain},
};

}  // namespace

Task<Status> explainAggregate(Request& request, AuthorizedNamespace ns, bson::View command,
                              ExplainVerbosity verbosity) {
  TROUPE_CO_ASSIGN(auto prepared, prepareAggregation(request, ns, command));
  if (prepared.pipeline->writes() && verbosity != ExplainVerbosity::kQueryPlanner) {
    co_return Status(ErrorCode(51029), "explain of a pipeline that writes needs the verbosity 'queryPlanner'");
  }
  bson::Builder& reply = request.reply();
  reply.append("explainVersion", "1");
  if (verbosity != ExplainVerbosity::kQueryPlanner) {
    TROUPE_CO_TRY(co_await runToEnd(request, *prepared.stream));
  }
  reply.openArray("stages");
  if (prepared.executor) {
    reply.pushDocument().openDocument("$cursor").openDocument("queryPlanner");
    prepared.executor->explainPlanner(reply);
    reply.close();
    if (verbosity != ExplainVerbosity::kQueryPlanner) {
      reply.openDocument("executionStats");
      prepared.executor->explainExecution(reply);
      reply.close();
    }
    reply.close().close();
  }
  bson::Builder stages;
  prepared.pipeline->serialize("stages", stages);
  const bson::Document serialized = stages.finish();
  for (const bson::Element& stage : serialized["stages"].asArray()) reply.push(stage);
  reply.close();
  appendServerInfo(request, command);
  co_return Status::OK();
}

std::span<const Command> explainCommands() { return kExplainCommands; }

}  // namespace troupe::commands
