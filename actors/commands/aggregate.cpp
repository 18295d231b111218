// aggregate, count, distinct.
#include <set>

#include "actors/commands/cursor_batches.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/prepared_aggregation.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/server/collection_uuid.hpp"
#include "actors/server/read_concern.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/stable_api.hpp"
#include "messaging/bson/compare.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kAggregateArguments[] = {
    arrayArg("pipeline"),  // checkAggregate
    documentArg("cursor"),
    boolArg("explain").outsideStableApi(),
    flagArg("allowDiskUse"),
    flagArg("bypassDocumentValidation"),
    documentArg("collation"),
    anyArg("hint"),  // checkHint
    documentArg("let"),
    uuidArg("collectionUUID"),
    documentArg("exchange").outsideStableApi(),
    flagArg("fromMongos"),
    flagArg("needsMerge"),
};

/// As a double, which rounds decimals.
bool isExactlyOne(const bson::Element& number) { return number.isNumber() && number.toDouble() == 1; }

StatusWith<AuthorizedNamespace> aggregateTarget(Request& request) {
  const auto first = request.body().first();
  if (first.isNumber()) {
    if (!isExactlyOne(first))
      return Status(ErrorCode::kBadValue,
                    "Invalid command format: the 'aggregate' field must specify a collection name or 1");
    return resolveInput(request, storage::Namespace(request.db(), ""), request.body());
  }
  if (!first.is(bson::Type::kString))
    return Status(ErrorCode::kInvalidNamespace,
                  "collection name has invalid type " + std::string(bson::typeName(first.type())));
  storage::Namespace ns(request.db(), first.asString());
  TROUPE_TRY(storage::validateNamespace(ns));
  TROUPE_ASSIGN(auto target, resolveInput(request, std::move(ns), request.body()));
  TROUPE_TRY(checkCollectionUuid(request));
  return target;
}

bool endsWith(bson::View stages, std::string_view name) {
  bson::Element last;
  for (const bson::Element& e : stages) last = e;
  return last.isObjectLike() && last.asDocument().first().name() == name;
}

/// The cursor and its options, and what does not go with explain; explain has no cursor, but these are checked anyway.
Status checkAggregate(const Request& request) {
  TROUPE_TRY(checkHint(request));
  const auto pipeline = request.fields()["pipeline"];
  if (!pipeline.ok())
    return {ErrorCode::kMissingRequiredField, "BSON field 'aggregate.pipeline' is missing but a required field"};
  if (pipeline.isNullish()) return {ErrorCode::kTypeMismatch, "'pipeline' option must be specified as an array"};
  if (const auto explain = request.fields()["explain"]; explain.ok() && explain.isNullish())
    return {ErrorCode::kTypeMismatch, "BSON field 'aggregate.explain' is the wrong type 'null', expected type 'bool'"};
  if (request.flag("explain") && request.arg("writeConcern"))
    return {ErrorCode::kFailedToParse, "aggregate with 'explain' does not take a 'writeConcern'"};
  const auto cursor = request.fields()["cursor"];
  if (!cursor.ok()) {
    if (request.flag("explain")) return Status::OK();
    return {ErrorCode::kFailedToParse,
            "The 'cursor' option is required, except for aggregate with the explain argument"};
  }
  if (!cursor.is(bson::Type::kDocument))
    return {ErrorCode::kTypeMismatch, "BSON field 'aggregate.cursor' is the wrong type '" +
                                          std::string(bson::typeName(cursor.type())) + "', expected type 'object'"};
  for (const bson::Element& option : cursor.asDocument()) {
    if (option.name() != "batchSize")
      return {ErrorCode::kUnknownField,
              "BSON field 'aggregate.cursor." + std::string(option.name()) + "' is an unknown field."};
    if (!option.isNumber() && !option.isNullish())
      return {ErrorCode::kTypeMismatch, "BSON field 'aggregate.cursor.batchSize' is the wrong type '" +
                                            std::string(bson::typeName(option.type())) +
                                            "', expected types '[long, int, decimal, double]'"};
    if (option.toInt64() < 0)
      return {ErrorCode::kBadValue,
              "BSON field 'batchSize' value must be >= 0, actual value '" + std::to_string(option.toInt64()) + "'"};
  }
  return Status::OK();
}

