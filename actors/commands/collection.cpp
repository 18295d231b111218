// create, drop, dropDatabase, listDatabases, listCollections.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/views.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/server/observed_documents.hpp"
#include "actors/server/profiler.hpp"
#include "actors/server/rights_collection.hpp"
#include "actors/server/session_access.hpp"
#include "actors/server/stable_api.hpp"
#include "actors/server/write_concern.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/plan_stage.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;
using storage::Namespace;

namespace {

constexpr Argument kDropArguments[] = {uuidArg("collectionUUID")};

constexpr Argument kCreateArguments[] = {
    flagArg("capped").outsideStableApi(),
    numberArg("size").outsideStableApi(),
    numberArg("max").outsideStableApi(),
    flagArg("autoIndexId").outsideStableApi(),
    documentArg("idIndex"),
    documentArg("storageEngine").outsideStableApi(),
    documentArg("validator"),
    stringArg("validationLevel"),
    stringArg("validationAction"),
    documentArg("indexOptionDefaults").outsideStableApi(),
    stringArg("viewOn"),
    arrayArg("pipeline"),
    documentArg("collation"),
    documentArg("timeseries"),
    numberArg("expireAfterSeconds"),
    eitherArg("clusteredIndex", kDocumentArg | kBoolArg),
    documentArg("changeStreamPreAndPostImages"),
    flagArg("temp"),
    documentArg("encryptedFields"),
    numberArg("flags"),
};

/// The command's own options, without its name, generic arguments and what create accepts but does not store.
bson::Document ownOptions(const Request& request) {
  bson::Builder options;
  bool first = true;
  for (const bson::Element& e : request.body()) {
    const bool skip = first || isGenericArgument(e.name()) || e.name() == "autoIndexId" || e.name() == "idIndex" ||
                      e.name() == "flags" || e.isNullish();
    first = false;
    if (!skip) options.append(e);
  }
  return options.finish();
}

/// What else `create` is given than options that are stored.
Status checkCreateArguments(const Request& request, const storage::CollectionOptions& options) {
  TROUPE_TRY(checkLifetime(request, options.expireAfterSeconds));
  if (!request.arg("idIndex")) return Status::OK();
  if (options.isView() || options.timeseries || options.clusteredIndex)
    return {ErrorCode::kInvalidOptions,
            "'idIndex' goes with neither 'viewOn' nor 'timeseries' nor 'clusteredIndex': those have no _id index"};
  return storage::checkIdIndexSpec(request.document("idIndex"), options.collation);
}

/// Parts in the query language (validator, pipeline) must parse before they are stored.
Status checkQueryParts(Request& request, const storage::CollectionOptions& options) {
  QueryResources resources(request.server(), request.operation());
  TROUPE_TRY(prepareContext(resources, request, options.collation, {}));
  if (options.validator && !options.validator->empty()) {
    TROUPE_TRY(query::parseMatch(*options.validator, resources.context).status());
  }
  return options.isView() ? checkViewDefinition(request, options) : Status::OK();
}

/// The server reads system collections by itself: none of them is a view, and those of rights, keys and sessions are as
/// it makes them.
Status checkSystemOptions(const Namespace& ns, const storage::CollectionOptions& options) {
  const bool isOfSessions = ns == kSessions || storage::keepsSessions(ns.toString());
  if (isOfSessions && options.isView())
    return {ErrorCode::kInvalidNamespace, "a view cannot be called " + ns.toString()};
  if (isOfSessions && !options.sameAs({}))
    return {ErrorCode::kInvalidOptions, "the collection " + ns.toString() + " takes no options"};
  if (!ns.isSystem() || ns.collection().starts_with("system.buckets.")) return Status::OK();
  if (options.isView()) return {ErrorCode::kInvalidNamespace, "a view cannot be called " + ns.toString()};
  if ((keepsRights(ns) || ns == kSigningKeys) && !options.sameAs({}))
    return {ErrorCode::kInvalidOptions, "the collection " + ns.toString() + " takes no options"};
  return Status::OK();
}

Task<Status> create(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  auto options = storage::parseCollectionOptions(ownOptions(request));
  if (!options.isOK()) co_return options.status();
  TROUPE_CO_TRY(checkCreateArguments(request, *options));
  if (options->pipeline && request.flag("apiStrict")) {
    if (Status status = checkStagesInStableApi(*options->pipeline); !status.isOK()) co_return status;
  }
  if (Status status = checkQueryParts(request, *options); !status.isOK()) co_return status;
  if (Status status = storage::validateForCreate(ns); !status.isOK()) co_return status;
  TROUPE_CO_TRY(checkSystemOptions(ns, *options));
  if (ns.collection() == kProfileCollection && !options->capped)
    co_return Status(ErrorCode::kInvalidOptions, "the collection system.profile must be capped");
  if (Status status = writerOf(request).roomForTable(); !status.isOK()) co_return status;
  const auto lock = co_await lockCollection(request.server().node, request.operation(), ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::createCollection(request.server().catalog.unguarded(), unit, ns, *options).status();
  };
  co_return co_await changeCatalog(request, change);
}

/// Index builds end before their collections do, and not by finding them gone.
Task<Status> abortBuildsOf(Request& request, CollectionPtr collection) {
  if (!collection || collection->isView()) co_return Status::OK();
  Status why(ErrorCode::kIndexBuildAborted, "the collection " + collection->ns().toString() + " is dropped");
  std::vector<bson::Uuid> all;
  co_return co_await abortIndexBuilds(request, collection->uuid(), std::move(all), std::move(why));
}

/// A view in the place of a system collection keeps nothing: it may always go.
Status checkDrop(const Namespace& ns, const CollectionPtr& there) {
  return there && there->isView() ? Status::OK() : checkUserDrop(ns);
}

/// A cursor that reads at one time sees the collection as of then, whose table stays as long (CAT-024). Of those in use
/// nothing is known: they end.
bool endsByDrop(const ClientCursor& cursor) { return !cursor.stash.readConcern.isSnapshot(); }

Task<Status> drop(Request& request) {
  const auto ns = request.target();
  if (!ns.isOK()) co_return ns.status();
  ServerContext& server = request.server();
  TROUPE_CO_TRY(checkDrop(*ns, server.catalog.find(*ns)));
  if (ns->collection() == kProfileCollection && server.profiler.isOn(ns->db()))
    co_return Status(ErrorCode::kIllegalOperation, "turn off profiling before dropping the system.profile collection");
  TROUPE_CO_TRY(co_await abortBuildsOf(request, server.catalog.find(*ns)));
  const auto target = co_await openForChange(request, {});
  if (!target.isOK()) co_return target.status();
  const CollectionPtr& collection = target->collection;
  if (!collection) co_return Status::OK();  // as of 7.0 dropping what does not exist succeeds
  TROUPE_CO_TRY(checkDrop(*ns, collection));
  const auto indexes = static_cast<int32_t>(collection->accessPaths().size());
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::dropCollection(server.catalog.unguarded(), unit, collection);
  };
  const Status status = co_await changeCatalog(request, change);
  if (!status.isOK()) co_return status;
  if (!collection->isView()) {
    server.cursors.killIf(
        [&](const ClientCursor& cursor) { return cursor.ns == ns->toString() && endsByDrop(cursor); });
    request.reply().append("nIndexesWas", indexes);
  }
  server.usage.forget(ns->toString());
  request.reply().append("ns", ns->toString());
  co_return Status::OK();
}

