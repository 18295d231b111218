// createIndexes, listIndexes, dropIndexes, collMod.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "actors/commands/blocking_work.hpp"
#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/views.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/maintenance/discard_build.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/server/stable_api.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/match/partial_filter.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;
using storage::Namespace;

namespace {

constexpr Argument kCreateIndexesArguments[] = {
    arrayArg("indexes").required(),
    anyArg("commitQuorum"),
    flagArg("ignoreUnknownIndexOptions"),
    uuidArg("collectionUUID"),
};

constexpr size_t kMostSpecifications = 1000;        // indexes that exist already may be named, but nobody needs so many
constexpr int kMostPartialFilterBytes = 64 * 1024;  // every plan of a query parses and compares partial filters

/// Partial filters belong to the query language: they must parse before they are stored.
Status checkPartialFilters(const Request& request, const std::vector<storage::IndexSpec>& specs) {
  QueryResources resources(request.server(), request.operation());
  TROUPE_TRY(prepareContext(resources, request, {}, {}));
  for (const auto& spec : specs) {
    if (!spec.partialFilter) continue;
    if (spec.partialFilter->view().size() > kMostPartialFilterBytes)
      return {ErrorCode::kCannotCreateIndex, "the partial filter of index " + spec.name + " is larger than 64 KiB"};
    const auto parsed = query::parseMatch(*spec.partialFilter, resources.context);
    const Status status = parsed.isOK() ? query::checkPartialFilter(**parsed) : parsed.status();
    if (!status.isOK())
      return {ErrorCode::kCannotCreateIndex,
              "Error in specification " + spec.name + " :: caused by :: " + status.reason()};
  }
  return Status::OK();
}

/// Refuses specifications before anything is done about them.
Status checkSpecifications(const Request& request, const std::vector<bson::View>& specs) {
  if (specs.empty()) return {ErrorCode::kBadValue, "Must specify at least one index to create"};
  if (specs.size() > kMostSpecifications)
    return {ErrorCode::kBadValue, "createIndexes takes no more than 1000 specifications at a time"};
  for (const bson::View spec : specs) {
    if (spec["name"].isNullish())
      return {ErrorCode::kFailedToParse,
              "Error in specification {} :: caused by :: The 'name' field is a required property of an index "
              "specification"};
    if (request.flag("apiStrict")) TROUPE_TRY(checkIndexInStableApi(spec));
  }
  return Status::OK();
}

/// Tells the builds when the request goes away without their answer: it was killed, its time is over, its client left.
/// Nothing happens to a build that has ended.
class AwaitedBuild {
 public:
  explicit AwaitedBuild(Request& request) : node_(request.server().node), operation_(request.operation().id()) {}
  AwaitedBuild(const AwaitedBuild&) = delete;
  AwaitedBuild& operator=(const AwaitedBuild&) = delete;
  ~AwaitedBuild() {
    if (!answered_) node_.tell(builds(), local(maintenance::StopWaiting{operation_}));
  }
  Address builds() const { return node_.address(maintenance::kIndexBuildsPath); }
  void answered() { answered_ = true; }

