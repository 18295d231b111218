// createIndexes, listIndexes, dropIndexes.
#include <algorithm>
#include <optional>
#include <utility>

#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
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
  if (ns.isStateOfMember())  // the build would write it, not this client
    co_return Status(ErrorCode::kIllegalOperation,
                     ns.toString() + " is state of this member: only the server writes it");
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
};

}  // namespace

std::span<const Command> indexCommands() { return kIndexCommands; }

}  // namespace troupe::commands