Task<Status> aggregate(Request& request) {
  const auto ns = aggregateTarget(request);
  if (!ns.isOK()) co_return ns.status();
  request.operation().ns = ns->collection().empty() ? std::string(request.db()) + ".$cmd.aggregate" : ns->toString();
  TROUPE_CO_TRY(checkAggregate(request));
  for (const bson::Element& stage : request.document("pipeline")) {
    if (!stage.is(bson::Type::kDocument))
      co_return Status(ErrorCode::kTypeMismatch, "Each element of the 'pipeline' array must be an object");
  }
  if (request.flag("apiStrict")) {
    if (Status status = checkStagesInStableApi(request.document("pipeline")); !status.isOK()) co_return status;
  }
  request.server().counters.command.fetch_add(1, std::memory_order_relaxed);
  if (request.flag("explain"))
    co_return co_await explainAggregate(request, *ns, request.body(), query::ExplainVerbosity::kQueryPlanner);
  auto prepared = prepareAggregation(request, *ns, request.body());
  if (!prepared.isOK()) co_return prepared.status();
  const bool writes = prepared->pipeline->writes();
  if (writes) {
    TROUPE_CO_TRY(checkRoleForWriting(request, prepared->target->db()));
    const bool replaces = endsWith(request.document("pipeline"), "$out");
    TROUPE_CO_TRY(co_await prepared->lock->take(request, *prepared->target, replaces));
  }
  const auto batchSize = request.document("cursor")["batchSize"];
  BatchLimit limit;
  limit.documents = batchSize.isNumber() ? batchSize.toInt64() : int64_t{101};
  if (writes) limit.documents.reset();
  const Status status =
      co_await replyWithCursor(request, newCursor(request, prepared->ns, std::move(prepared->stream)), limit, false);
  co_return status;
}

constexpr Argument kCountArguments[] = {
    documentArg("query"),      numberArg("limit"),
    numberArg("skip"),         eitherArg("hint", kStringArg | kDocumentArg),
    documentArg("collation"),  anyArg("fields"),
    uuidArg("collectionUUID"),
};

/// count on a view, by a pipeline.
Task<Status> countOnView(Request& request, AuthorizedNamespace ns) {
  bson::Builder command;
  command.append("aggregate", ns.collection()).openArray("pipeline");
  if (const auto filter = request.document("query"); !filter.empty())
    command.pushDocument().append("$match", filter).close();
  if (const auto skip = request.number("skip"); skip > 0) command.pushDocument().append("$skip", skip).close();
  if (const auto limit = std::abs(request.number("limit")); limit > 0)
    command.pushDocument().append("$limit", limit).close();
  command.close().append("collation", request.arg("collation"));
  const bson::Document aggregate = command.finish();
  auto prepared = prepareAggregation(request, ns, aggregate);
  if (!prepared.isOK()) co_return prepared.status();
  ScanPriority priority(request, *prepared->stream);
  if (priority.isLow()) TROUPE_CO_TRY(co_await priority.admit(request, *prepared->stream));
  int64_t n = 0;
  TimePoint lastYield = request.operation().started();
  for (;;) {
    const auto next = prepared->stream->next();
    if (!next.isOK()) co_return next.status();
    if (next->isEnd()) break;
    n += next->isDocument();
    if (next->isDocument() && (n & 63) != 0) continue;
    if (Status status = co_await letOthersRun(request, *prepared->stream, lastYield); !status.isOK()) co_return status;
  }
  request.reply().append("n", static_cast<int32_t>(n));
  co_return Status::OK();
}

void appendCount(Request& request, int64_t n, int64_t skip, int64_t limit) {
  n = std::max<int64_t>(0, n - skip);
  if (limit > 0) n = std::min(n, limit);
  if (n <= INT32_MAX) request.reply().append("n", static_cast<int32_t>(n));
  else request.reply().append("n", n);
}