 private:
  Node& node_;
  const int64_t operation_;
  bool answered_ = false;
};

/// Has the indexes built by an actor (actors/maintenance/index_build.hpp), and only waits for its answer.
Task<StatusWith<maintenance::IndexesBuilt>> buildIndexes(Request& request, CollectionPtr collection,
                                                         std::vector<bson::View> specs) {
  Node& node = request.server().node;
  storage::OperationContext& operation = request.operation();
  if (operation.hasRecoveryUnit()) operation.recoveryUnit().releaseSession();
  request.endWithClient();
  AwaitedBuild awaited(request);
  maintenance::BuildIndexes wanted;
  wanted.collection = collection->uuid();
  wanted.ns = collection->ns();
  for (const bson::View spec : specs) wanted.specs.emplace_back(spec);
  wanted.waiter = operation.id();
  auto asked = node.ask(awaited.builds(), local(std::move(wanted)));
  const Answer answer = co_await awaitAnswer(node, operation, std::move(asked));
  if (answer.isOK()) awaited.answered();  // a failure may be the request's own: its deadline, a kill
  TROUPE_CO_TRY(request.checkForInterrupt());
  // No build has answered: those are the kernel's errors for an actor that is not there.
  if (answer.status() == ErrorCode::kNoSuchKey || answer.status() == ErrorCode::kShutdownInProgress)
    co_return Status(ErrorCode::kIndexBuildAborted, "the supervisor of index builds is being started again");
  if (!answer.isOK()) co_return answer.status();
  TROUPE_CO_ASSIGN(const auto built, answer->local<maintenance::BuildOutcome>().indexes);
  if (built.after != built.before) {
    operation.noteWritten();  // by the build's operation
    operation.setLastOpTime(built.lastOpTime);
  }
  co_return built;
}

Task<Status> createIndexes(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_ASSIGN(const auto given, request.documents("indexes"));
  TROUPE_CO_TRY(checkSpecifications(request, given));
  ServerContext& server = request.server();
  const bool existed = server.catalog.find(ns) != nullptr;
  TROUPE_CO_TRY(co_await createIfMissing(request, ns));
  const CollectionPtr collection = server.catalog.find(ns);
  if (!collection)
    co_return Status(ErrorCode::kNamespaceNotFound,
                     "the collection was dropped while its index was to be created: " + ns.toString());
  if (collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView, "Cannot create indexes on a view: " + ns.toString());
  TROUPE_CO_ASSIGN(const auto specs, storage::newIndexes(server.catalog.unguarded(), *collection, given));
  TROUPE_CO_TRY(checkPartialFilters(request, specs));
  TROUPE_CO_ASSIGN(const auto built, co_await buildIndexes(request, collection, given));
  bson::Builder& reply = request.reply();
  reply.append("numIndexesBefore", built.before).append("numIndexesAfter", built.after);
  reply.append("createdCollectionAutomatically", !existed);
  if (built.before == built.after) reply.append("note", "all indexes already exist");
  co_return Status::OK();
}

/// A row of listIndexes: the index that a clustered collection is ordered by shows as it was asked for.
bson::Document listedIndex(const storage::Collection& collection, const storage::IndexEntry& index) {
  if (!index.spec.idIndex || !collection.isClustered()) return storage::listedSpec(index.spec);
  return bson::Builder().appendAll(*collection.options().clusteredIndex).append("clustered", true).finish();
}

constexpr Argument kListIndexesArguments[] = {documentArg("cursor"), flagArg("includeBuildUUIDs"),
                                              flagArg("includeIndexBuildInfo"), uuidArg("collectionUUID")};

Task<Status> listIndexes(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  const auto collection = request.server().catalog.find(ns);
  if (!collection) co_return Status(ErrorCode::kNamespaceNotFound, "ns does not exist: " + ns.toString());
  if (collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView,
                     "Namespace " + ns.toString() + " is a view, not a collection");
  ListedRows rows(request.operation().memory());
  const bool withInfo = request.flag("includeIndexBuildInfo"), withUuids = request.flag("includeBuildUUIDs");
  if (withInfo && withUuids)
    co_return Status(ErrorCode::kInvalidOptions, "includeIndexBuildInfo and includeBuildUUIDs exclude each other");
  for (const auto& index : collection->accessPaths()) {
    bson::Document row = listedIndex(*collection, *index);
    if (index->ready) {
      TROUPE_CO_TRY(rows.add(withInfo ? bson::doc("spec", row) : std::move(row)));
    } else if (index->buildUuid && withUuids) {
      TROUPE_CO_TRY(rows.add(bson::doc("spec", row, "buildUUID", *index->buildUuid)));
    } else if (index->buildUuid && withInfo) {
      TROUPE_CO_TRY(rows.add(bson::doc("spec", row, "indexBuildInfo", bson::doc("buildUUID", *index->buildUuid))));
    }
  }
  TROUPE_CO_ASSIGN(const auto batchSize, batchSizeOf(request));
  co_return co_await replyWithRows(request, ns.toString(), std::move(rows), batchSize);
}

constexpr Argument kDropIndexesArguments[] = {eitherArg("index", kStringArg | kDocumentArg | kArrayArg).required(),
                                              uuidArg("collectionUUID")};

/// The builds that make some of these indexes. All unfinished indexes of a build go together, so all of them have to be
/// named. Errors: BackgroundOperationInProgressForNamespace.
StatusWith<std::vector<bson::Uuid>> buildsToAbort(const storage::Collection& collection,
                                                  const std::vector<std::string>& names) {
  std::vector<bson::Uuid> builds;
  for (const auto& index : collection.indexes())
    if (!index->ready && index->buildUuid && std::ranges::find(names, index->spec.name) != names.end())
      builds.push_back(*index->buildUuid);
  for (const auto& index : collection.indexes()) {
    const bool isBuilt = !index->ready && index->buildUuid;
    if (isBuilt && std::ranges::find(builds, *index->buildUuid) != builds.end() &&
        std::ranges::find(names, index->spec.name) == names.end())
      return Status(ErrorCode::kBackgroundOperationInProgressForNamespace,
                    "the index " + index->spec.name +
                        " is built together with one to be dropped: name all indexes of the build, or none");
  }
  return builds;
}

/// A dropIndexes under way: what was found when it first had the lock.
struct IndexDrop {
  std::optional<int32_t> before;
  std::vector<std::string> names;
};

/// Drops the indexes under the lock. True when it is done; false when builds were aborted first, with which their
/// indexes have gone: the caller looks again.
Task<StatusWith<bool>> dropOnce(Request& request, IndexDrop& drop) {
  auto target = co_await openForChange(request, {"ns not found ", "Cannot drop indexes on view "});
  if (!target.isOK()) co_return target.status();
  const CollectionPtr collection = target->collection;
  if (!drop.before) {
    drop.before = static_cast<int32_t>(collection->accessPaths().size());
    TROUPE_CO_ASSIGN(drop.names, storage::indexNamesFor(*collection, request.arg("index")));
  }
  std::erase_if(drop.names, [&](const std::string& name) { return !collection->findIndex(name); });
  TROUPE_CO_ASSIGN(const auto builds, buildsToAbort(*collection, drop.names));
  if (!builds.empty()) {
    target->lock.reset();
    request.endWithClient();
    Status why(ErrorCode::kIndexBuildAborted, "the index was dropped during its build");
    TROUPE_CO_TRY(co_await abortIndexBuilds(request, collection->uuid(), builds, std::move(why)));
    for (const bson::Uuid& build : builds) {  // where none of it runs: a primary before this one has left them
      storage::UnfinishedBuild left{collection->uuid(), collection->ns(), build};
      TROUPE_CO_TRY(co_await maintenance::discardBuild(request.server(), request.operation(), std::move(left)));
    }
    co_return false;
  }
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::dropIndexes(request.server().catalog.unguarded(), unit, collection, drop.names).status();
  };
  TROUPE_CO_TRY(co_await changeCatalog(request, change));
  co_return true;
}