Status checkDropDatabase(const Request& request) {
  const bson::Element value = request.body().first();
  if (value.isNullish())
    return {ErrorCode::kMissingRequiredField, "BSON field 'dropDatabase.dropDatabase' is missing but a required field"};
  if (!value.isNumber())
    return {ErrorCode::kTypeMismatch, "BSON field 'dropDatabase.dropDatabase' is the wrong type '" +
                                          std::string(bson::typeName(value.type())) +
                                          "', expected types '[long, int, decimal, double]'"};
  if (value.toInt64() == 1) return Status::OK();
  return {ErrorCode(5255100), "the value of dropDatabase must be 1: the database is that of the command"};
}

/// Nobody can create anything in the database meanwhile.
constexpr std::chrono::minutes kMostPatience(10);

using PendingDrop = std::optional<storage::PendingDatabaseDrops::Drop>;

/// After these collections of the database were dropped.
void endUseOf(ServerContext& server, std::string_view db, const std::vector<CollectionPtr>& dropped) {
  const std::string prefix = std::string(db) + ".";
  server.cursors.killIf(
      [&](const ClientCursor& cursor) { return cursor.ns.starts_with(prefix) && endsByDrop(cursor); });
  for (const CollectionPtr& collection : dropped) server.usage.forget(collection->ns().toString());
}

