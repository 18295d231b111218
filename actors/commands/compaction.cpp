// compact, autoCompact: free space within the files of tables goes back to the file system.
#include <algorithm>
#include <limits>
#include <vector>

#include "actors/commands/blocking_work.hpp"
#include "actors/commands/families.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/service_operation.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/journal/checkpoint_policy.hpp"
#include "storage/operation/held_lock.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;

namespace {

constexpr Argument kCompactArguments[] = {numberArg("freeSpaceTargetMB"), flagArg("force"), flagArg("dryRun")};

/// A compaction under way, as operators see and end it. Its own operation holds the lock that keeps the collection from
/// being dropped, until the last piece of work has really ended. No change of the role waits for it.
struct Compaction {
  Compaction(ServerContext& server, const storage::Namespace& ns, bson::Document command)
      : operation(server, "compact " + ns.toString(), ns, std::move(command)) {}
  ServiceOperation operation;
  storage::HeldLock lock;
  std::vector<storage::Table> tables;  ///< still to be compacted
  int64_t bytesFreed = 0;
};

std::shared_ptr<storage::OperationContext> operationOf(const std::shared_ptr<Compaction>& compaction) {
  return {compaction, &*compaction->operation};
}

/// Works on the last table for about a second. It is one piece of several on the threads of blocking work, so that
/// other work gets its turn, and a killed operation ends.
BlockingBody pieceOf(std::shared_ptr<Compaction> compaction, storage::Engine& engine) {
  return [compaction, &engine](storage::OperationContext& operation) -> Status {
    TROUPE_TRY(operation.checkForInterrupt({}));
    const storage::Table& table = compaction->tables.back();
    const int64_t before = engine.tableBytes(table);
    TROUPE_ASSIGN(const bool done, engine.compactTable(table));
    compaction->bytesFreed += std::max<int64_t>(0, before - engine.tableBytes(table));
    if (done) compaction->tables.pop_back();
    return Status::OK();
  };
}

/// What at least has to be free in a table's file for it to be worth the work. Errors: BadValue.
StatusWith<int64_t> targetBytes(const Request& request) {
  constexpr int64_t kDefaultMegabytes = 20, kMegabyte = int64_t{1} << 20;
  const int64_t megabytes = request.number("freeSpaceTargetMB", kDefaultMegabytes);
  if (megabytes < 1)
    return Status(ErrorCode::kBadValue, "BSON field 'freeSpaceTargetMB' value must be >= 1, actual value '" +
                                            std::to_string(megabytes) + "'");
  return megabytes > std::numeric_limits<int64_t>::max() / kMegabyte ? std::numeric_limits<int64_t>::max()
                                                                     : megabytes * kMegabyte;
}

/// On a primary it competes with all that clients do, and is to be asked for expressly.
Status checkForce(const Request& request) {
  const replication::Membership* membership = request.server().membership;
  if (!membership || request.flag("force") || !membership->view()->isWritable()) return Status::OK();
  return {ErrorCode::kIllegalOperation,
          "compact slows down the other operations of this primary: run it on a secondary, or use force: true"};
}

Task<Status> compact(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_ASSIGN(const int64_t target, targetBytes(request));
  TROUPE_CO_TRY(checkForce(request));
  ServerContext& server = request.server();
  const auto compaction = std::make_shared<Compaction>(server, ns, bson::Document(request.body()));
  compaction->lock = storage::HeldLock::inEveryRole(*compaction->operation, storage::ResourceType::kCollection,
                                                    ns.toString(), storage::LockMode::kIS);
  TROUPE_CO_TRY(co_await lockForWork(request, operationOf(compaction), compaction->lock));
  const CollectionPtr collection = server.catalog.find(ns);
  if (!collection) co_return Status(ErrorCode::kNamespaceNotFound, "collection does not exist: " + ns.toString());
  if (collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView, "can't compact a view: " + ns.toString());
  using storage::CheckpointPolicy;  // the engine takes checkpoints while it compacts
  if (!CheckpointPolicy::takes(
          CheckpointPolicy::kind(CheckpointPolicy::stateOf(server.engine, server.catalog.isReplicated()))))
    co_return Status(ErrorCode::kObjectIsBusy, "the node takes no checkpoints yet: its data are still being copied");
  int64_t free = 0;
  const auto consider = [&](const storage::Table& table) {
    const int64_t bytes = server.engine.freeBytes(table);
    free += bytes;
    if (bytes >= target) compaction->tables.push_back(table);
  };
  for (const auto& index : collection->indexes()) consider(index->access->table());
  consider(collection->records().table());
  if (request.flag("dryRun")) {
    request.reply().append("estimatedBytesFreed", bson::narrowestInteger(free));
    co_return Status::OK();
  }
  while (!compaction->tables.empty()) {
    TROUPE_CO_TRY(co_await runBlocking(request, operationOf(compaction), "compact " + ns.toString(),
                                       WorkLength::kBackground, pieceOf(compaction, server.engine)));
    TROUPE_CO_TRY(request.checkForInterrupt());
  }
  request.reply().append("bytesFreed", bson::narrowestInteger(compaction->bytesFreed));
  co_return Status::OK();
}

constexpr Argument kAutoCompactArguments[] = {numberArg("freeSpaceTargetMB"), flagArg("runOnce")};

Task<Status> autoCompact(Request&) {
  co_return Status(
      ErrorCode::kCommandNotSupported,
      "the storage engine does not compact in the background: use compact on the collections that need it");
}

constexpr Command kCompactionCommands[] = {
    {.name = "compact",
     .summary = "gives free space of a collection's files back to the file system",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCompact},
     .namesCollection = true,
     .arguments = kCompactArguments,
     .run = compact},
    {.name = "autoCompact",
     .summary = "not supported: see compact",
     .requirement = {Requirement::Target::kCluster, auth::Action::kCompact},
     .adminOnly = true,
     .arguments = kAutoCompactArguments,
     .run = autoCompact},
};

}  // namespace

std::span<const Command> compactionCommands() { return kCompactionCommands; }

}  // namespace troupe::commands
