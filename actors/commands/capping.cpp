// convertToCapped, cloneCollectionAsCapped: a capped collection with the documents of another one.
#include "actors/commands/collection_copy.hpp"
#include "actors/commands/families.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/collection_options.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;

namespace {

/// The size as the catalog keeps it.
StatusWith<int64_t> cappedSize(const Request& request) {
  const bson::Element size = request.arg("size");
  if (!size.isNumber() || size.toInt64() < 1)
    return Status(ErrorCode::kInvalidOptions, "Capped collection size must be greater than zero");
  TROUPE_ASSIGN(const auto options, storage::parseCollectionOptions(bson::doc("capped", true, "size", size)));
  return options.cappedSize;
}

/// Those of the source, its validator among them, but for what a capped collection cannot have, and its identity.
storage::CollectionOptions cappedOptions(const storage::Collection& source, int64_t size) {
  storage::CollectionOptions options = source.options();
  options.uuid.reset();
  options.temp = false;
  options.clusteredIndex.reset();
  options.expireAfterSeconds.reset();
  options.timeseries.reset();
  options.capped = true;
  options.cappedSize = size;
  options.cappedMax = 0;
  return options;
}

Status checkSource(const storage::Namespace& ns, const storage::Collection* source) {
  if (!source) return {ErrorCode::kNamespaceNotFound, "source collection " + ns.toString() + " does not exist"};
  if (source->isView()) return {ErrorCode::kCommandNotSupportedOnView, ns.toString() + " is a view, not a collection"};
  return Status::OK();
}

/// `max` is known, but only a new collection can be limited in its number of documents.
constexpr Argument kConvertArguments[] = {anyArg("size"), anyArg("max")};

Task<Status> convertToCapped(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_ASSIGN(const int64_t size, cappedSize(request));
  TROUPE_CO_TRY(checkUserWrite(ns));
  TROUPE_CO_TRY(checkUserDrop(ns));
  const CollectionPtr before = request.server().catalog.find(ns);
  TROUPE_CO_TRY(checkSource(ns, before.get()));
  std::vector<bson::Uuid> all;
  Status why(ErrorCode::kIndexBuildAborted, "the collection " + ns.toString() + " is converted to a capped one");
  TROUPE_CO_TRY(co_await abortIndexBuilds(request, before->uuid(), std::move(all), std::move(why)));
  const auto lock = co_await lockCollection(request.server().node, request.operation(), ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  const CollectionPtr source = request.server().catalog.find(ns);
  TROUPE_CO_TRY(checkSource(ns, source.get()));
  CollectionCopy copy(request, source, ns);
  CollectionCopy::Wanted wanted;
  wanted.options = cappedOptions(*source, size);
  wanted.replaces = true;
  TROUPE_CO_TRY(co_await copy.run(std::move(wanted)));
  request.server().cursors.killIf([&](const ClientCursor& cursor) { return cursor.ns == ns.toString(); });
  co_return Status::OK();
}

constexpr Argument kCloneArguments[] = {anyArg("toCollection"), anyArg("size")};

Task<Status> cloneCollectionAsCapped(Request& request) {
  const auto resolved = request.target();
  if (!resolved.isOK()) {
    const auto name = request.body().first().toStringOr();
    // A longer name than collections have is that of none.
    if (request.db().size() + 1 + name.size() > storage::kMaxNamespaceBytes)
      co_return checkSource(storage::Namespace(request.db(), name), nullptr);
    co_return resolved.status();
  }
  const AuthorizedNamespace from = *resolved;
  storage::Namespace to(request.db(), request.arg("toCollection").toStringOr());
  TROUPE_CO_TRY(storage::validateForCreate(to));
  TROUPE_CO_TRY(checkUserWrite(to));
  TROUPE_CO_TRY(checkUserDrop(to));
  TROUPE_CO_ASSIGN(const int64_t size, cappedSize(request));
  using enum auth::Action;
  TROUPE_CO_ASSIGN(const auto target,
                   NamespaceResolution::resolve(request, to, auth::actions({kInsert, kCreateIndex, kConvertToCapped})));
  ServerContext& server = request.server();
  const auto isTaken = [&]() -> Status {
    const CollectionPtr there = server.catalog.find(target);
    if (!there) return Status::OK();
    if (there->isView()) return {ErrorCode::kCommandNotSupportedOnView, to.toString() + " is a view"};
    return {ErrorCode::kNamespaceExists, "the collection " + to.toString() + " already exists"};
  };
  TROUPE_CO_TRY(isTaken());
  // In the order of names, so that two of them cannot wait for each other.
  const storage::Namespace& plain = from;
  const bool inOrder = from.toString() < to.toString();
  const storage::Namespace& lower = inOrder ? plain : to;
  const storage::Namespace& upper = inOrder ? to : plain;
  const auto first = co_await lockCollection(server.node, request.operation(), lower, storage::LockMode::kX);
  if (!first.isOK()) co_return first.status();
  const auto second = co_await lockCollection(server.node, request.operation(), upper, storage::LockMode::kX);
  if (!second.isOK()) co_return second.status();
  const CollectionPtr source = server.catalog.find(from);
  TROUPE_CO_TRY(checkSource(from, source.get()));
  TROUPE_CO_TRY(isTaken());
  CollectionCopy copy(request, source, target);
  CollectionCopy::Wanted wanted;
  wanted.options = cappedOptions(*source, size);
  co_return co_await copy.run(std::move(wanted));
}

constexpr Command kCappingCommands[] = {
    {.name = "convertToCapped",
     .summary = "makes a collection a capped one; its indexes but that of _id go",
     .requirement = {Requirement::Target::kCollection, auth::Action::kConvertToCapped},
     .access = Access::kWrite,
     .namesCollection = true,
     .arguments = kConvertArguments,
     .run = convertToCapped},
    {.name = "cloneCollectionAsCapped",
     .summary = "copies a collection into a new, capped one",
     .requirement = {Requirement::Target::kCollection, auth::Action::kFind},
     .access = Access::kWrite,
     .namesCollection = true,
     .arguments = kCloneArguments,
     .run = cloneCollectionAsCapped},
};

}  // namespace

std::span<const Command> cappingCommands() { return kCappingCommands; }

}  // namespace troupe::commands
