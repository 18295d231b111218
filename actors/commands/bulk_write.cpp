// bulkWrite: inserts, updates and deletes of several collections in one command.
#include <map>
#include <optional>

#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/insert_batch.hpp"
#include "actors/commands/modify.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/server/collection_uuid.hpp"
#include "messaging/bson/validate.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kBulkWriteArguments[] = {
    arrayArg("ops"),
    arrayArg("nsInfo"),
    flagArg("ordered"),
    flagArg("errorsOnly"),
    flagArg("bypassDocumentValidation"),
    documentArg("let"),
    documentArg("cursor"),
    numberArg("maxTimeMS"),
};
constexpr Argument kNamespaceEntry[] = {stringArg("ns").required(), uuidArg("collectionUUID")};
constexpr Argument kBulkCursor[] = {numberArg("batchSize")};
// Of the operations, beside the first field, which says what is to be done, and where.
constexpr Argument kBulkInsert[] = {documentArg("document").required()};
constexpr Argument kBulkUpdate[] = {
    documentArg("filter").required(),
    eitherArg("updateMods", kDocumentArg | kArrayArg).required(),
    documentArg("constants"),
    flagArg("multi"),
    flagArg("upsert"),
    flagArg("upsertSupplied"),
    arrayArg("arrayFilters"),
    documentArg("collation"),
    documentArg("sort"),
    eitherArg("hint", kStringArg | kDocumentArg),
};
constexpr Argument kBulkDelete[] = {
    documentArg("filter").required(),
    flagArg("multi"),
    documentArg("collation"),
    eitherArg("hint", kStringArg | kDocumentArg),
};

/// What an operation does. Its first field has this name, and as its value the position in `nsInfo`.
struct OperationKind {
  std::string_view name;
  std::string_view shown;  ///< in messages
  ArgumentTable arguments;
  auth::Action action;
};
constexpr OperationKind kInsertOperation{"insert", "bulkWrite.ops.insert", kBulkInsert, auth::Action::kInsert};
constexpr OperationKind kUpdateOperation{"update", "bulkWrite.ops.update", kBulkUpdate, auth::Action::kUpdate};
constexpr OperationKind kDeleteOperation{"delete", "bulkWrite.ops.delete", kBulkDelete, auth::Action::kRemove};

struct BulkOperation {
  const OperationKind* kind = nullptr;
  size_t ns = 0;
  bson::View body{};

  bool is(const OperationKind& other) const { return kind == &other; }
};

const OperationKind* kindNamed(std::string_view name) {
  for (const OperationKind* kind : {&kInsertOperation, &kUpdateOperation, &kDeleteOperation})
    if (kind->name == name) return kind;
  return nullptr;
}

/// Errors: 40415 (no such kind of operation), 40414, TypeMismatch and others of checkArguments, BadValue (a position
/// that nsInfo does not have), FailedToParse.
StatusWith<BulkOperation> parseOperation(bson::View body, size_t position, size_t namespaces) {
  const bson::Element first = body.first();
  BulkOperation operation{.kind = kindNamed(first.name()), .body = body};
  if (!operation.kind) {
    return Status(ErrorCode::kUnknownField, "BSON field 'bulkWrite.ops." + std::string(first.name()) +
                                                "' is an unknown field: an operation begins with insert, update or "
                                                "delete");
  }
  const std::string where(operation.kind->shown);
  if (!first.isNumber()) {
    return Status(ErrorCode::kTypeMismatch, "BSON field '" + where + "' is the wrong type '" +
                                                std::string(bson::typeName(first.type())) + "', expected type 'int'");
  }
  TROUPE_TRY(checkArguments(where, operation.kind->arguments, body));
  const int64_t ns = first.toInt64();
  if (ns < 0 || static_cast<size_t>(ns) >= namespaces) {
    return Status(ErrorCode::kBadValue, "bulkWrite.ops entry " + std::to_string(position) + " names the namespace " +
                                            std::to_string(ns) + ", but nsInfo has " + std::to_string(namespaces));
  }
  operation.ns = static_cast<size_t>(ns);
  if (operation.is(kUpdateOperation) && body["multi"].truthy() && !body["sort"].isNullish())
    return Status(ErrorCode::kFailedToParse, "an update with multi: true changes all matches: it may have no sort");
  return operation;
}

bson::View partOf(bson::View body, std::string_view name) {
  const bson::Element e = body[name];
  return e.isObjectLike() ? e.asDocument() : bson::View();
}