Task<Status> count(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  const int64_t skip = request.number("skip");
  const int64_t limit = std::abs(request.number("limit"));
  if (const auto given = request.fields()["limit"]; given.ok() && given.isNullish())
    co_return Status(ErrorCode::kBadValue, "count: 'limit' must be a number");
  if (skip < 0)
    co_return Status(ErrorCode::kBadValue,
                     "BSON field 'skip' value must be >= 0, actual value '" + std::to_string(skip) + "'");
  auto resources = std::make_shared<QueryResources>(request.server(), request.operation());
  TROUPE_CO_TRY(resources->open(request, ns));
  if (resources->collection && resources->collection->isView()) co_return co_await countOnView(request, ns);
  if (Status status = prepareContext(*resources, request, request.document("collation"), {}); !status.isOK())
    co_return status;
  const auto filter = query::parseMatch(request.document("query"), resources->context);
  if (!filter.isOK()) co_return filter.status();
  if (resources->collection && !request.arg("hint")) {
    const auto fast = query::fastCount(*resources->collection, **filter, resources->unit(), resources->context);
    if (!fast.isOK()) co_return fast.status();
    if (*fast) {
      appendCount(request, **fast, skip, limit);
      co_return Status::OK();
    }
  }
  query::FindRequest find;
  if (const auto hint = request.arg("hint"); hint) find.hint = hint;
  if (limit > 0) find.limit = skip + limit;
  find.rowsOnly = true;
  auto executor = query::openScan(resources->collection, **filter, find, resources->unit(), resources->context);
  if (!executor.isOK()) co_return executor.status();
  const auto stream = streamOf(resources, std::move(*executor));
  ScanPriority priority(request, *stream);
  if (priority.isLow()) TROUPE_CO_TRY(co_await priority.admit(request, *stream));
  int64_t n = 0;
  TimePoint lastYield = request.operation().started();
  for (;;) {
    const auto next = stream->next();
    if (!next.isOK()) co_return next.status();
    if (next->isEnd()) break;
    n += next->isDocument();
    if (next->isDocument() && (n & 63) != 0) continue;
    if (Status status = co_await letOthersRun(request, *stream, lastYield); !status.isOK()) co_return status;
  }
  stream->report(request.operation().metrics);
  appendCount(request, n, skip, limit);
  co_return Status::OK();
}

constexpr Argument kDistinctArguments[] = {
    stringArg("key").required(), documentArg("query"),      documentArg("collation"), anyArg("hint"),  // checkHint
    flagArg("unique"),           uuidArg("collectionUUID"),
};

/// Distinct values in the order of their comparison; elements of arrays count one by one.
class DistinctValues {
 public:
  DistinctValues(const bson::Collator* collator, query::QueryWork& work)
      : work_(work), held_(&work), seen_(Less{collator}) {}
  /// Errors, of both: 17217 when the values do not fit into a reply, ExceededMemoryLimit, those of an interrupt.
  Status add(const bson::Element& e) {
    if (!e.ok()) return Status::OK();
    TROUPE_TRY(work_.step(query::stepsFor(e.size())));
    if (!seen_.emplace(e).second) return Status::OK();
    bytes_ += e.size();
    if (bytes_ > static_cast<size_t>(bson::kMaxDocumentSize)) return {ErrorCode(17217), "distinct too big, 16mb cap"};
    return held_.set(static_cast<int64_t>(bytes_ + seen_.size() * kPerValue));
  }
  /// Adds what the path leads to in the document, through arrays.
  Status addPath(bson::View document, std::string_view path) {
    TROUPE_TRY(work_.step(query::stepsFor(document.size())));
    const auto dot = path.find('.');
    const bson::Element e = document[path.substr(0, dot)];
    if (dot == std::string_view::npos) return addUnwound(e);
    const auto rest = path.substr(dot + 1);
    if (!e.isObjectLike()) return Status::OK();
    if (!e.is(bson::Type::kArray)) return addPath(e.asDocument(), rest);
    for (const bson::Element& item : e.asArray()) {
      if (item.is(bson::Type::kDocument)) TROUPE_TRY(addPath(item.asDocument(), rest));
    }
    const auto next = rest.substr(0, rest.find('.'));
    const bool isPosition = !next.empty() && next.find_first_not_of("0123456789") == std::string_view::npos;
    return isPosition ? addPath(e.asArray(), rest) : Status::OK();
  }
  void appendTo(bson::Builder& reply) const {
    reply.openArray("values");
    for (const bson::Value& value : seen_) reply.push(value);
    reply.close();
  }

 private:
  Status addUnwound(const bson::Element& e) {
    if (!e.is(bson::Type::kArray)) return add(e);
    for (const bson::Element& item : e.asArray()) TROUPE_TRY(add(item));
    return Status::OK();
  }
  struct Less {
    const bson::Collator* collator;
    bool operator()(const bson::Value& a, const bson::Value& b) const {
      return bson::compareValues(a.element(), b.element(), collator) < 0;
    }
  };
  static constexpr size_t kPerValue = 160;  ///< that a value takes beside its bytes
  query::QueryWork& work_;
  query::HeldMemory held_;
  std::set<bson::Value, Less> seen_;
  size_t bytes_ = 0;
};

