// explain: how a query would run, or ran, in three verbosities.
#include "actors/commands/families.hpp"
#include "actors/commands/prepared_aggregation.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/version.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/shape/query_shape.hpp"
#include "storage/query/update/update.hpp"

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
  reply.append("serverParameters", bson::Document());
}

StatusWith<ExplainVerbosity> verbosityOf(const Request& request) {
  const auto name = request.text("verbosity", "allPlansExecution");
  if (name == "queryPlanner") return ExplainVerbosity::kQueryPlanner;
  if (name == "executionStats") return ExplainVerbosity::kExecutionStats;
  if (name == "allPlansExecution") return ExplainVerbosity::kAllPlansExecution;
  return Status(ErrorCode::kFailedToParse,
                "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}");
}

/// What an explained update or delete would do with the documents it finds.
struct ExplainedWrite {
  std::string_view stage = {};  ///< "UPDATE", "DELETE"; empty: the command only reads
  bson::View statement = {};
  bool multi = false;
  bool upsert = false;
  std::unique_ptr<query::Update> update = {};
  int64_t matched = 0;
  int64_t modified = 0;

  bool writes() const { return !stage.empty(); }
  Status note(const query::Executor& executor, bson::View document) {
    ++matched;
    if (!update) return Status::OK();
    query::UpdateInput input;
    input.document = document;
    if (update->needsMatchedIndex()) {
      TROUPE_ASSIGN(input.matchedIndex, executor.matchedArrayIndex());
    }
    TROUPE_ASSIGN(const auto result, update->apply(input));
    if (!result.noop) ++modified;
    return Status::OK();
  }
};