/// On a member: the collections go first, and a majority has to know it before the database goes, so that no rollback
/// brings them back into a database that is gone (DRP-005). `pending`: nobody creates others until it ends.
Task<Status> dropItsCollections(Request& request, AuthorizedDatabase database, const std::vector<CollectionPtr>& doomed,
                                PendingDrop& pending) {
  ServerContext& server = request.server();
  storage::OperationContext& operation = request.operation();
  {
    const auto lock = co_await lockDatabase(server.node, operation, database.name(), storage::LockMode::kX);
    if (!lock.isOK()) co_return lock.status();
    // Not in `config`: the node's own writes there make their collections again, and may not fail.
    if (database.name() != "config") {
      TROUPE_CO_ASSIGN(auto begun, server.catalog.databaseDrops().begin(database.name()));
      pending.emplace(std::move(begun));
    }
    auto drops = [&](storage::RecoveryUnit& unit) -> Status {
      for (const CollectionPtr& collection : server.catalog.collections(database))
        TROUPE_TRY(storage::dropCollection(server.catalog.unguarded(), unit, collection));
      return Status::OK();
    };
    TROUPE_CO_TRY(co_await changeCatalog(request, drops));
  }
  endUseOf(server, database.name(), doomed);
  operation.recoveryUnit().releaseSession();
  const storage::WriteConcern wanted = std::exchange(operation.writeConcern, {});
  operation.writeConcern.majority = true;
  operation.writeConcern.timeout = wanted.timeout.value_or(kMostPatience);
  const Status known = co_await awaitWriteConcern(request, WhileAwaited::kClientMayBeGone);
  operation.writeConcern = wanted;
  co_return known;
}

Task<Status> dropDatabase(Request& request) {
  TROUPE_CO_TRY(checkDropDatabase(request));
  ServerContext& server = request.server();
  const std::string db(request.db());
  // Without `local` a node that stands alone has left the set whose data it holds.
  if (db == "admin" || (db == "local" && server.membership))
    co_return Status(ErrorCode::kIllegalOperation, "Dropping the '" + db + "' database is prohibited.");
  if (server.profiler.isOn(db)) {  // else the record of this command would make the database again
    server.profiler.set(db, nullptr);
    co_await settleProfile(request);
  }
  const AuthorizedDatabase target = NamespaceResolution::targetDatabase(request);
  TROUPE_CO_TRY(server.catalog.databaseDrops().check(db));
  const auto doomed = server.catalog.collections(target);
  for (const CollectionPtr& collection : doomed) TROUPE_CO_TRY(co_await abortBuildsOf(request, collection));
  const bool isStaged = server.membership && !doomed.empty();
  PendingDrop pending;
  if (isStaged) TROUPE_CO_TRY(co_await dropItsCollections(request, target, doomed, pending));
  const auto lock = co_await lockDatabase(server.node, request.operation(), db, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  if (!isStaged && server.catalog.collections(target).empty()) co_return Status::OK();
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::dropDatabase(server.catalog.unguarded(), unit, db);
  };
  const Status status = co_await changeCatalog(request, change);
  if (!status.isOK()) co_return status;
  endUseOf(server, db, doomed);
  request.reply().append("dropped", db);
  co_return Status::OK();
}

constexpr Argument kListDatabasesArguments[] = {documentArg("filter"), flagArg("nameOnly"),
                                                flagArg("authorizedDatabases")};

/// Every node has its own three, also while nothing is in them.
std::set<std::string> shownDatabases(const ServerContext& server) {
  std::set<std::string> names{"admin", "config", "local"};
  for (std::string& name : server.catalog.databaseNames()) names.insert(std::move(name));
  return names;
}

Task<Status> listDatabases(Request& request) {
  ServerContext& server = request.server();
  QueryResources resources(server, request.operation());
  if (Status status = prepareContext(resources, request, {}, {}); !status.isOK()) co_return status;
  const auto filter = query::parseMatch(request.document("filter"), resources.context);
  if (!filter.isOK()) co_return filter.status();
  const bool nameOnly = request.flag("nameOnly");
  if (request.arg("authorizedDatabases") && !request.flag("authorizedDatabases"))
    TROUPE_CO_TRY(request.authorize(auth::Action::kListDatabases, auth::Resource::cluster()));
  const query::RowFilter wanted(filter->get());
  int64_t total = 0;
  std::vector<bson::Document> rows;
  for (const std::string& db : shownDatabases(server)) {
    const auto database = NamespaceResolution::visibleDatabase(request, db);
    if (!database) continue;
    int64_t bytes = 0;
    bool empty = true;
    for (const auto& collection : server.catalog.collections(*database)) {
      if (collection->isView()) continue;
      empty = empty && collection->records().count() == 0;
      if (!nameOnly) bytes += collectionDiskBytes(server, *collection);
    }
    bson::Document row = nameOnly ? bson::doc("name", db) : bson::doc("name", db, "sizeOnDisk", bytes, "empty", empty);
    TROUPE_CO_ASSIGN(const bool passes, wanted.passes(row, &resources));
    if (!passes) continue;
    total += bytes;
    rows.push_back(std::move(row));
  }
  request.reply().append("databases", rows);
  if (!nameOnly) request.reply().append("totalSize", total).append("totalSizeMb", total / (1024 * 1024));
  co_return Status::OK();
}

