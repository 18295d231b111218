// update and delete: many statements in one command.
#include <algorithm>
#include <functional>

#include "actors/commands/families.hpp"
#include "actors/commands/modify.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/retried_statements.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/project/projection.hpp"
#include "storage/sessions/retry_image.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kUpdateArguments[] = {
    arrayArg("updates"), flagArg("ordered"),     flagArg("bypassDocumentValidation"),
    documentArg("let"),  numberArg("maxTimeMS"), uuidArg("collectionUUID"),
};
constexpr Argument kUpdateStatement[] = {
    documentArg("q").required(),
    eitherArg("u", kDocumentArg | kArrayArg).required(),
    documentArg("c"),
    flagArg("multi"),
    flagArg("upsert"),
    arrayArg("arrayFilters"),
    documentArg("collation"),
    eitherArg("hint", kStringArg | kDocumentArg),
    flagArg("upsertSupplied"),
};
constexpr Argument kDeleteArguments[] = {
    arrayArg("deletes"), flagArg("ordered"), documentArg("let"), numberArg("maxTimeMS"), uuidArg("collectionUUID"),
};
constexpr Argument kDeleteStatement[] = {
    documentArg("q").required(),
    eitherArg("limit", kNumberArg | kBoolArg).required(),
    documentArg("collation"),
    eitherArg("hint", kStringArg | kDocumentArg),
};

bson::View documentIn(bson::View statement, std::string_view name) {
  const auto e = statement[name];
  return e.isObjectLike() ? e.asDocument() : bson::View();
}

Modification common(const Request& request, bson::View statement) {
  Modification m;
  m.filter = documentIn(statement, "q");
  m.collation = documentIn(statement, "collation");
  m.let = request.document("let");
  if (const auto hint = statement["hint"]; !hint.isNullish()) m.hint = hint;
  m.bypassValidation = request.flag("bypassDocumentValidation");
  return m;
}

StatusWith<Modification> updateStatement(const Request& request, bson::View statement) {
  TROUPE_TRY(checkFields("update.updates", kUpdateStatement, statement));
  Modification m = common(request, statement);
  m.update = statement["u"];
  m.arrayFilters = documentIn(statement, "arrayFilters");
  m.constants = documentIn(statement, "c");
  m.multi = statement["multi"].truthy();
  m.upsert = statement["upsert"].truthy();
  return m;
}

StatusWith<Modification> deleteStatement(const Request& request, bson::View statement) {
  TROUPE_TRY(checkFields("delete.deletes", kDeleteStatement, statement));
  const int64_t limit = statement["limit"].toInt64(-1);
  if (limit != 0 && limit != 1) {
    return Status(ErrorCode::kFailedToParse,
                  "The limit field in delete objects must be 0 or 1. Got " + std::to_string(limit));
  }
  Modification m = common(request, statement);
  m.multi = limit == 0;
  return m;
}

/// A write command whose statements are modifications.
struct StatementKind {
  std::string_view name;  ///< of the array
  StatusWith<Modification> (*parse)(const Request&, bson::View);
  bool removes;
  /// Whether a statement changes all matches, which is not retryable, and how it says so.
  bool (*isMulti)(bson::View);
  std::string_view multi;
};
constexpr StatementKind kUpdates{"updates", updateStatement, false,
                                 [](bson::View one) { return one["multi"].truthy(); }, "multi=true"};
constexpr StatementKind kDeletes{"deletes", deleteStatement, true,
                                 [](bson::View one) { return one["limit"].toInt64(-1) == 0; }, "limit=0"};
using Note = std::function<void(int32_t index, ModificationOutcome&)>;

