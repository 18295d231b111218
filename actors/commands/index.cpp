// createIndexes, listIndexes, dropIndexes, collMod.
#include <algorithm>

#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/server/stable_api.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::commands {

using storage::CollectionPtr;
using storage::Namespace;

namespace {

constexpr Argument kCreateIndexesArguments[] = {
    arrayArg("indexes").required(),
    anyArg("commitQuorum"),
    flagArg("ignoreUnknownIndexOptions"),
};

/// Documents an index build takes at a time.
constexpr int kBuildBatch = 256;

/// Partial filters belong to the query language: they must parse before they are stored.
Status checkPartialFilters(const Request& request, const std::vector<storage::IndexSpec>& specs) {
  QueryResources resources(request.server(), request.operation());
  TROUPE_TRY(prepareContext(resources, request, {}, {}));
  for (const auto& spec : specs) {
    if (!spec.partialFilter) continue;
    const auto parsed = query::parseMatch(*spec.partialFilter, resources.context);
    if (!parsed.isOK())
      return {ErrorCode::kCannotCreateIndex,
              "Error in specification " + spec.name + " :: caused by :: " + parsed.status().reason()};
  }
  return Status::OK();
}

/// How long a scan holds its lock at a time: so long at most it keeps a drop, and the writers behind it, waiting.
constexpr auto kScanSlice = std::chrono::milliseconds(100);

/// Scans for a slice of time, batch by batch, on a detached actor; conflicts with writers are run again. Sets `ended`
/// at the end of the collection.
Status scanSlice(storage::IndexBuilder& builder, storage::RecoveryUnit& unit, ServerContext& server, bool& ended) {
  Environment& environment = server.node.environment();
  for (const TimePoint begun = environment.now(); !ended && environment.now() - begun < kScanSlice;) {
    server.disk.look();  // nobody knows how many keys a document has
    TROUPE_TRY(server.disk.roomFor(0));
    storage::ConflictRetry retry({.immediateRetries = 100'000, .maxWriteConflictRetries = 100'000}, &server.conflicts);
    const auto done = storage::writeConflictRetry(retry, unit, [&] { return builder.step(unit, kBuildBatch); });
    TROUPE_TRY(done.status());
    ended = *done;
  }
  unit.abandonSnapshot();
  return Status::OK();
}

/// The parts of an index build that block. Made here, outside of the coroutine: g++ 12 destroys the captures of a
/// lambda that is written in one twice.
struct BuildSteps {
  std::shared_ptr<storage::IndexBuilder> builder;
  std::shared_ptr<storage::OperationContext> operation;  ///< the build's own: it goes on when its client has gone
  ServerContext* server;
  std::shared_ptr<bool> ended = std::make_shared<bool>(false);