/// `write`, of a plan's results: what it would do with each; null: nothing.
Task<Status> runToEnd(Request& request, ResultStream& stream, const query::Executor* executor = nullptr,
                      ExplainedWrite* write = nullptr) {
  TimePoint lastYield = request.operation().started();
  for (int n = 1;; ++n) {
    TROUPE_CO_ASSIGN(const auto next, stream.next());
    if (next.isEnd()) co_return Status::OK();
    if (write && next.isDocument()) {
      TROUPE_CO_TRY(write->note(*executor, next.document));
      if (!write->multi) co_return Status::OK();
    }
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

/// The statement that is explained: an update or delete by itself, or findAndModify.
ExplainedWrite updateOf(bson::View statement, bool upsert, bool multi) {
  return {.stage = "UPDATE", .statement = statement, .multi = multi, .upsert = upsert};
}
ExplainedWrite deleteOf(bson::View statement, bool multi) {
  return {.stage = "DELETE", .statement = statement, .multi = multi};
}

Status prepareUpdate(ExplainedWrite& write, const query::ParseContext& context) {
  if (write.stage != "UPDATE") return Status::OK();
  const bson::Element u = write.statement.has("u") ? write.statement["u"] : write.statement["update"];
  if (!u.isObjectLike()) return {ErrorCode::kFailedToParse, "an update needs a document or a pipeline"};
  const auto part = [&](std::string_view name) {
    const auto e = write.statement[name];
    return e.isObjectLike() ? e.asDocument() : bson::View();
  };
  TROUPE_ASSIGN(write.update, query::parseUpdate(u, part("arrayFilters"), context, part("c")));
  return Status::OK();
}

/// The plan's own explanation, below the stage that writes.
void appendPlanner(bson::Builder& reply, const query::Executor& executor, const ExplainedWrite& write) {
  reply.openDocument("queryPlanner");
  if (!write.writes()) {
    executor.explainPlanner(reply);
    reply.close();
    return;
  }
  bson::Builder read;
  executor.explainPlanner(read);
  const bson::Document planner = read.finish();
  for (const bson::Element& e : planner.view()) {
    if (e.name() != "winningPlan") reply.append(e);
    else reply.openDocument("winningPlan").append("stage", write.stage).append("inputStage", e.asDocument()).close();
  }
  reply.close();
}

void appendWriteStage(bson::Builder& reply, const ExplainedWrite& write, const bson::Element& input) {
  reply.openDocument("executionStages").append("stage", write.stage).append("nReturned", 0);
  reply.append("works", static_cast<int32_t>(write.matched + 1)).append("advanced", 0);
  reply.append("needTime", static_cast<int32_t>(write.matched)).append("needYield", 0).append("isEOF", 1);
  if (write.update) {
    const bool inserts = write.upsert && write.matched == 0;
    reply.append("nMatched", static_cast<int32_t>(write.matched));
    reply.append("nWouldModify", static_cast<int32_t>(write.modified));
    reply.append("nWouldUpsert", inserts ? 1 : 0);
  } else {
    reply.append("nWouldDelete", static_cast<int32_t>(write.matched));
  }
  reply.append("inputStage", input.asDocument()).close();
}

void appendExecution(bson::Builder& reply, const query::Executor& executor, const ExplainedWrite& write) {
  if (!write.writes()) {
    executor.explainExecution(reply);
    return;
  }
  bson::Builder read;
  executor.explainExecution(read);
  const bson::Document execution = read.finish();
  for (const bson::Element& e : execution.view()) {
    if (e.name() == "nReturned") reply.append("nReturned", 0);
    else if (e.name() == "executionStages") appendWriteStage(reply, write, e);
    else reply.append(e);
  }
}

using Shaped = query::ShapedField::Kind;
const std::vector<query::ShapedField> kFindShape = {
    {"filter", Shaped::kFilter},       {"sort", Shaped::kVerbatim},        {"projection", Shaped::kProjection},
    {"hint", Shaped::kVerbatim},       {"collation", Shaped::kVerbatim},   {"let", Shaped::kExpression},
    {"skip", Shaped::kExpression},     {"limit", Shaped::kExpression},     {"singleBatch", Shaped::kExpression},
    {"min", Shaped::kExpression},      {"max", Shaped::kExpression},       {"returnKey", Shaped::kExpression},
    {"tailable", Shaped::kExpression}, {"awaitData", Shaped::kExpression}, {"showRecordId", Shaped::kExpression},
};
const std::vector<query::ShapedField> kDistinctShape = {
    {"key", Shaped::kVerbatim},
    {"query", Shaped::kFilter},
    {"hint", Shaped::kVerbatim},
    {"collation", Shaped::kVerbatim},
};
const std::vector<query::ShapedField> kAggregateShape = {
    {"pipeline", Shaped::kPipeline},
    {"hint", Shaped::kVerbatim},
    {"collation", Shaped::kVerbatim},
    {"let", Shaped::kExpression},
};

/// `queryShapeHash`, of the commands that have one.
Status appendShapeHash(Request& request, std::string_view ns, bson::View command, const query::ParseContext& context) {
  const std::string_view name = command.first().name();
  const auto* shaped = name == "find"        ? &kFindShape
                       : name == "distinct"  ? &kDistinctShape
                       : name == "aggregate" ? &kAggregateShape
                                             : nullptr;
  if (!shaped) return Status::OK();
  TROUPE_ASSIGN(const std::string hash, query::queryShapeHash(name, ns, command, *shaped, context));
  request.reply().append("queryShapeHash", hash);
  return Status::OK();
}

Task<Status> explainQuery(Request& request, AuthorizedNamespace ns, bson::View command, query::FindRequest find,
                          ExplainVerbosity verbosity, ExplainedWrite write = {}) {
  ServerContext& server = request.server();
  auto resources = std::make_shared<QueryResources>(server, request.operation());
  TROUPE_CO_TRY(resources->open(request, ns));
  const auto collation = command["collation"];
  const auto let = command["let"];
  TROUPE_CO_TRY(prepareContext(*resources, request, collation.isObjectLike() ? collation.asDocument() : bson::View(),
                               let.isObjectLike() ? let.asDocument() : bson::View()));
  TROUPE_CO_TRY(prepareUpdate(write, resources->context));
  TROUPE_CO_ASSIGN(auto opened, query::openFind(resources->collection, find, resources->unit(), resources->context));
  query::Executor* executor = opened.get();
  const auto stream = streamOf(resources, std::move(opened));
  request.reply().append("explainVersion", "1");
  appendPlanner(request.reply(), *executor, write);
  TROUPE_CO_TRY(request.accountForMessages());
  if (verbosity != ExplainVerbosity::kQueryPlanner) {
    TROUPE_CO_TRY(co_await runToEnd(request, *stream, executor, write.writes() ? &write : nullptr));
    request.reply().openDocument("executionStats");
    appendExecution(request.reply(), *executor, write);
    TROUPE_CO_TRY(request.accountForMessages());
    if (verbosity == ExplainVerbosity::kAllPlansExecution) request.reply().openArray("allPlansExecution").close();
    request.reply().close();
  }
  TROUPE_CO_TRY(appendShapeHash(request, ns.toString(), command, resources->context));
  appendServerInfo(request, command);
  co_return Status::OK();
}

bson::View firstStatement(bson::View command, std::string_view list) {
  const auto e = command[list];
  return e.is(bson::Type::kArray) && e.asArray().first().is(bson::Type::kDocument) ? e.asArray().first().asDocument()
                                                                                   : bson::View();
}

/// The actions that the explained command needs. An explanation of a write reads the documents it would write.
StatusWith<auth::ActionSet> actionsOf(bson::View command) {
  const auto name = command.first().name();
  auth::ActionSet needed = auth::actions({auth::Action::kFind});
  if (name == "find" || name == "count" || name == "distinct") return needed;
  std::vector<bson::View> statements;
  if (const auto list = command["updates"]; list.is(bson::Type::kArray))
    for (const bson::Element& one : list.asArray())
      if (one.is(bson::Type::kDocument)) statements.push_back(one.asDocument());
  const auto change = actionsOfChange(command, statements);
  if (!change.isOK())
    return Status(ErrorCode::kCommandNotFound, "Explain failed due to unknown command: " + std::string(name));
  return needed |= *change;
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
  if (name == "count" || name == "distinct")
    co_return co_await explainQuery(request, ns, command, requestOf(command, "query"), verbosity);
  if (name == "findAndModify" || name == "findandmodify") {
    ExplainedWrite one = deleteOf(command, false);
    if (!command["remove"].truthy()) one = updateOf(command, command["upsert"].truthy(), false);
    co_return co_await explainQuery(request, ns, command, requestOf(command, "query"), verbosity, std::move(one));
  }
  const bool updates = name == "update";
  const bson::View statement = firstStatement(command, updates ? "updates" : "deletes");
  ExplainedWrite write = deleteOf(statement, statement["limit"].toInt64() == 0);
  if (updates) write = updateOf(statement, statement["upsert"].truthy(), statement["multi"].truthy());
  co_return co_await explainQuery(request, ns, statement, requestOf(statement, "q"), verbosity, std::move(write));
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
  bson::Builder stages;
  prepared.pipeline->serialize("stages", stages);
  const bson::Document serialized = stages.finish();
  const bson::View rest = serialized["stages"].asArray();
  const bool isPlanAlone = prepared.executor && rest.empty();  // nothing is left that is more than a find
  if (!isPlanAlone) reply.openArray("stages");
  if (prepared.executor) {
    if (!isPlanAlone) reply.pushDocument().openDocument("$cursor");
    reply.openDocument("queryPlanner");
    prepared.executor->explainPlanner(reply);
    reply.close();
    TROUPE_CO_TRY(request.accountForMessages());
    if (verbosity != ExplainVerbosity::kQueryPlanner) {
      reply.openDocument("executionStats");
      prepared.executor->explainExecution(reply);
      reply.close();
    }
    if (!isPlanAlone) reply.close().close();
  }
  if (!isPlanAlone) {
    for (const bson::Element& stage : rest) reply.push(stage);
    reply.close();
  }
  TROUPE_CO_TRY(appendShapeHash(request, ns.toString(), command, prepared.resources->context));
  appendServerInfo(request, command);
  co_return Status::OK();
}

std::span<const Command> explainCommands() { return kExplainCommands; }

}  // namespace troupe::commands