/// Runs all statements in order, collecting failures as writeErrors; not those that an earlier attempt has executed.
Task<Status> runStatements(Request& request, StatementKind kind, Note note) {
  const auto statements = request.documents(kind.name);
  if (!statements.isOK()) co_return statements.status();
  TROUPE_CO_ASSIGN(const auto needed, actionsOfChange(request.body(), *statements));
  TROUPE_CO_ASSIGN(const auto ns, request.target(needed));
  TROUPE_CO_TRY(checkBatchSize(statements->size()));
  TROUPE_CO_TRY(checkStatementIds(request, statements->size()));
  const bool isNumbered = request.operation().session.txnNumber.has_value();
  const bool isMulti = isNumbered && std::ranges::any_of(*statements, kind.isMulti);
  TROUPE_CO_TRY(checkMayBeRetried(request, isMulti, kind.multi));
  const bool ordered = request.flag("ordered", true);
  WriteErrors errors;
  RetriedStatements retried(request);
  TimePoint lastYield = request.server().node.environment().now();
  for (size_t i = 0; i < statements->size(); ++i) {
    TROUPE_CO_TRY(co_await betweenStatements(request, lastYield));
    auto what = kind.parse(request, (*statements)[i]);
    if (!what.isOK()) co_return what.status();
    const auto position = static_cast<int32_t>(i);
    TROUPE_CO_ASSIGN(auto before, retried.outcomeOf(position, ns, kind.removes));
    if (before) {
      note(position, *before);
      continue;
    }
    request.operation().setStatements({&position, 1});
    auto outcome = co_await modify(request, ns, std::move(*what));
    request.operation().setStatements({});
    if (outcome.isOK()) {
      note(position, *outcome);
      continue;
    }
    if (endsCommand(outcome.status())) co_return outcome.status();
    errors.add({position, outcome.status()});
    if (ordered) break;
  }
  errors.appendTo(request);
  retried.appendTo(request.reply());
  co_return Status::OK();
}

Task<Status> update(Request& request) {
  int64_t matched = 0, modified = 0;
  std::vector<std::pair<int32_t, bson::Value>> upserted;
  const Note note = [&](int32_t index, ModificationOutcome& outcome) {
    matched += outcome.matched + (outcome.upsertedId ? 1 : 0);
    modified += outcome.modified;
    if (outcome.upsertedId) upserted.emplace_back(index, std::move(*outcome.upsertedId));
  };
  const Status status = co_await runStatements(request, kUpdates, note);
  ServerCounters& counters = request.server().counters;
  counters.update.fetch_add(1, std::memory_order_relaxed);
  counters.documentsUpdated.fetch_add(modified, std::memory_order_relaxed);
  request.operation().metrics.modified = modified;
  if (!status.isOK()) co_return status;
  bson::Builder& reply = request.reply();
  reply.append("n", static_cast<int32_t>(matched)).append("nModified", static_cast<int32_t>(modified));
  if (!upserted.empty()) {
    reply.openArray("upserted");
    for (const auto& [index, id] : upserted) reply.pushDocument().append("index", index).append("_id", id).close();
    reply.close();
  }
  co_return Status::OK();
}

Task<Status> remove(Request& request) {
  int64_t deleted = 0;
  const Note note = [&](int32_t, ModificationOutcome& outcome) { deleted += outcome.modified; };
  const Status status = co_await runStatements(request, kDeletes, note);
  ServerCounters& counters = request.server().counters;
  counters.remove.fetch_add(1, std::memory_order_relaxed);
  counters.documentsDeleted.fetch_add(deleted, std::memory_order_relaxed);
  request.operation().metrics.deleted = deleted;
  if (!status.isOK()) co_return status;
  request.reply().append("n", static_cast<int32_t>(deleted));
  co_return Status::OK();
}

constexpr Argument kFindAndModifyArguments[] = {
    documentArg("query"),     documentArg("sort"),       flagArg("remove"),
    anyArg("update"),  // checkFindAndModify
    flagArg("new"),           documentArg("fields"),     flagArg("upsert"), flagArg("bypassDocumentValidation"),
    documentArg("collation"), arrayArg("arrayFilters"),
    anyArg("hint"),  // checkHint
    documentArg("let"),       uuidArg("collectionUUID"),
};

Status checkFindAndModify(const Request& request) {
  TROUPE_TRY(checkHint(request, NullHint::kRefused));
  if (!request.fields()["stmtIds"].isNullish())
    return {ErrorCode::kUnknownField, "BSON field 'findAndModify.stmtIds' is an unknown field: it has one statement"};
  if (const auto update = request.arg("update"); update && !update.isObjectLike())
    return {ErrorCode::kFailedToParse, "findAndModify: 'update' must be a document or a pipeline, but is a " +
                                           std::string(bson::typeName(update.type()))};
  const bool remove = request.flag("remove");
  if (!remove && !request.arg("update"))
    return {ErrorCode::kFailedToParse, "Either an update or remove=true must be specified"};
  if (remove && request.arg("update"))
    return {ErrorCode::kFailedToParse, "Cannot specify both an update and remove=true"};
  if (remove && request.flag("upsert"))
    return {ErrorCode::kFailedToParse, "Cannot specify both upsert=true and remove=true "};
  if (remove && request.flag("new")) {
    return {ErrorCode::kFailedToParse,
            "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document"};
  }
  return Status::OK();
}

