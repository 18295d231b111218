// find, getMore, killCursors: queries and their cursors.
#include "actors/commands/cursor_batches.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/prepared_aggregation.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/resume_token.hpp"
#include "actors/commands/tailing.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/operation_setup.hpp"
#include "actors/server/role_check.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/plan/id_lookup.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr int64_t kDefaultFirstBatch = 101;

constexpr Argument kFindArguments[] = {
    documentArg("filter"),
    documentArg("sort"),
    documentArg("projection"),
    eitherArg("hint", kStringArg | kDocumentArg),
    numberArg("skip"),
    numberArg("limit"),
    numberArg("batchSize"),
    flagArg("singleBatch"),
    documentArg("max").outsideStableApi(),
    documentArg("min").outsideStableApi(),
    flagArg("returnKey").outsideStableApi(),
    flagArg("showRecordId").outsideStableApi(),
    flagArg("tailable").outsideStableApi(),
    flagArg("awaitData").outsideStableApi(),
    flagArg("oplogReplay").outsideStableApi(),
    flagArg("$_requestResumeToken").outsideStableApi(),
    documentArg("$_resumeAfter").outsideStableApi(),
    documentArg("$_startAt").outsideStableApi(),
    flagArg("noCursorTimeout").outsideStableApi(),
    flagArg("allowPartialResults"),
    documentArg("collation"),
    flagArg("allowDiskUse"),
    documentArg("let"),
    numberArg("ntoreturn"),
    uuidArg("collectionUUID"),
};

Status checkNotNegative(const Request& request, std::string_view name) {
  const auto e = request.arg(name);
  if (!e || e.toInt64() >= 0) return Status::OK();
  return {ErrorCode::kBadValue, "BSON field '" + std::string(name) + "' value must be >= 0, actual value '" +
                                    std::to_string(e.toInt64()) + "'"};
}

/// A field of the request's body, out of a copy of it.
bson::Element fieldOf(const Request& request, bson::View command, std::string_view name) {
  return request.fields().mayHave(name) ? command[name] : bson::Element();
}

query::FindRequest findRequest(const Request& request, bson::View command) {
  const auto field = [&](std::string_view name) { return fieldOf(request, command, name); };
  const auto doc = [&](std::string_view name) {
    const auto e = field(name);
    return e.isObjectLike() ? e.asDocument() : bson::View();
  };
  query::FindRequest find;
  find.filter = doc("filter");
  find.projection = doc("projection");
  find.sort = doc("sort");
  find.min = doc("min");
  find.max = doc("max");
  if (const auto hint = field("hint"); !hint.isNullish()) find.hint = hint;
  find.skip = field("skip").toInt64();
  if (const int64_t limit = field("limit").toInt64(); limit > 0) find.limit = limit;
  find.returnKey = field("returnKey").truthy();
  find.showRecordId = field("showRecordId").truthy();
  const auto disk = field("allowDiskUse");
  find.allowDiskUse = disk.isNullish() || disk.truthy();
  find.forbidCollectionScan = request.server().parameters.notablescan;
  if (!find.sort.empty()) find.spill = query::spillToDirectory(request.server().spillDirectory);
  return find;
}

Status checkFind(const Request& request) {
  if (request.body().first().toStringOr().starts_with('$'))
    return {ErrorCode::kInvalidNamespace, "the name of a collection may not begin with '$'"};
  if (const auto filter = request.fields()["filter"]; filter.ok() && filter.isNullish())
    return {ErrorCode::kTypeMismatch, "BSON field 'find.filter' is the wrong type 'null', expected type 'object'"};
  TROUPE_TRY(checkNotNegative(request, "skip"));
  TROUPE_TRY(checkNotNegative(request, "limit"));
  TROUPE_TRY(checkNotNegative(request, "batchSize"));
  if (request.arg("ntoreturn"))
    return {ErrorCode::kBadValue, "'ntoreturn' is not supported: use 'limit' or 'batchSize'"};
  return Status::OK();
}

/// Whether one batch is the whole answer, so that no cursor stays open.
bool answeredAtOnce(const Request& request) {
  if (request.flag("singleBatch")) return true;
  if (request.flag("tailable")) return false;
  const auto batchSize = request.arg("batchSize");
  return request.number("limit") == 1 && !(batchSize && batchSize.toInt64() == 0);
}

/// Arguments of a find besides its filter.
constexpr std::string_view kMoreThanFilter[] = {"sort", "projection", "hint",         "skip",      "min",
                                                "max",  "returnKey",  "showRecordId", "collation", "let"};