constexpr Argument kListCollectionsArguments[] = {documentArg("filter"), flagArg("nameOnly"),
                                                  boolArg("authorizedCollections"), documentArg("cursor"),
                                                  flagArg("includePendingDrops")};

}  // namespace

bson::Document collectionRow(const storage::Collection& collection, bool nameOnly) {
  bson::Builder row;
  const bool view = collection.isView();
  row.append("name", collection.ns().collection())
      .append("type", view                              ? "view"
                      : collection.options().timeseries ? "timeseries"
                                                        : "collection");
  if (nameOnly) return row.finish();
  row.append("options", collection.options().toDocument(false)).openDocument("info").append("readOnly", view);
  if (!view) row.append("uuid", collection.uuid());
  row.close();
  if (!view && collection.idIndex() && !collection.isClustered())
    row.append("idIndex", collection.idIndex()->spec.stored);
  return row.finish();
}

namespace {

bool mayDoAnythingWith(const Request& request, const Namespace& ns) {
  const auto& users = request.client().users;
  return !request.checksPrivileges() || std::ranges::any_of(users, [&](const auto& user) {
    return user.privileges.allowsAnythingOn(ns.db(), ns.collection());
  });
}

struct ListedCollections {
  AuthorizedDatabase database;
  bool onlyAllowed;  ///< those alone which the client may do something with
};

/// Names alone are shown to a client without the action `listCollections` when it asks for those it may use.
StatusWith<ListedCollections> listedCollections(Request& request) {
  const Status all = request.authorizeResults(auth::Action::kListCollections, auth::Resource::db(request.db()));
  const bool onlyAllowed = request.flag("authorizedCollections") && request.flag("nameOnly");
  const auto visible = NamespaceResolution::visibleDatabase(request, request.db());
  if (!visible || !(all.isOK() || onlyAllowed)) return all;
  return ListedCollections{*visible, onlyAllowed};
}

Task<Status> listCollections(Request& request) {
  ServerContext& server = request.server();
  QueryResources resources(server, request.operation());
  if (Status status = prepareContext(resources, request, {}, {}); !status.isOK()) co_return status;
  const auto filter = query::parseMatch(request.document("filter"), resources.context);
  if (!filter.isOK()) co_return filter.status();
  TROUPE_CO_ASSIGN(const ListedCollections listed, listedCollections(request));
  const query::RowFilter wanted(filter->get());
  ListedRows rows(request.operation().memory());
  for (const auto& collection : server.catalog.collections(listed.database)) {
    TROUPE_CO_TRY(resources.step());
    if (listed.onlyAllowed && !mayDoAnythingWith(request, collection->ns())) continue;
    bson::Document row = collectionRow(*collection, request.flag("nameOnly"));
    TROUPE_CO_ASSIGN(const bool passes, wanted.passes(row, &resources));
    if (passes) TROUPE_CO_TRY(rows.add(std::move(row)));
  }
  TROUPE_CO_ASSIGN(const auto batchSize, batchSizeOf(request));
  co_return co_await replyWithRows(request, std::string(request.db()) + ".$cmd.listCollections", std::move(rows),
                                   batchSize);
}

constexpr Command kCollectionCommands[] = {
    {.name = "create",
     .summary = "makes a collection or view",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCreateCollection},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .arguments = kCreateArguments,
     .run = create},
    {.name = "drop",
     .summary = "drops a collection or view",
     .requirement = {Requirement::Target::kCollection, auth::Action::kDropCollection},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .arguments = kDropArguments,
     .run = drop},
    {.name = "dropDatabase",
     .summary = "drops all collections of a database",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kDropDatabase},
     .access = Access::kWrite,
     .stableApi = true,
     .run = dropDatabase},
    {.name = "listDatabases",
     .summary = "the databases and their sizes",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kRead,
     .adminOnly = true,
     .stableApi = true,
     .arguments = kListDatabasesArguments,
     .run = listDatabases},
    {.name = "listCollections",
     .summary = "the collections and views of a database",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kRead,
     .stableApi = true,
     .arguments = kListCollectionsArguments,
     .run = listCollections},
};

}  // namespace

std::span<const Command> collectionCommands() { return kCollectionCommands; }

}  // namespace troupe::commands