Task<Status> dropIndexes(Request& request) {
  IndexDrop drop;
  for (bool done = false; !done;) {
    TROUPE_CO_ASSIGN(done, co_await dropOnce(request, drop));
  }
  request.reply().append("nIndexesWas", *drop.before);
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
    uuidArg("collectionUUID"),
};

/// What collMod does to an index, by the names of its fields.
constexpr std::string_view kIndexChanges[] = {"expireAfterSeconds", "hidden", "unique", "prepareUnique"};

constexpr Argument kCollModIndex[] = {
    documentArg("keyPattern"), stringArg("name"), numberArg("expireAfterSeconds"),
    flagArg("hidden"),         flagArg("unique"), flagArg("prepareUnique"),
};

/// The index that collMod's `index` names.
StatusWith<const storage::IndexEntry*> indexToModify(const storage::Collection& collection, bson::View index) {
  const auto name = index["name"], keyPattern = index["keyPattern"];
  const bool byName = !name.isNullish();
  if (const auto& key = collection.clusterKey();
      key && !index["hidden"].isNullish() &&
      (byName ? name.asString() == collection.shownName(*key) : keyPattern.asDocument() == key->spec.key.view()))
    return Status(ErrorCode(6011800), "the clustered index can be neither hidden nor unhidden");
  const auto* entry =
      byName ? collection.findIndex(name.asString()) : collection.findIndexByKey(keyPattern.asDocument());
  if (!entry) {
    return Status(ErrorCode::kIndexNotFound,
                  "cannot find index " + (byName ? std::string(name.asString()) : std::string("by its key pattern")) +
                      " for ns " + collection.ns().toString());
  }
  return entry;
}

/// Not a number would count as 0, and everything would expire at once.
StatusWith<int64_t> newLifetime(const bson::Element& seconds) {
  if (std::isnan(seconds.toDouble()))
    return Status(ErrorCode::kInvalidOptions, "'expireAfterSeconds' must be a number of seconds, not NaN");
  return seconds.toInt64();
}