/// The `_id` a find asks for, if it asks for nothing else: no order, no shape, no cursor that could stay open. Else
/// absent.
bson::Element wantedId(const Request& request, const storage::Collection& collection, int64_t documents) {
  if (request.fields().hasAny<kMoreThanFilter>()) return {};
  if (documents < (answeredAtOnce(request) ? 1 : 2)) return {};
  const bson::View filter = request.document("filter");
  const bson::Element id = filter.first();
  const bool alone = id.name() == "_id" && filter.size() == id.size() + 5;
  return alone && query::isIdLookup(id, collection, collection.collator()) ? id : bson::Element();
}

/// Bytes of a reply around its only document: names of fields, the namespace, `ok`.
constexpr size_t kAroundDocument = 192;

/// Answers a find of one document by its `_id`: the same as the plan IDHACK, without plan, cursor, and what they
/// allocate.
Status answerWithDocument(Request& request, const AuthorizedNamespace& ns, const storage::Collection& collection,
                          const bson::Element& id) {
  ServerContext& server = request.server();
  TROUPE_ASSIGN(const auto match, query::matchById(collection, request.operation().recoveryUnit(), id));
  bson::Builder& reply = request.reply();
  if (match.record) reply.reserve(reply.size() + match.document().size() + kAroundDocument);
  reply.openDocument("cursor").openArray("firstBatch");
  if (match.record) reply.push(match.document());
  reply.close();
  endCursor(request, 0, ns.toString());
  storage::OperationMetrics& metrics = request.operation().metrics;
  metrics.planSummary = "IDHACK";
  metrics.keysExamined = match.keyFound;
  metrics.docsExamined = metrics.returned = static_cast<bool>(match.record);
  request.cursorExhausted = true;
  server.counters.documentsReturned.fetch_add(metrics.returned, std::memory_order_relaxed);
  server.counters.keysExamined.fetch_add(metrics.keysExamined, std::memory_order_relaxed);
  server.counters.documentsExamined.fetch_add(metrics.docsExamined, std::memory_order_relaxed);
  return Status::OK();
}

Task<Status> find(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  if (Status status = checkFind(request); !status.isOK()) co_return status;
  ServerContext& server = request.server();
  server.counters.query.fetch_add(1, std::memory_order_relaxed);

  TROUPE_CO_ASSIGN(const CatalogReader catalog, openCatalogView(request));
  TROUPE_CO_ASSIGN(auto collection, catalog.find(ns));
  TROUPE_CO_ASSIGN(const bool givesTokens, wantsResumeToken(request));
  if (collection && collection->isView()) co_return co_await findOnView(request, ns);
  const auto tailable = wantsTailable(request, collection.get());
  if (!tailable.isOK()) co_return tailable.status();
  const auto batchSize = request.arg("batchSize");
  const int64_t documents = batchSize ? batchSize.toInt64() : kDefaultFirstBatch;
  if (collection && !*tailable) {
    if (const auto id = wantedId(request, *collection, documents))
      co_return answerWithDocument(request, ns, *collection, id);
  }
  auto resources = std::make_shared<QueryResources>(server, request.operation());
  resources->collection = std::move(collection);
  // A query that is answered in one batch borrows the request's own bytes; a cursor outlives them.
  const bool isSingle = answeredAtOnce(request), atOnce = isSingle && !givesTokens;
  if (!atOnce) TROUPE_CO_TRY(resources->keep(request.body()));
  const bson::View command = atOnce ? request.body() : resources->command.view();
  const auto collation = fieldOf(request, command, "collation");
  const auto let = fieldOf(request, command, "let");
  if (Status status =
          prepareContext(*resources, request, collation.isObjectLike() ? collation.asDocument() : bson::View(),
                         let.isObjectLike() ? let.asDocument() : bson::View());
      !status.isOK()) {
    co_return status;
  }
  query::FindRequest wanted = findRequest(request, command);
  wanted.tailable = *tailable;
  if (wanted.tailable && wanted.hint.isObjectLike() && isNaturalOrder(wanted.hint.asDocument()))
    wanted.hint = {};  // whatever it says, documents come as they are added
  if (givesTokens && resources->collection) TROUPE_CO_TRY(beginAtToken(request, *resources->collection, wanted));
  auto executor = query::openFind(resources->collection, wanted, resources->unit(), resources->context);
  if (!executor.isOK()) co_return executor.status();
  if (atOnce) {
    co_return co_await replyWithOnlyBatch(request, ns.toString(), streamOf(resources, std::move(*executor)), documents);
  }
  auto cursor = newCursor(request, ns.toString(), streamOf(resources, std::move(*executor)));
  cursor->noTimeout = request.flag("noCursorTimeout");
  cursor->limit = wanted.limit;
  if (*tailable && resources->collection)
    cursor->tail = Tail{newsFor(request, *resources->collection), request.flag("awaitData"), {}, {}, {}};
  if (givesTokens && resources->collection && !resources->collection->isClustered())
    cursor->position = ScanPosition{resources->collection->ident(), {}};
  co_return co_await replyWithCursor(request, std::move(cursor), {documents}, isSingle);
}