/// One bulkWrite command under way: its operations in order, and a row for each that was run.
class BulkWrite {
 public:
  explicit BulkWrite(Request& request)
      : request_(request),
        ordered_(request.flag("ordered", true)),
        errorsOnly_(request.flag("errorsOnly")),
        bypass_(request.flag("bypassDocumentValidation")),
        rows_(request.operation().memory()),
        retried_(request) {}
  ~BulkWrite() { request_.operation().setStatements({}); }

  /// Reads all operations and resolves all namespaces they name before anything is written.
  Task<Status> prepare() {
    TROUPE_CO_ASSIGN(const auto ops, request_.documents("ops"));
    TROUPE_CO_TRY(checkBatchSize(ops.size()));
    TROUPE_CO_TRY(checkStatementIds(request_, ops.size()));
    TROUPE_CO_ASSIGN(const auto entries, request_.documents("nsInfo"));
    TROUPE_CO_TRY(checkNamespaceCount(entries.size()));
    TROUPE_CO_TRY(checkFields("bulkWrite.cursor", kBulkCursor, request_.document("cursor")));
    TROUPE_CO_TRY(checkBatchSizeOf(request_.document("cursor")["batchSize"]));
    lastYield_ = request_.server().node.environment().now();
    TROUPE_CO_ASSIGN(auto names, co_await namespacesOf(entries));
    for (const bson::View entry : entries) uuids_.push_back(entry["collectionUUID"]);
    std::vector<auth::ActionSet> needed(names.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      TROUPE_CO_TRY(co_await betweenReads(request_, lastYield_));
      TROUPE_CO_ASSIGN(const auto operation, parseOperation(ops[i], i, names.size()));
      TROUPE_CO_TRY(checkMayBeRetried(request_, operation.body["multi"].truthy(), "multi=true"));
      needed[operation.ns] |= auth::actions({operation.kind->action});
      if (operation.is(kUpdateOperation) && operation.body["upsert"].truthy())
        needed[operation.ns] |= auth::actions({auth::Action::kInsert});
      operations_.push_back(operation);
    }
    co_return co_await resolve(std::move(names), needed);
  }

  Task<Status> run() {
    for (size_t next = 0; next < operations_.size() && !isOver();) {
      TROUPE_CO_TRY(co_await betweenStatements(request_, lastYield_));
      request_.operation().ns = namespaces_[operations_[next].ns]->toString();
      if (operations_[next].is(kInsertOperation)) {
        const size_t end = endOfInserts(next);
        if (!makeRoom(next, end)) co_return Status::OK();
        TROUPE_CO_TRY(co_await insert(next, end));
        next = end;
      } else {
        if (!makeRoom(next, next + 1)) co_return Status::OK();
        TROUPE_CO_TRY(co_await change(next));
        ++next;
      }
    }
    co_return Status::OK();
  }

  Task<Status> reply() {
    const bson::Element batchSize = request_.document("cursor")["batchSize"];
    if (!errors_.empty()) request_.operation().noteReliance();
    TROUPE_CO_TRY(co_await replyWithRows(request_, "admin.$cmd.bulkWrite", std::move(rows_), batchSize));
    bson::Builder& reply = request_.reply();
    reply.append("nErrors", static_cast<int32_t>(errors_.all().size()));
    reply.append("nInserted", static_cast<int32_t>(inserted_)).append("nMatched", static_cast<int32_t>(matched_));
    reply.append("nModified", static_cast<int32_t>(modified_)).append("nUpserted", static_cast<int32_t>(upserted_));
    reply.append("nDeleted", static_cast<int32_t>(deleted_));
    retried_.appendTo(reply);
    co_return Status::OK();
  }

  /// What was done counts, also when the command fails.
  void count() const {
    ServerCounters& counters = request_.server().counters;
    counters.documentsUpdated.fetch_add(modified_, std::memory_order_relaxed);
    counters.documentsDeleted.fetch_add(deleted_, std::memory_order_relaxed);
    auto& metrics = request_.operation().metrics;
    metrics.inserted = inserted_;
    metrics.modified = modified_;
    metrics.deleted = deleted_;
  }

 private:
  bool isOver() const { return ordered_ && !errors_.empty(); }

  static StatusWith<storage::Namespace> namespaceOf(bson::View entry) {
    TROUPE_TRY(checkFields("bulkWrite.nsInfo", kNamespaceEntry, entry));
    const std::string_view full = entry["ns"].toStringOr();
    const size_t dot = full.find('.');
    if (dot == std::string_view::npos)
      return Status(ErrorCode::kInvalidNamespace,
                    "'" + std::string(full) + "' is no namespace <database>.<collection>");
    storage::Namespace ns(full.substr(0, dot), full.substr(dot + 1));
    TROUPE_TRY(storage::validateNamespace(ns));
    return ns;
  }