/// Of a clustered collection: seconds, or "off".
StatusWith<storage::LifetimeChange> newLifetimeOfDocuments(const bson::Element& given) {
  if (given.toStringOr() == "off") return storage::LifetimeChange{};
  if (!given.isNumber())
    return Status(ErrorCode::kInvalidOptions, "'expireAfterSeconds' must be a number of seconds, or 'off'");
  TROUPE_ASSIGN(const int64_t seconds, newLifetime(given));
  return storage::LifetimeChange{seconds};
}

/// What the command asks for, before the collection is looked at.
Status checkCollMod(const Request& request, const Namespace& ns) {
  const bool isRestricted = ns.isSystem() || ns.db() == "admin" || ns.db() == "config" || ns.db() == "local";
  if (request.arg("validator") && isRestricted)
    return {ErrorCode::kInvalidOptions,
            "Document validators are not allowed on system collections and in the databases admin, config and local: " +
                ns.toString()};
  const auto given = request.arg("index");
  if (!given) return Status::OK();
  const bson::View index = given.asDocument();
  TROUPE_TRY(checkFields("collMod.index", kCollModIndex, index));
  const bool byName = !index["name"].isNullish(), byKey = !index["keyPattern"].isNullish();
  if (byName == byKey)
    return {ErrorCode::kInvalidOptions,
            byName ? "Cannot specify both key pattern and name." : "Must specify either index name or key pattern."};
  const auto changes = [&](std::string_view name) { return !index[name].isNullish(); };
  if (std::ranges::none_of(kIndexChanges, changes))
    return {ErrorCode::kInvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field"};
  return Status::OK();
}

/// A change to `prepareUnique` is made alone; one to what it is already is none.
Status checkPrepareUnique(storage::SpecChange& change, const storage::IndexSpec& before) {
  if (!change.prepareUnique) return Status::OK();
  if (*change.prepareUnique == before.prepareUnique) {
    change.prepareUnique.reset();
    return Status::OK();
  }
  if (change.hidden || change.unique || change.expireAfterSeconds)
    return {ErrorCode::kInvalidOptions, "prepareUnique cannot be changed together with another option of the index"};
  return Status::OK();
}

StatusWith<storage::CollectionChange> collModChange(Request& request, const storage::Collection& collection,
                                                    const storage::IndexEntry*& index) {
  storage::CollectionChange change;
  if (const auto spec = request.document("index"); !spec.empty()) {
    if (collection.isView()) return Status(ErrorCode::kInvalidOptions, "option not supported on a view: index");
    TROUPE_ASSIGN(index, indexToModify(collection, spec));
    change.index = index->spec.name;
    if (const auto e = spec["hidden"]; !e.isNullish()) change.indexChange.hidden = e.truthy();
    if (const auto e = spec["unique"]; !e.isNullish()) change.indexChange.unique = e.truthy();
    if (const auto e = spec["prepareUnique"]; !e.isNullish()) change.indexChange.prepareUnique = e.truthy();
    if (const auto e = spec["expireAfterSeconds"]; !e.isNullish()) {
      TROUPE_ASSIGN(change.indexChange.expireAfterSeconds, newLifetime(e));
    }
    TROUPE_TRY(checkPrepareUnique(change.indexChange, index->spec));
  }
  if (request.arg("validator")) change.validator = bson::Document(request.document("validator"));
  if (const auto e = request.arg("validationLevel"); e) change.validationLevel = std::string(e.asString());
  if (const auto e = request.arg("validationAction"); e) change.validationAction = std::string(e.asString());
  if (const auto e = request.arg("viewOn"); e) change.viewOn = std::string(e.asString());
  if (request.arg("pipeline")) change.pipeline = bson::Document(request.document("pipeline"));
  if (const auto e = request.arg("cappedSize"); e) change.cappedSize = e.toInt64();
  if (const auto e = request.arg("cappedMax"); e) change.cappedMax = e.toInt64();
  if (const auto e = request.arg("expireAfterSeconds"); e) {
    TROUPE_ASSIGN(change.expireAfterSeconds, newLifetimeOfDocuments(e));
    TROUPE_TRY(checkLifetime(request, change.expireAfterSeconds->seconds));
  }
  if (const auto images = request.arg("changeStreamPreAndPostImages"); images) {
    TROUPE_ASSIGN(change.recordPreImages, storage::parsePreImages(images.asDocument(), "collMod"));
  }
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

BlockingBody lookForDuplicates(CollectionPtr collection, const storage::IndexEntry* index,
                               std::shared_ptr<bson::Document> violations) {
  return [collection, index, violations](storage::OperationContext& operation) -> Status {
    TROUPE_ASSIGN(*violations, storage::uniqueViolations(operation.recoveryUnit(), *collection, *index));
    return Status::OK();
  };
}

/// Before an index becomes unique every key is looked at (IDX-004); duplicates are reported by their documents' ids.
/// Beside writers: `prepareUnique` keeps them from adding duplicates, as long as the collection's version stays.
Task<Status> checkUnique(Request& request, CollectionPtr collection, const storage::IndexEntry* index) {
  auto violations = std::make_shared<bson::Document>();
  const auto reading = std::make_shared<ReadingWork>(request.server());
  std::shared_ptr<storage::OperationContext> operation(reading, &reading->operation);
  TROUPE_CO_TRY(co_await lockForWork(request, operation, reading->lock));
  const Status status = co_await runBlocking(request, operation, "collMod: look for duplicates", WorkLength::kLong,
                                             lookForDuplicates(collection, index, violations));
  if (!status.isOK() || violations->empty()) co_return status;
  bson::Builder extra;
  extra.appendArray("violations", *violations);
  co_return Status(
      ErrorCode::kCannotConvertIndexToUnique,
      "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.",
      extra.finish());
}

/// The view as it will be, with what the command leaves as it is.
Status checkViewChange(Request& request, const storage::Collection& view) {
  if (!request.arg("viewOn") && !request.arg("pipeline")) return Status::OK();
  storage::CollectionOptions changed = view.options();
  if (const auto on = request.arg("viewOn"); on) changed.viewOn = std::string(on.asString());
  if (request.arg("pipeline")) changed.pipeline = bson::Document(request.document("pipeline"));
  return checkViewDefinition(request, changed);
}

/// What $indexStats counted says nothing of an index that was hidden, or is used again.
void countAccessesAnew(Request& request, const storage::IndexEntry& index) {
  index.state->accesses = 0;
  index.state->sinceMillis = wallMillis(request.server());
}

/// Changes the collection under its lock, unless it is another version than `checked`, whose keys were looked at: then
/// nothing is done, and the answer is false.
Task<StatusWith<bool>> modify(Request& request, CollectionPtr checked) {
  const auto target = co_await openForChange(request, {.missing = "ns does not exist: ", .view = {}});
  if (!target.isOK()) co_return target.status();
  const CollectionPtr& collection = target->collection;
  if (collection->isView()) TROUPE_CO_TRY(checkViewChange(request, *collection));
  const storage::IndexEntry* index = nullptr;
  TROUPE_CO_ASSIGN(const auto change, collModChange(request, *collection, index));
  if (change.indexChange.unique.value_or(false) && collection != checked) co_return false;
  if (request.flag("dryRun")) {
    if (!change.indexChange.unique)
      co_return Status(ErrorCode::kInvalidOptions, "dryRun goes with converting an index to unique");
    co_return true;
  }
  if (index) replyWithIndexChange(request.reply(), change.indexChange, index->spec);
  auto apply = [&](storage::RecoveryUnit& unit) {
    return storage::modifyCollection(request.server().catalog.unguarded(), unit, collection, change).status();
  };
  TROUPE_CO_TRY(co_await changeCatalog(request, apply));
  if (index && change.indexChange.hidden && *change.indexChange.hidden != index->spec.hidden)
    countAccessesAnew(request, *index);
  co_return true;
}

Task<Status> collMod(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_TRY(checkCollMod(request, ns));
  for (;;) {
    const CollectionPtr collection = request.server().catalog.find(ns);
    if (!collection) co_return Status(ErrorCode::kNamespaceNotFound, "ns does not exist: " + ns.toString());
    const storage::IndexEntry* index = nullptr;
    TROUPE_CO_ASSIGN(const auto change, collModChange(request, *collection, index));
    if (change.indexChange.unique.value_or(false)) TROUPE_CO_TRY(co_await checkUnique(request, collection, index));
    TROUPE_CO_ASSIGN(const bool done, co_await modify(request, collection));
    if (done) co_return Status::OK();
    TROUPE_CO_TRY(co_await request.yield());
  }
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