/// The command's own field is checked, though the cursors are found without it.
Status checkKillCursors(const Request& request) {
  const auto first = request.body().first();
  if (first.is(bson::Type::kString)) return Status::OK();
  return {ErrorCode::kInvalidNamespace, "killCursors: the name of the collection must be a string, but is a " +
                                            std::string(bson::typeName(first.type()))};
}

constexpr Argument kGetMoreArguments[] = {
    stringArg("collection").required(),
    numberArg("batchSize"),
    numberArg("term"),
    documentArg("lastKnownCommittedOpTime"),
};

/// The users may have changed since the cursor was opened: what its namespaces need is checked again.
Status checkStillAllowed(Request& request, ClientCursor& cursor) {
  request.furtherNamespaces = cursor.furtherNamespaces;
  // Of the privileges that this request has: the users may have changed again since they were read.
  const int64_t version = request.client().rightsVersion();
  // One of the cursor's owners is enough to use it, but another's privileges may have opened it.
  const bool sameUsers = cursor.authorizedAt == version && request.users() == cursor.owners;
  if (!request.checksPrivileges() || sameUsers) return Status::OK();
  TROUPE_TRY(NamespaceResolution::checkAgain(request, cursor.grants));
  cursor.authorizedAt = version;
  return Status::OK();
}

/// What a getMore says, whatever its cursor is.
Status checkGetMore(const Request& request) {
  const auto id = request.body().first();
  if (id.isNullish())
    return {ErrorCode::kMissingRequiredField, "BSON field 'getMore.getMore' is missing but a required field"};
  const auto isNoLong = [](std::string_view field, const bson::Element& value) -> Status {
    return {ErrorCode::kTypeMismatch, "BSON field 'getMore." + std::string(field) + "' is the wrong type '" +
                                          std::string(bson::typeName(value.type())) + "', expected type 'long'"};
  };
  if (const auto term = request.arg("term"); term && !term.is(bson::Type::kInt64)) return isNoLong("term", term);
  if (!id.is(bson::Type::kInt64) && !id.is(bson::Type::kInt32)) return isNoLong("getMore", id);
  const auto batchSize = request.arg("batchSize");
  if (batchSize && batchSize.toInt64() < 0) {
    return {ErrorCode::kInvalidComparisonRange,
            "BSON field 'batchSize' value must be >= 0, actual value '" + std::to_string(batchSize.toInt64()) + "'"};
  }
  if (request.text("collection").empty()) return {ErrorCode::kInvalidNamespace, "Collection names cannot be empty"};
  return Status::OK();
}

/// The fail point `failGetMoreAfterCursorCheckout`.
Status failAfterCheckout(const Request& request) {
  const auto data = request.server().failPoints.fires("failGetMoreAfterCursorCheckout");
  if (!data) return Status::OK();
  bson::Builder extra;
  if (const auto labels = data->view()["errorLabels"]; labels) extra.append("errorLabels", labels);
  const auto code = data->view()["errorCode"].toInt64(static_cast<int64_t>(ErrorCode::kUnknownError));
  return {static_cast<ErrorCode>(code), "Throwing exception due to failGetMoreAfterCursorCheckout fail point.",
          extra.finish()};
}

/// Prepares the request for what its cursor asks for. Gives how long a tailable one waits for its first result.
StatusWith<std::optional<std::chrono::milliseconds>> readFor(Request& request, const ClientCursor& cursor) {
  request.originatingCommand = cursor.command;
  readFromCursor(request, cursor.fromSecondaries);
  TROUPE_ASSIGN(const auto wait, patience(request, cursor));
  if (cursor.maxTimeLeft) TROUPE_TRY(limitTime(request, *cursor.maxTimeLeft));
  return wait;
}

