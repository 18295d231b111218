// renameCollection.
#include "actors/commands/collection_copy.hpp"
#include "actors/commands/families.hpp"
#include "actors/server/collection_uuid.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;
using storage::Namespace;

namespace {

constexpr Argument kRenameArguments[] = {stringArg("to").required(), eitherArg("dropTarget", kFlagArg | kBinaryArg),
                                         flagArg("stayTemp"), uuidArg("collectionUUID")};

struct Renaming {
  AuthorizedNamespace from, to;
  bool isWithinDatabase() const { return from.db() == to.db(); }
};

/// Within a database the right to rename is enough, as long as nothing becomes readable by its new name; it does not
/// reach system collections. Else a rename is as much as a copy and a drop. A collection in the place of the new name
/// is dropped.
StatusWith<Renaming> resolveRename(Request& request, const Namespace& from, const Namespace& to) {
  using enum auth::Action;
  const auto may = [&](auth::Action action, const Namespace& ns) {
    return request.authorize(action, auth::Resource::coll(ns.db(), ns.collection())).isOK();
  };
  const bool plain = from.db() == to.db() && !from.isSystem() && !to.isSystem();
  const bool asRename = plain && request.authorize(kRenameCollectionSameDb, auth::Resource::db(from.db())).isOK() &&
                        (may(kFind, from) || !may(kFind, to));
  auth::ActionSet onTarget, onSource;
  if (!asRename) {
    onSource = auth::actions({kFind, kDropCollection});
    onTarget = auth::actions({kInsert, kCreateCollection, kCreateIndex});
  }
  if (request.flag("dropTarget")) onTarget |= auth::actions({kDropCollection});
  TROUPE_ASSIGN(auto target, NamespaceResolution::resolve(request, to, onTarget));
  TROUPE_ASSIGN(auto source, NamespaceResolution::resolve(request, from, onSource));
  return Renaming{std::move(source), std::move(target)};
}

/// What may never be a name is told apart from what no collection may be called.
StatusWith<Namespace> parseName(std::string_view full) {
  const bool hasDatabase = full.find('.') != std::string_view::npos;
  if (hasDatabase && full.size() > storage::kMaxNamespaceBytes)
    return Status(ErrorCode::kIllegalOperation, "the namespace is longer than 255 bytes: " + std::string(full));
  if (hasDatabase && full.find('$') != std::string_view::npos)
    return Status(ErrorCode::kIllegalOperation,
                  "a renamed collection cannot have '$' in its name: " + std::string(full));
  return Namespace::parse(full);
}

/// What the arguments say by themselves.
Status checkRenaming(const Request& request, const Renaming& renaming) {
  if (renaming.from == renaming.to) return {ErrorCode::kIllegalOperation, "Can't rename a collection to itself"};
  TROUPE_TRY(storage::validateForCreate(renaming.to));
  // Also where there is none yet: what gets such a name keeps it.
  TROUPE_TRY(checkUserDrop(renaming.from));
  TROUPE_TRY(checkUserDrop(renaming.to));
  const Namespace &from = renaming.from, &to = renaming.to;
  if (from.isReplicated() != to.isReplicated())
    return {ErrorCode::kIllegalOperation,
            "Cannot rename collections between a replicated and an unreplicated database"};
  const auto dropTarget = request.arg("dropTarget");
  const bool byUuid = dropTarget.is(bson::Type::kBinary);
  if (byUuid && (dropTarget.asBinary().subtype != bson::kBinaryUuid ||
                 dropTarget.asBinary().bytes.size() != sizeof(bson::Uuid::bytes)))
    return {ErrorCode::kInvalidUUID, "'dropTarget' must be a flag or a UUID"};
  if ((byUuid || request.arg("collectionUUID")) && !renaming.isWithinDatabase())
    return {ErrorCode::kInvalidOptions, "UUIDs cannot be checked while a collection moves into another database"};
  return Status::OK();
}

/// The collections as they are under their locks.
StatusWith<CollectionPtr> sourceOf(const Request& request, const Renaming& renaming) {
  const CollectionPtr target = request.server().catalog.find(renaming.to);
  TROUPE_TRY(checkCollectionUuid(request, renaming.to, "dropTarget"));
  CollectionPtr source = request.server().catalog.find(renaming.from);
  TROUPE_TRY(checkCollectionUuid(request, renaming.from));
  if (!source)
    return Status(ErrorCode::kNamespaceNotFound, "Source collection " + renaming.from.toString() + " does not exist");
  if (source->isView())
    return Status(ErrorCode::kCommandNotSupportedOnView, "cannot rename view: " + renaming.from.toString());
  if (!target) return source;
  if (target->isView())
    return Status(ErrorCode::kNamespaceExists, "a view already exists with that name: " + renaming.to.toString());
  if (!request.flag("dropTarget")) return Status(ErrorCode::kNamespaceExists, "target namespace exists");
  return source;
}

/// Into another database: the collection is copied, with its indexes. The copy takes the target's place in the unit of
/// work that drops the source.
Task<Status> moveToDatabase(Request& request, const Renaming& renaming, CollectionPtr source) {
  CollectionCopy copy(request, source, renaming.to);
  CollectionCopy::Wanted wanted;
  wanted.options = source->options();
  wanted.withIndexes = true;
  wanted.replaces = true;
  wanted.dropsSource = true;
  co_return co_await copy.run(std::move(wanted));
}

Task<Status> renameWithinDatabase(Request& request, const Renaming& renaming, CollectionPtr source) {
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::renameCollection(request.server().catalog.unguarded(), unit, source, renaming.to,
                                     request.flag("dropTarget"))
        .status();
  };
  co_return co_await changeCatalog(request, change);
}