Modification findAndModifyStatement(const Request& request) {
  Modification m;
  m.filter = request.document("query");
  m.sort = request.document("sort");
  m.update = request.flag("remove") ? bson::Element() : request.arg("update");
  m.upsert = request.flag("upsert");
  m.arrayFilters = request.document("arrayFilters");
  m.collation = request.document("collation");
  m.let = request.document("let");
  m.hint = request.arg("hint");
  m.bypassValidation = request.flag("bypassDocumentValidation");
  m.fields = request.document("fields");
  m.keepAfter = request.flag("new");
  m.keepBefore = !m.keepAfter;
  return m;
}

/// What `fields` shows of a document that an earlier attempt has answered with.
Status projectAgain(Request& request, std::optional<bson::Document>& document) {
  const bson::View fields = request.document("fields");
  if (!document || fields.empty()) return Status::OK();
  QueryResources resources(request.server(), request.operation());
  TROUPE_TRY(prepareContext(resources, request, request.document("collation"), request.document("let")));
  TROUPE_ASSIGN(const auto filter, query::parseMatch(request.document("query"), resources.context));
  TROUPE_ASSIGN(const auto projection, query::parseProjection(fields, filter.get(), resources.context));
  TROUPE_ASSIGN(document, projection->apply({.document = *document}));
  return Status::OK();
}

std::optional<bson::Document>& wanted(const Request& request, ModificationOutcome& outcome) {
  return request.flag("new") ? outcome.after : outcome.before;
}

void answer(Request& request, ModificationOutcome& outcome, const RetriedStatements& retried) {
  bson::Builder& reply = request.reply();
  reply.openDocument("lastErrorObject")
      .append("n", static_cast<int32_t>(outcome.matched + (outcome.upsertedId ? 1 : 0)));
  if (!request.flag("remove")) reply.append("updatedExisting", outcome.matched > 0);
  if (outcome.upsertedId) reply.append("upserted", *outcome.upsertedId);
  reply.close();
  if (const auto& document = wanted(request, outcome)) reply.append("value", *document);
  else reply.append("value", bson::Null{});
  retried.appendOnlyTo(reply);
}

/// In a numbered session the document is kept, with the write, to be answered with again.
Task<StatusWith<ModificationOutcome>> modifyKeepingImage(Request& request, AuthorizedNamespace ns, Modification what) {
  storage::OperationContext& operation = request.operation();
  const bool wantsAfter = what.keepAfter && what.update.ok();
  if (operation.retryable)
    operation.retryImage = wantsAfter ? storage::RetryImage::kAfter : storage::RetryImage::kBefore;
  auto outcome = co_await modify(request, ns, what);
  operation.retryImage = storage::RetryImage::kNone;
  co_return outcome;
}

Task<Status> findAndModify(Request& request) {
  TROUPE_CO_ASSIGN(const auto needed, actionsOfChange(request.body(), {}));
  TROUPE_CO_ASSIGN(const auto ns, request.target(needed));
  if (Status status = checkFindAndModify(request); !status.isOK()) co_return status;
  TROUPE_CO_TRY(checkStatementIds(request, 1));
  RetriedStatements retried(request);
  const Modification what = findAndModifyStatement(request);
  TROUPE_CO_ASSIGN(auto before, retried.outcomeWithDocument(ns, what));
  if (before) {
    TROUPE_CO_TRY(projectAgain(request, wanted(request, *before)));
    answer(request, *before, retried);
    co_return Status::OK();
  }
  auto outcome = co_await modifyKeepingImage(request, ns, what);
  if (!outcome.isOK()) co_return outcome.status();
  ServerCounters& counters = request.server().counters;
  (request.flag("remove") ? counters.remove : counters.update).fetch_add(1, std::memory_order_relaxed);
  answer(request, *outcome, retried);
  co_return Status::OK();
}

constexpr Command kUpdateCommands[] = {
    {.name = "update",
     .summary = "changes documents that match filters",
     .requirement = {Requirement::Target::kCollection, auth::Action::kUpdate},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .retryable = true,
     .arguments = kUpdateArguments,
     .run = update},
    {.name = "delete",
     .summary = "removes documents that match filters",
     .requirement = {Requirement::Target::kCollection, auth::Action::kRemove},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .retryable = true,
     .arguments = kDeleteArguments,
     .run = remove},
    {.name = "findAndModify",
     .alias = "findandmodify",
     .summary = "changes or removes one document and answers with it",
     .requirement = {Requirement::Target::kCollection, auth::Action::kFind},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .retryable = true,
     .arguments = kFindAndModifyArguments,
     .run = findAndModify},
};

}  // namespace

std::span<const Command> updateCommands() { return kUpdateCommands; }

}  // namespace troupe::commands