/// The plan of distinct: a jump through a fitting index, else all matching documents of a collection or view.
Task<Status> collectDistinct(Request& request, AuthorizedNamespace ns, std::shared_ptr<QueryResources> r,
                             DistinctValues& values) {
  const std::string_view key = request.text("key");
  std::unique_ptr<ResultStream> stream;
  const auto filter = query::parseMatch(request.document("query"), r->context);
  if (!filter.isOK()) co_return filter.status();
  if (r->collection && r->collection->isView()) {
    bson::Builder command;
    command.append("aggregate", ns.collection()).openArray("pipeline");
    if (const auto query = request.document("query"); !query.empty())
      command.pushDocument().append("$match", query).close();
    command.close().append("collation", request.arg("collation"));
    const bson::Document aggregate = command.finish();
    auto prepared = prepareAggregation(request, ns, aggregate);
    if (!prepared.isOK()) co_return prepared.status();
    stream = std::move(prepared->stream);
  } else {
    if (r->collection && !request.arg("hint")) {
      const auto jumped = query::distinctScan(*r->collection, key, **filter, r->unit(), r->context,
                                              [&](const bson::Element& e) { return values.add(e); });
      if (!jumped.isOK()) co_return jumped.status();
      if (*jumped) co_return Status::OK();
    }
    query::FindRequest find;
    if (const auto hint = request.arg("hint"); hint) find.hint = hint;
    auto executor = query::openScan(r->collection, **filter, find, r->unit(), r->context);
    if (!executor.isOK()) co_return executor.status();
    stream = streamOf(r, std::move(*executor));
  }
  ScanPriority priority(request, *stream);
  if (priority.isLow()) TROUPE_CO_TRY(co_await priority.admit(request, *stream));
  TimePoint lastYield = request.operation().started();
  for (int n = 1;; ++n) {
    const auto next = stream->next();
    if (!next.isOK()) co_return next.status();
    if (next->isEnd()) break;
    if (next->isDocument()) TROUPE_CO_TRY(values.addPath(next->document, key));
    if (next->isDocument() && (n & 63) != 0) continue;
    if (Status status = co_await letOthersRun(request, *stream, lastYield); !status.isOK()) co_return status;
  }
  stream->report(request.operation().metrics);
  co_return Status::OK();
}

Task<Status> distinct(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_TRY(checkHint(request, NullHint::kRefused));
  if (request.text("key").find('\0') != std::string_view::npos)
    co_return Status(ErrorCode(31032), "the key of distinct may not contain a null byte");
  auto resources = std::make_shared<QueryResources>(request.server(), request.operation());
  TROUPE_CO_TRY(resources->open(request, ns));
  if (Status status = prepareContext(*resources, request, request.document("collation"), {}); !status.isOK())
    co_return status;
  DistinctValues values(resources->collator.get(), *resources);
  if (Status status = co_await collectDistinct(request, ns, resources, values); !status.isOK()) co_return status;
  values.appendTo(request.reply());
  appendSnapshotTime(request.reply(), request.operation());
  co_return Status::OK();
}

constexpr Command kAggregateCommands[] = {
    {.name = "aggregate",
     .summary = "runs a pipeline of stages over a collection; answers with a cursor",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kRead,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .mayWrite = true,
     .readConcerns = ReadConcerns::kAll,
     .arguments = kAggregateArguments,
     .run = aggregate},
    {.name = "count",
     .summary = "counts documents that match a filter",
     .requirement = {Requirement::Target::kCollection, auth::Action::kFind},
     .access = Access::kRead,
     .stableApi = true,
     .namesCollection = true,
     .takesUuid = true,
     .readConcerns = ReadConcerns::kAllButSnapshot,
     .arguments = kCountArguments,
     .run = count},
    {.name = "distinct",
     .summary = "the distinct values of a field",
     .requirement = {Requirement::Target::kCollection, auth::Action::kFind},
     .access = Access::kRead,
     .namesCollection = true,
     .takesUuid = true,
     .allowedInTransaction = true,
     .readConcerns = ReadConcerns::kAll,
     .arguments = kDistinctArguments,
     .run = distinct},
};

}  // namespace

std::span<const Command> aggregateCommands() { return kAggregateCommands; }

}  // namespace troupe::commands
