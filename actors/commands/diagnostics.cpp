// top, connPoolStats, setIndexCommitQuorum, compactStructuredEncryptionData.
#include <algorithm>

#include "actors/commands/families.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;

namespace {

bson::Document usageRow(const CollectionUsage& usage) {
  constexpr std::string_view kKinds[kUsageKinds] = {"queries", "getmore", "insert", "update", "remove", "commands"};
  const auto counter = [](const CollectionUsage::Counter& c) { return bson::doc("time", c.micros, "count", c.count); };
  bson::Builder row;
  row.append("total", counter(usage.total))
      .append("readLock", counter(usage.reads))
      .append("writeLock", counter(usage.writes));
  for (size_t i = 0; i < kUsageKinds; ++i) row.append(kKinds[i], counter(usage.kinds[i]));
  return row.finish();
}

Task<Status> top(Request& request) {
  ServerContext& server = request.server();
  request.reply().openDocument("totals").append("note", "all times in microseconds");
  for (const std::string& db : server.catalog.databaseNames()) {
    const auto database = NamespaceResolution::visibleDatabase(request, db);
    if (!database) continue;
    for (const CollectionPtr& collection : server.catalog.collections(*database)) {
      const std::string ns = collection->ns().toString();
      request.reply().append(ns, usageRow(server.usage.of(ns)));
    }
    TROUPE_CO_TRY(co_await request.yield());
  }
  request.reply().close();
  co_return Status::OK();
}

/// The pools of connections to other nodes: this server has one link to each instead, see serverStatus.
Task<Status> connPoolStats(Request& request) {
  request.reply()
      .append("numClientConnections", 0)
      .append("numAScopedConnections", 0)
      .append("totalInUse", 0)
      .append("totalAvailable", 0)
      .append("totalLeased", 0)
      .append("totalCreated", 0)
      .append("totalRefreshing", 0)
      .append("pools", bson::Document())
      .append("hosts", bson::Document());
  co_return Status::OK();
}

constexpr Argument kCommitQuorumArguments[] = {arrayArg("indexNames").required(), anyArg("commitQuorum").required()};

/// Builds commit on the node that runs them; there is no quorum to change. What is no build is told apart.
Task<Status> setIndexCommitQuorum(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  const CollectionPtr collection = request.server().catalog.find(ns);
  if (!collection) co_return Status(ErrorCode::kNamespaceNotFound, "ns does not exist: " + ns.toString());
  const bson::View names = request.document("indexNames");
  const bool isBuilt = !collection->isView() && std::ranges::any_of(collection->indexes(), [&](const auto& index) {
    return !index->ready && std::any_of(names.begin(), names.end(),
                                        [&](const bson::Element& e) { return e.toStringOr() == index->spec.name; });
  });
  if (isBuilt)
    co_return Status(ErrorCode::kCommandNotSupported, "index builds of this server wait for no quorum of members");
  co_return Status(ErrorCode::kIndexNotFound,
                   "Cannot find an index build on collection '" + ns.toString() + "' with the provided index names");
}

constexpr Argument kCompactEncryptedArguments[] = {documentArg("compactionTokens").required(),
                                                   documentArg("encryptionInformation"),
                                                   documentArg("anchorPaddingTokens")};

/// No collection of this server is an encrypted one.
Task<Status> compactEncrypted(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  const CollectionPtr collection = request.server().catalog.find(ns);
  if (!collection) co_return Status(ErrorCode::kNamespaceNotFound, "Collection '" + ns.toString() + "' does not exist");
  if (collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView, "Cannot compact the encryption data of a view");
  co_return Status(ErrorCode(6346807), "Target namespace is not an encrypted collection");
}

constexpr Command kDiagnosticCommands[] = {
    {.name = "top",
     .summary = "how much time operations spent on each collection",
     .requirement = {Requirement::Target::kCluster, auth::Action::kTop},
     .adminOnly = true,
     .run = top},
    {.name = "connPoolStats",
     .summary = "pools of connections to other nodes: none",
     .requirement = {Requirement::Target::kCluster, auth::Action::kConnPoolStats},
     .arguments = kNamedFreely,
     .run = connPoolStats},
    {.name = "setIndexCommitQuorum",
     .summary = "not supported: the members that an index build waits for",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCreateIndex},
     .namesCollection = true,
     .arguments = kCommitQuorumArguments,
     .run = setIndexCommitQuorum},
    {.name = "compactStructuredEncryptionData",
     .summary = "not supported: compaction of encrypted collections",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCompact},
     .namesCollection = true,
     .arguments = kCompactEncryptedArguments,
     .run = compactEncrypted},
};

}  // namespace

std::span<const Command> diagnosticCommands() { return kDiagnosticCommands; }

}  // namespace troupe::commands
