// setDefaultRWConcern, getDefaultRWConcern.
#include "actors/server/default_concerns.hpp"

#include "actors/commands/families.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/server/write_concern.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::commands {
using namespace server;

using storage::ConcernDefaults;

namespace {

/// The code that drivers know.
Status standsAlone(const Request& request) {
  return {ErrorCode(51300), std::string(request.commandName()) + " is not supported on a standalone node"};
}

/// A default that the set cannot satisfy would fail every write that names no concern.
Status checkIsSatisfiable(const ServerContext& server, const storage::WriteConcern& concern) {
  if (concern.tagged)
    return {ErrorCode::kUnknownReplWriteConcern,
            "tags in a write concern are not supported: name a mode of the "
            "config's settings.getLastErrorModes"};
  return replication::checkSatisfiable(server.progress->role()->config, acknowledgementOf(concern));
}

StatusWith<ConcernDefaults> changedDefaults(const Request& request, const ConcernDefaults& before) {
  const ServerContext& server = request.server();
  const bson::View read = request.document("defaultReadConcern"), write = request.document("defaultWriteConcern");
  TROUPE_ASSIGN(ConcernDefaults next, before.with(request.arg("defaultReadConcern") ? &read : nullptr,
                                                  request.arg("defaultWriteConcern") ? &write : nullptr));
  if (!write.empty()) TROUPE_TRY(checkIsSatisfiable(server, *next.write));
  next.updateOpTime = server.operations.replicated->slots.newest();
  next.updateWallClockTime = {wallMillis(server)};
  return next;
}

Task<Status> replyWithDefaults(Request& request) {
  const ServerContext& server = request.server();
  TROUPE_CO_ASSIGN(const auto now, server.defaultConcerns->get());
  appendDefaultConcerns(request.reply(), *now, server);
  co_return Status::OK();
}

/// Changes take turns: each starts from what the one before has left.
Task<Status> setDefaults(Request& request) {
  if (!request.server().defaultConcerns) co_return standsAlone(request);
  TROUPE_CO_ASSIGN(const auto lock, co_await lockCollection(request.server().node, request.operation(), kSettings,
                                                            storage::LockMode::kX));
  auto change = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    const ConcernDefaults known = before ? ConcernDefaults::of(*before) : ConcernDefaults();
    TROUPE_ASSIGN(const auto next, changedDefaults(request, known));
    return std::optional(next.toDocument());
  };
  std::string id(ConcernDefaults::kId);
  TROUPE_CO_TRY(co_await changeDocument(request, NamespaceResolution::settings(), std::move(id), change));
  co_return co_await replyWithDefaults(request);
}

/// What is in memory is what has been committed here, so that there is no other answer to give without `inMemory`.
Task<Status> getDefaults(Request& request) {
  if (!request.server().defaultConcerns) co_return standsAlone(request);
  TROUPE_CO_TRY(co_await replyWithDefaults(request));
  if (request.flag("inMemory")) request.reply().append("inMemory", true);
  co_return Status::OK();
}

constexpr Argument kSetArguments[] = {documentArg("defaultReadConcern"), documentArg("defaultWriteConcern")};
constexpr Argument kGetArguments[] = {flagArg("inMemory")};

constexpr Command kDefaultConcernCommands[] = {
    {.name = "setDefaultRWConcern",
     .summary = "sets the concerns of commands that name none, for the whole replica set",
     .requirement = {Requirement::Target::kCluster, auth::Action::kSetDefaultRwConcern},
     .access = Access::kWrite,
     .adminOnly = true,
     .arguments = kSetArguments,
     .run = setDefaults},
    {.name = "getDefaultRWConcern",
     .summary = "the concerns of commands that name none, and where they come from",
     .requirement = {Requirement::Target::kCluster, auth::Action::kGetDefaultRwConcern},
     .adminOnly = true,
     .arguments = kGetArguments,
     .run = getDefaults},
};

}  // namespace

std::span<const Command> defaultConcernCommands() { return kDefaultConcernCommands; }

}  // namespace troupe::commands