  /// Some of them may be named by no operation.
  static Status checkNamespaceCount(size_t count) {
    constexpr size_t kMostNamespaces = 100'000;
    if (count <= kMostNamespaces) return Status::OK();
    return {ErrorCode::kInvalidLength, "bulkWrite.nsInfo may have at most " + std::to_string(kMostNamespaces) +
                                           " entries, but has " + std::to_string(count)};
  }

  /// The collection that an operation's namespace stands for is the one that nsInfo expects there.
  Status checkUuid(const BulkOperation& operation) const {
    return checkCollectionUuid(request_, *namespaces_[operation.ns], uuids_[operation.ns]);
  }

  Task<StatusWith<std::vector<storage::Namespace>>> namespacesOf(const std::vector<bson::View>& entries) {
    std::vector<storage::Namespace> names;
    for (const bson::View entry : entries) {
      TROUPE_CO_TRY(co_await betweenReads(request_, lastYield_));
      TROUPE_CO_ASSIGN(auto ns, namespaceOf(entry));
      names.push_back(std::move(ns));
    }
    co_return names;
  }

  /// Namespaces that no operation names need not be allowed.
  Task<Status> resolve(std::vector<storage::Namespace> names, const std::vector<auth::ActionSet>& needed) {
    namespaces_.resize(names.size());
    request_.furtherNamespaces = std::make_shared<std::vector<storage::Namespace>>();
    for (size_t i = 0; i < names.size(); ++i) {
      TROUPE_CO_TRY(co_await betweenReads(request_, lastYield_));
      if (!needed[i].any()) continue;
      auth::ActionSet actions = needed[i];
      actions |= bypassAction(request_);
      request_.furtherNamespaces->push_back(names[i]);
      TROUPE_CO_ASSIGN(namespaces_[i], NamespaceResolution::resolve(request_, std::move(names[i]), actions));
    }
    co_return Status::OK();
  }

  /// Inserts into one collection that follow each other are one batch.
  size_t endOfInserts(size_t first) const {
    size_t end = first;
    while (end < operations_.size() && operations_[end].is(kInsertOperation) &&
           operations_[end].ns == operations_[first].ns)
      ++end;
    return end;
  }

  Task<Status> insert(size_t first, size_t end) {
    const BulkOperation& operation = operations_[first];
    InsertBatch batch{.first = static_cast<int32_t>(first), .ordered = ordered_, .bypassValidation = bypass_};
    batch.uuid = uuids_[operation.ns];
    for (size_t i = first; i < end; ++i) batch.documents.push_back(partOf(operations_[i].body, "document"));
    InsertOutcome outcome;
    const AuthorizedNamespace ns = *namespaces_[operation.ns];
    const Status status = co_await insertBatch(request_, ns, std::move(batch), retried_, outcome);
    inserted_ += outcome.inserted + outcome.retried;
    if (!status.isOK() && endsCommand(status)) co_return status;
    std::map<int32_t, Status> failed;
    for (const WriteError& error : outcome.errors.all()) failed.emplace(error.index, error.status);
    for (size_t i = first; i < end && !isOver(); ++i) {
      const auto position = static_cast<int32_t>(i);
      const auto error = failed.find(position);
      if (error != failed.end()) noteFailure(position, error->second);
      else if (!status.isOK() && i - first >= outcome.settled) noteFailure(position, status);
      else noteRow(bson::doc("ok", 1.0, "idx", position, "n", 1));
    }
    co_return Status::OK();
  }

  Modification modificationOf(const BulkOperation& operation) const {
    const bson::View body = operation.body;
    Modification m;
    m.filter = partOf(body, "filter");
    m.collation = partOf(body, "collation");
    m.sort = partOf(body, "sort");
    m.let = request_.document("let");
    if (const auto hint = body["hint"]; !hint.isNullish()) m.hint = hint;
    m.bypassValidation = bypass_;
    m.multi = body["multi"].truthy();
    if (operation.is(kDeleteOperation)) return m;
    m.update = body["updateMods"];
    m.arrayFilters = partOf(body, "arrayFilters");
    m.constants = partOf(body, "constants");
    m.upsert = body["upsert"].truthy();
    return m;
  }