BatchLimit limitOf(const Request& request, const ClientCursor& cursor) {
  BatchLimit limit;
  if (const int64_t batchSize = request.number("batchSize"); batchSize > 0) limit.documents = batchSize;
  if (cursor.limit) {
    const int64_t left = *cursor.limit - cursor.returned;
    limit.documents = std::min(limit.documents.value_or(left), left);
  }
  return limit;
}

/// A command that is refused leaves the cursor as it was; one that fails ends it.
Task<Status> getMore(Request& request) {
  TROUPE_CO_TRY(checkGetMore(request));
  ServerContext& server = request.server();
  server.counters.getMore.fetch_add(1, std::memory_order_relaxed);
  const std::string ns = std::string(request.db()) + "." + std::string(request.text("collection"));
  request.operation().ns = ns;
  TROUPE_CO_ASSIGN(auto pinned, server.cursors.pin(request.body().first().toInt64(), ns, request.users(),
                                                   request.session(), &request.operation()));
  PinnedCursor cursor(server, std::move(pinned));
  if (Status status = checkStillAllowed(request, *cursor); !status.isOK()) {
    cursor.putBack();
    co_return status;
  }
  TROUPE_CO_TRY(failAfterCheckout(request));
  const auto wait = readFor(request, *cursor);
  if (!wait.isOK()) {
    cursor.putBack();
    co_return wait.status();
  }
  // The commands before it may have used up the cursor's time, and a small batch never asks.
  TROUPE_CO_TRY(request.operation().checkForInterrupt(server.node.environment().now()));
  co_return co_await replyWithNextBatch(request, cursor, limitOf(request, *cursor), *wait);
}

constexpr Argument kKillCursorsArguments[] = {arrayArg("cursors").required()};

/// The user that opened a cursor may end it; others need the right to end any.
Status mayKill(const Request& request, int64_t id) {
  const auto mine = request.server().cursors.belongsTo(id, request.users());
  if (!mine.isOK() || *mine) return Status::OK();
  return request.authorize(auth::Action::kKillAnyCursor, auth::Resource::cluster());
}

Task<Status> killCursors(Request& request) {
  TROUPE_CO_TRY(checkKillCursors(request));
  std::vector<int64_t> killed, missing;
  const bson::View ids = request.document("cursors");
  if (ids.empty()) co_return Status(ErrorCode::kBadValue, "Must specify at least one cursor id in: { cursors: [...] }");
  for (const bson::Element& e : ids) {
    if (!e.is(bson::Type::kInt64) && !e.is(bson::Type::kInt32)) {
      co_return Status(ErrorCode::kTypeMismatch, "BSON field 'killCursors.cursors." + std::string(e.name()) +
                                                     "' is the wrong type '" + std::string(bson::typeName(e.type())) +
                                                     "', expected type 'long'");
    }
    if (Status status = mayKill(request, e.toInt64()); !status.isOK()) co_return status;
  }
  for (const bson::Element& e : ids) {
    const bool found = request.server().cursors.kill(e.toInt64()) == CursorRegistry::Killed::kKilled;
    (found ? killed : missing).push_back(e.toInt64());
  }
  request.reply().append("cursorsKilled", killed).append("cursorsNotFound", missing);
  request.reply().openArray("cursorsAlive").close().openArray("cursorsUnknown").close();
  co_return Status::OK();
}

constexpr Command kFindCommands[] = {
    {.name = "find",
     .summary = "finds documents by a filter; answers with a cursor",
     .requirement = {Requirement::Target::kCollection, auth::Action::kFind},
     .access = Access::kRead,
     .stableApi = true,
     .namesCollection = true,
     .takesUuid = true,
     .allowedInTransaction = true,
     .readConcerns = ReadConcerns::kAll,
     .arguments = kFindArguments,
     .run = find},
    {.name = "getMore",
     .summary = "the next batch of a cursor",
     .requirement = {Requirement::Target::kAuthenticated},
     .access = Access::kRead,
     .stableApi = true,
     .allowedInTransaction = true,
     .readConcerns = ReadConcerns::kAll,
     .arguments = kGetMoreArguments,
     .run = getMore},
    {.name = "killCursors",
     .summary = "ends cursors",
     .requirement = {Requirement::Target::kAuthenticated},
     .access = Access::kRead,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .arguments = kKillCursorsArguments,
     .run = killCursors},
};

}  // namespace

std::span<const Command> findCommands() { return kFindCommands; }

}  // namespace troupe::commands