Task<Status> renameCollection(Request& request) {
  const auto given = request.body().first();
  if (!given.is(bson::Type::kString))
    co_return Status(ErrorCode::kTypeMismatch,
                     "BSON field 'renameCollection' must be a string: the full name of the collection");
  TROUPE_CO_ASSIGN(const Namespace from, parseName(given.asString()));
  TROUPE_CO_ASSIGN(const Namespace to, parseName(request.text("to")));
  TROUPE_CO_ASSIGN(const Renaming renaming, resolveRename(request, from, to));
  TROUPE_CO_TRY(checkRenaming(request, renaming));
  ServerContext& server = request.server();
  if (const auto doomed = server.catalog.find(renaming.from);
      doomed && !doomed->isView() && !renaming.isWithinDatabase()) {
    Status why(ErrorCode::kIndexBuildAborted, "the collection " + from.toString() + " moves into another database");
    std::vector<bson::Uuid> all;
    TROUPE_CO_TRY(co_await abortIndexBuilds(request, doomed->uuid(), std::move(all), std::move(why)));
  }
  // In the order of names, so that two renames cannot wait for each other.
  const bool inOrder = from.toString() < to.toString();
  const Namespace& lower = inOrder ? from : to;
  const Namespace& upper = inOrder ? to : from;
  const auto first = co_await lockCollection(server.node, request.operation(), lower, storage::LockMode::kX);
  if (!first.isOK()) co_return first.status();
  const auto second = co_await lockCollection(server.node, request.operation(), upper, storage::LockMode::kX);
  if (!second.isOK()) co_return second.status();
  TROUPE_CO_ASSIGN(const CollectionPtr source, sourceOf(request, renaming));
  if (renaming.isWithinDatabase()) {
    TROUPE_CO_TRY(co_await renameWithinDatabase(request, renaming, source));
  } else {
    TROUPE_CO_TRY(co_await moveToDatabase(request, renaming, source));
  }
  for (const auto& ns : {from.toString(), to.toString()}) server.usage.forget(ns);
  server.cursors.killIf([&](const ClientCursor& c) { return c.ns == from.toString() || c.ns == to.toString(); });
  co_return Status::OK();
}

constexpr Command kRenameCommands[] = {
    {.name = "renameCollection",
     .summary = "gives a collection another name",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .adminOnly = true,
     .arguments = kRenameArguments,
     .run = renameCollection},
};

}  // namespace

std::span<const Command> renameCommands() { return kRenameCommands; }

}  // namespace troupe::commands