  std::function<Status()> start() const {
    return [b = builder, o = operation] { return b->start(o->recoveryUnit()); };
  }
  std::function<Status()> scan() const {
    return [b = builder, o = operation, s = server, e = ended] { return scanSlice(*b, o->recoveryUnit(), *s, *e); };
  }
  std::function<Status()> commit() const {
    return [b = builder, o = operation] { return b->commit(o->recoveryUnit()); };
  }
  std::function<Status()> abort() const {
    return [b = builder, o = operation] { return b->abort(o->recoveryUnit()); };
  }
};

/// Locks the collection under the name it has by now: it may have been renamed while nobody held it. A dropped one is
/// locked under its last name.
Task<StatusWith<storage::HeldLock>> lockWhereItIs(ServerContext& server, storage::OperationContext& operation,
                                                  bson::Uuid uuid, Namespace last, storage::LockMode mode) {
  for (;;) {
    auto lock = co_await lockCollection(server.node, operation, last, mode);
    if (!lock.isOK()) co_return lock.status();
    const CollectionPtr collection = server.catalog.snapshot()->find(uuid);
    if (!collection || collection->ns() == last) co_return StatusWith<storage::HeldLock>(std::move(*lock));
    last = collection->ns();
  }
}

/// Scans in slices, each under an intent lock: writers go on beside it, and an operation that wants the collection for
/// itself waits for the present slice only.
Task<Status> scanInSlices(Request& request, BuildSteps steps, Namespace ns) {
  ServerContext& server = request.server();
  const bson::Uuid uuid = steps.builder->uuid();
  while (!*steps.ended) {
    const auto lock = co_await lockWhereItIs(server, request.operation(), uuid, ns, storage::LockMode::kIX);
    if (!lock.isOK()) co_return lock.status();
    if (!server.catalog.snapshot()->find(uuid))
      co_return Status(ErrorCode::kNamespaceNotFound, "the collection was dropped while its index was built");
    TROUPE_CO_TRY(co_await runBlocking(server, "index build: scan", steps.scan()));
    TROUPE_CO_TRY(request.checkForInterrupt());
  }
  co_return Status::OK();
}

Task<Status> commitBuild(Request& request, BuildSteps steps, Namespace ns) {
  ServerContext& server = request.server();
  const auto lock =
      co_await lockWhereItIs(server, request.operation(), steps.builder->uuid(), ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  co_return co_await runBlocking(server, "index build: commit", steps.commit());
}

/// Removes what a failed build has left. It waits as the build's own operation, which nobody kills.
Task<Status> abortBuild(ServerContext& server, BuildSteps steps, Namespace ns) {
  const auto lock = co_await lockWhereItIs(server, *steps.operation, steps.builder->uuid(), ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  co_return co_await runBlocking(server, "index build: abort", steps.abort());
}

/// Builds indexes over an existing collection: short exclusive phases at both ends, and in between a scan that lets
/// others read and write. (IXB)
Task<Status> build(Request& request, Namespace ns, std::vector<storage::IndexSpec> specs, storage::HeldLock exclusive) {
  ServerContext& server = request.server();
  request.operation().setPriority(storage::AdmissionPriority::kLow);
  const BuildSteps steps{std::make_shared<storage::IndexBuilder>(server.catalog, ns, std::move(specs)),
                         std::make_shared<storage::OperationContext>(server.operations()), &server};
  Status status = co_await runBlocking(server, "index build: start", steps.start());
  exclusive.reset();
  if (!status.isOK()) co_return status;
  status = co_await scanInSlices(request, steps, ns);
  if (status.isOK()) status = co_await commitBuild(request, steps, ns);
  if (!status.isOK()) {
    const Status aborted = co_await abortBuild(server, steps, ns);
    if (!aborted.isOK())
      server.log.warning(log::Component::kIndex, 20438, "index", "An aborted index build left traces",
                         bson::doc("error", aborted.reason()));
  }
  request.operation().noteWritten();  // by an operation of the build's own
  request.operation().setLastOpTime(steps.operation->lastOpTime());
  co_return status;
}

Task<Status> createIndexes(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  const auto given = request.documents("indexes");
  if (!given.isOK()) co_return given.status();
  if (given->empty()) co_return Status(ErrorCode::kBadValue, "Must specify at least one index to create");
  for (const bson::View spec : *given) {
    if (spec["name"].isNullish())
      co_return Status(ErrorCode::kFailedToParse,
                       "Error in specification " + std::string("{}") +
                           " :: caused by :: The 'name' field is a required property of an index specification");
    if (request.flag("apiStrict")) {
      if (Status status = checkIndexInStableApi(spec); !status.isOK()) co_return status;
    }
  }
  ServerContext& server = request.server();
  const bool existed = server.catalog.find(ns) != nullptr;
  if (Status status = co_await writerOf(request).createIfMissing(ns); !status.isOK()) co_return status;
  auto target = co_await openForChange(
      request, {"the collection was dropped while its index was to be created: ", "Cannot create indexes on a view: "});
  if (!target.isOK()) co_return target.status();
  const CollectionPtr& collection = target->collection;
  const auto before = static_cast<int32_t>(collection->accessPaths().size());
  auto specs = storage::newIndexes(server.catalog, *collection, *given);
  if (!specs.isOK()) co_return specs.status();
  if (Status status = checkPartialFilters(request, *specs); !status.isOK()) co_return status;
  if (!specs->empty()) {
    const Status status = co_await build(request, ns, *specs, std::move(target->lock));
    if (!status.isOK()) co_return status;
  }
  bson::Builder& reply = request.reply();
  reply.append("numIndexesBefore", before).append("numIndexesAfter", before + static_cast<int32_t>(specs->size()));
  reply.append("createdCollectionAutomatically", !existed);
  if (specs->empty()) reply.append("note", "all indexes already exist");
  co_return Status::OK();
}

/// A row of listIndexes: the index that a clustered collection is ordered by shows as it was asked for.
bson::Document listedIndex(const storage::Collection& collection, const storage::IndexEntry& index) {
  if (!index.spec.idIndex || !collection.isClustered()) return storage::listedSpec(index.spec);
  return bson::Builder().appendAll(*collection.options().clusteredIndex).append("clustered", true).finish();
}

constexpr Argument kListIndexesArguments[] = {documentArg("cursor"), flagArg("includeBuildUUIDs")};

Task<Status> listIndexes(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  const auto collection = request.server().catalog.find(ns);
  if (!collection) co_return Status(ErrorCode::kNamespaceNotFound, "ns does not exist: " + ns.toString());
  if (collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView,
                     "Namespace " + ns.toString() + " is a view, not a collection");
  std::vector<bson::Document> rows;
  for (const auto& index : collection->accessPaths()) {
    if (index->ready) rows.push_back(listedIndex(*collection, *index));
  }
  co_return co_await replyWithRows(request, ns.toString(), std::move(rows), request.document("cursor")["batchSize"]);
}

constexpr Argument kDropIndexesArguments[] = {eitherArg("index", kStringArg | kDocumentArg | kArrayArg).required()};

Task<Status> dropIndexes(Request& request) {
  const auto target = co_await openForChange(request, {"ns not found ", "Cannot drop indexes on view "});
  if (!target.isOK()) co_return target.status();
  ServerContext& server = request.server();
  const CollectionPtr& collection = target->collection;
  const auto names = storage::indexNamesFor(*collection, request.arg("index"));
  if (!names.isOK()) co_return names.status();
  const auto before = static_cast<int32_t>(collection->accessPaths().size());
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::dropIndexes(server.catalog, unit, collection, *names).status();
  };
  const Status status = co_await changeCatalog(request, change);
  if (!status.isOK()) co_return status;
  request.reply().append("nIndexesWas", before);
  if (request.arg("index").toStringOr() == "*") request.reply().append("msg", "non-_id indexes dropped for collection");
  co_return Status::OK();
}

constexpr Argument kCollModArguments[] = {
    documentArg("index"),
    documentArg("validator"),
    stringArg("validationLevel"),
    stringArg("validationAction"),
    stringArg("viewOn"),
    arrayArg("pipeline"),
    anyArg("expireAfterSeconds"),
    documentArg("changeStreamPreAndPostImages"),
    numberArg("cappedSize"),
    numberArg("cappedMax"),
    flagArg("dryRun"),
    documentArg("timeseries"),
};

constexpr Argument kCollModIndex[] = {
    documentArg("keyPattern"), stringArg("name"), numberArg("expireAfterSeconds"),
    flagArg("hidden"),         flagArg("unique"), flagArg("prepareUnique"),
};

/// The index that collMod's `index` names.
StatusWith<const storage::IndexEntry*> indexToModify(const storage::Collection& collection, bson::View index) {
  bson::Builder checked;
  checked.append("index", 1).appendAll(index);
  TROUPE_TRY(checkArguments("collMod.index", kCollModIndex, checked.finish()));
  const auto name = index["name"], keyPattern = index["keyPattern"];
  const bool byName = !name.isNullish();
  if (byName != keyPattern.isNullish())
    return Status(ErrorCode::kInvalidOptions, byName ? "Cannot specify both key pattern and name."
                                                     : "Must specify either index name or key pattern.");
  const auto* entry =
      byName ? collection.findIndex(name.asString()) : collection.findIndexByKey(keyPattern.asDocument());
  if (!entry) {
    return Status(ErrorCode::kIndexNotFound,
                  "cannot find index " + (byName ? std::string(name.asString()) : std::string("by its key pattern")) +
                      " for ns " + collection.ns().toString());
  }
  return entry;
}

StatusWith<storage::CollectionChange> collModChange(Request& request, const storage::Collection& collection,
                                                    const storage::IndexEntry*& index) {
  storage::CollectionChange change;
  if (const auto spec = request.document("index"); !spec.empty()) {
    TROUPE_ASSIGN(index, indexToModify(collection, spec));
    change.index = index->spec.name;
    if (const auto e = spec["hidden"]; e) change.indexChange.hidden = e.truthy();
    if (const auto e = spec["unique"]; e) change.indexChange.unique = e.truthy();
    if (const auto e = spec["prepareUnique"]; e) change.indexChange.prepareUnique = e.truthy();
    if (const auto e = spec["expireAfterSeconds"]; e) change.indexChange.expireAfterSeconds = e.toInt64();
  }
  if (request.arg("validator")) change.validator = bson::Document(request.document("validator"));
  if (const auto e = request.arg("validationLevel"); e) change.validationLevel = std::string(e.asString());
  if (const auto e = request.arg("validationAction"); e) change.validationAction = std::string(e.asString());
  if (const auto e = request.arg("viewOn"); e) change.viewOn = std::string(e.asString());
  if (request.arg("pipeline")) change.pipeline = bson::Document(request.document("pipeline"));
  if (const auto e = request.arg("cappedSize"); e) change.cappedSize = e.toInt64();
  if (const auto e = request.arg("cappedMax"); e) change.cappedMax = e.toInt64();
  if (const auto e = request.arg("expireAfterSeconds"); e && e.isNumber()) change.expireAfterSeconds = e.toInt64();
  if (const auto images = request.document("changeStreamPreAndPostImages"); !images.empty())
    change.recordPreImages = images["enabled"].truthy();
  if (change.validator && !change.validator->empty()) {
    QueryResources resources(request.server(), request.operation());
    TROUPE_TRY(prepareContext(resources, request, {}, {}));
    TROUPE_TRY(query::parseMatch(*change.validator, resources.context).status());
  }
  return change;
}

void replyWithIndexChange(bson::Builder& reply, const storage::SpecChange& change, const storage::IndexSpec& before) {
  if (change.expireAfterSeconds) {
    if (before.expireAfterSeconds) reply.append("expireAfterSeconds_old", *before.expireAfterSeconds);
    reply.append("expireAfterSeconds_new", *change.expireAfterSeconds);
  }
  if (change.hidden) reply.append("hidden_old", before.hidden).append("hidden_new", *change.hidden);
  if (change.prepareUnique)
    reply.append("prepareUnique_old", before.prepareUnique).append("prepareUnique_new", *change.prepareUnique);
  if (change.unique && *change.unique) reply.append("unique_new", true);
}

std::function<Status()> lookForDuplicates(ServerContext& server, CollectionPtr collection,
                                          const storage::IndexEntry* index,
                                          std::shared_ptr<bson::Document> violations) {
  return [&server, collection, index, violations]() -> Status {
    storage::OperationContext operation(server.operations());
    TROUPE_ASSIGN(*violations, storage::uniqueViolations(operation.recoveryUnit(), *collection, *index));
    return Status::OK();
  };
}

/// Before an index becomes unique every key is looked at (IDX-004); duplicates are reported by their documents' ids.
Task<Status> checkUnique(Request& request, CollectionPtr collection, const storage::IndexEntry* index) {
  auto violations = std::make_shared<bson::Document>();
  ServerContext& server = request.server();
  const Status status = co_await runBlocking(server, "collMod: look for duplicates",
                                             lookForDuplicates(server, collection, index, violations));
  if (!status.isOK() || violations->empty()) co_return status;
  bson::Builder extra;
  extra.appendArray("violations", *violations);
  co_return Status(
      ErrorCode::kCannotConvertIndexToUnique,
      "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.",
      extra.finish());
}

Task<Status> collMod(Request& request) {
  const auto target = co_await openForChange(request, {.missing = "ns does not exist: ", .view = {}});
  if (!target.isOK()) co_return target.status();
  ServerContext& server = request.server();
  const CollectionPtr& collection = target->collection;
  const storage::IndexEntry* index = nullptr;
  const auto change = collModChange(request, *collection, index);
  if (!change.isOK()) co_return change.status();
  if (change->indexChange.unique.value_or(false)) {
    if (Status status = co_await checkUnique(request, collection, index); !status.isOK()) co_return status;
  }
  if (request.flag("dryRun")) {
    if (!change->indexChange.unique)
      co_return Status(ErrorCode::kInvalidOptions, "dryRun goes with converting an index to unique");
    co_return Status::OK();
  }
  if (index) replyWithIndexChange(request.reply(), change->indexChange, index->spec);
  auto apply = [&](storage::RecoveryUnit& unit) {
    return storage::modifyCollection(server.catalog, unit, collection, *change).status();
  };
  co_return co_await changeCatalog(request, apply);
}

constexpr Command kIndexCommands[] = {
    {.name = "createIndexes",
     .summary = "builds indexes",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCreateIndex},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .arguments = kCreateIndexesArguments,
     .run = createIndexes},
    {.name = "listIndexes",
     .summary = "the indexes of a collection",
     .requirement = {Requirement::Target::kCollection, auth::Action::kListIndexes},
     .access = Access::kRead,
     .stableApi = true,
     .namesCollection = true,
     .takesUuid = true,
     .arguments = kListIndexesArguments,
     .run = listIndexes},
    {.name = "dropIndexes",
     .alias = "deleteIndexes",
     .summary = "drops indexes by name or key",
     .requirement = {Requirement::Target::kCollection, auth::Action::kDropIndex},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .arguments = kDropIndexesArguments,
     .run = dropIndexes},
    {.name = "collMod",
     .summary = "changes options of a collection, view or index",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCollMod},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .arguments = kCollModArguments,
     .run = collMod},
};

}  // namespace

std::span<const Command> indexCommands() { return kIndexCommands; }

}  // namespace troupe::commands