  Task<StatusWith<ModificationOutcome>> outcomeOf(BulkOperation operation, int32_t position) {
    const AuthorizedNamespace ns = *namespaces_[operation.ns];
    TROUPE_CO_ASSIGN(auto before, retried_.outcomeOf(position, ns, operation.is(kDeleteOperation)));
    if (before) co_return std::move(*before);
    TROUPE_CO_TRY(checkUuid(operation));
    request_.operation().setStatements({&position, 1});
    auto outcome = co_await modify(request_, ns, modificationOf(operation));
    request_.operation().setStatements({});
    co_return outcome;
  }

  Task<Status> change(size_t at) {
    const BulkOperation& operation = operations_[at];
    const auto position = static_cast<int32_t>(at);
    const bool updates = operation.is(kUpdateOperation);
    ServerCounters& counters = request_.server().counters;
    (updates ? counters.update : counters.remove).fetch_add(1, std::memory_order_relaxed);
    auto outcome = co_await outcomeOf(operation, position);
    if (!outcome.isOK()) {
      if (endsCommand(outcome.status())) co_return outcome.status();
      noteFailure(position, outcome.status());
      co_return Status::OK();
    }
    bson::Builder row;
    row.append("ok", 1.0).append("idx", position);
    if (!updates) {
      deleted_ += outcome->modified;
      noteRow(row.append("n", static_cast<int32_t>(outcome->modified)).finish());
      co_return Status::OK();
    }
    matched_ += outcome->matched;
    modified_ += outcome->modified;
    row.append("n", static_cast<int32_t>(outcome->matched + (outcome->upsertedId ? 1 : 0)));
    row.append("nModified", static_cast<int32_t>(outcome->modified));
    if (outcome->upsertedId) {
      ++upserted_;
      row.openDocument("upserted").append("_id", *outcome->upsertedId).close();
    }
    noteRow(row.finish());
    co_return Status::OK();
  }

  /// Charges the rows of these operations before they run: what was written cannot become the command's failure. Where
  /// there is no room the first of them fails, and none behind it is run, also of an unordered command.
  bool makeRoom(size_t first, size_t end) {
    const auto rows = static_cast<int64_t>(errorsOnly_ ? 0 : end - first);
    Status room = rows_.reserve(rows * kRowBytes);
    if (room.isOK()) return true;
    noteFailure(static_cast<int32_t>(first), std::move(room));
    return false;
  }

  void noteFailure(int32_t position, Status failure) {
    errors_.add({position, std::move(failure)});
    const Status shown = withoutHiddenValues(request_, errors_.all().back().status);
    bson::Builder row;
    row.append("ok", 0.0).append("idx", position).append("code", static_cast<int32_t>(shown.code()));
    if (shown.extra()) row.appendAll(*shown.extra());
    row.append("errmsg", bson::asUtf8(shown.reason())).append("n", 0);
    if (operations_[static_cast<size_t>(position)].is(kUpdateOperation)) row.append("nModified", 0);
    rows_.addReserved(row.finish());
  }

  void noteRow(bson::Document row) {
    if (!errorsOnly_) rows_.addReserved(std::move(row));
  }

  static constexpr int64_t kRowBytes = 96;  ///< of an operation that succeeded, but for the `_id` of an upsert

  Request& request_;
  const bool ordered_, errorsOnly_, bypass_;
  TimePoint lastYield_{};
  std::vector<BulkOperation> operations_;
  std::vector<bson::Element> uuids_;                            ///< as nsInfo; absent where it expects none
  std::vector<std::optional<AuthorizedNamespace>> namespaces_;  ///< as nsInfo; none where no operation needs it
  ListedRows rows_;
  RetriedStatements retried_;
  WriteErrors errors_;
  int64_t inserted_ = 0, matched_ = 0, modified_ = 0, upserted_ = 0, deleted_ = 0;
};

Task<Status> bulkWrite(Request& request) {
  BulkWrite bulk(request);
  TROUPE_CO_TRY(co_await bulk.prepare());
  const Status status = co_await bulk.run();
  bulk.count();
  if (!status.isOK()) co_return status;
  co_return co_await bulk.reply();
}

constexpr Command kBulkWriteCommands[] = {
    {.name = "bulkWrite",
     .summary = "inserts, updates and deletes in several collections; answers with a cursor over the results",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .adminOnly = true,
     .stableApi = true,
     .allowedInTransaction = true,
     .retryable = true,
     .arguments = kBulkWriteArguments,
     .run = bulkWrite},
};

}  // namespace

std::span<const Command> bulkWriteCommands() { return kBulkWriteCommands; }

}  // namespace troupe::commands
