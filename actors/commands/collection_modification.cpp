// collMod: options of collections, views and indexes are changed.
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
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;
using storage::Namespace;

namespace {

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
    if (change.indexChange.unique) TROUPE_TRY(storage::checkIndexChange(index->spec, change.indexChange));
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
    if (change.indexChange.unique.value_or(false) && !index->spec.unique)
      TROUPE_CO_TRY(co_await checkUnique(request, collection, index));
    TROUPE_CO_ASSIGN(const bool done, co_await modify(request, collection));
    if (done) co_return Status::OK();
    TROUPE_CO_TRY(co_await request.yield());
  }
}

constexpr Command kModificationCommands[] = {
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

std::span<const Command> modificationCommands() { return kModificationCommands; }

}  // namespace troupe::commands
