// reIndex: all indexes of a collection are made anew.
#include <optional>

#include "actors/commands/blocking_work.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/service_operation.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/index_rebuild.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;

namespace {

/// A rebuild under way, as operators see and end it. The last piece of work may still run when its request has gone:
/// with it goes the lock, after the new tables of an unfinished rebuild.
struct Reindexing {
  Reindexing(ServerContext& server, const storage::Namespace& ns, bson::Document command)
      : server(server), operation(server, "reIndex " + ns.toString(), ns, std::move(command)) {}
  ~Reindexing() {
    if (!rebuild) return;
    operation->recoveryUnit().abandonSnapshot();
    const Status dropped = rebuild->abort(operation->recoveryUnit());
    if (!dropped.isOK())
      server.log.warning(log::Component::kIndex, 20903, "reIndex", "Tables of an unfinished reIndex were not removed",
                         bson::doc("ns", operation->shownNs(), "error", dropped.reason()));
  }
  ServerContext& server;
  ServiceOperation operation;
  storage::HeldLock lock;
  std::optional<storage::IndexRebuild> rebuild;
  CollectionPtr after;  ///< null until it is done
};

std::shared_ptr<storage::OperationContext> operationOf(const std::shared_ptr<Reindexing>& work) {
  return {work, &*work->operation};
}

/// Made outside of the coroutine: g++ 12 destroys the captures of a lambda that is written in one twice.
BlockingBody firstPiece(std::shared_ptr<Reindexing> work) {
  return [work](storage::OperationContext& operation) { return work->rebuild->start(operation.recoveryUnit()); };
}

BlockingBody pieceOf(std::shared_ptr<Reindexing> work) {
  constexpr int kDocuments = 100;
  return [work](storage::OperationContext& operation) -> Status {
    PieceLimit limit(work->server.node.environment());
    for (int pieces = 0; !work->after && pieces < 50 && !limit.reached(0); ++pieces) {
      TROUPE_TRY(operation.checkForInterrupt({}));
      work->server.disk.look();  // nobody knows how many keys a document has
      TROUPE_TRY(work->server.writes.roomFor(0));
      TROUPE_ASSIGN(const bool scanned, work->rebuild->step(operation.recoveryUnit(), kDocuments));
      if (!scanned) continue;
      TROUPE_ASSIGN(work->after, work->rebuild->commit(operation.recoveryUnit()));
    }
    return Status::OK();
  };
}

StatusWith<CollectionPtr> collectionToReindex(Request& request, const AuthorizedNamespace& ns) {
  CollectionPtr collection = request.server().catalog.find(ns);
  if (!collection) return Status(ErrorCode::kNamespaceNotFound, "collection does not exist: " + ns.toString());
  if (collection->isView())
    return Status(ErrorCode::kCommandNotSupportedOnView, "can't re-index a view: " + ns.toString());
  TROUPE_TRY(collection->checkWritable(request.operation().recoveryUnit()));
  return collection;
}

Task<Status> reIndex(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  ServerContext& server = request.server();
  if (server.operations.replicated)
    co_return Status(ErrorCode::kIllegalOperation, "reIndex is only allowed on a node that stands alone");
  TROUPE_CO_TRY(collectionToReindex(request, ns).status());
  TROUPE_CO_TRY(writerOf(request).roomForTable());
  const auto work = std::make_shared<Reindexing>(server, ns, bson::Document(request.body()));
  work->lock = storage::HeldLock::inEveryRole(*work->operation, storage::ResourceType::kCollection, ns.toString(),
                                              storage::LockMode::kX);
  TROUPE_CO_TRY(co_await lockForWork(request, operationOf(work), work->lock));
  TROUPE_CO_ASSIGN(const CollectionPtr before, collectionToReindex(request, ns));
  work->rebuild.emplace(server.catalog.unguarded(), before);
  auto start = firstPiece(work);
  TROUPE_CO_TRY(co_await runBlocking(request, operationOf(work), "reIndex", WorkLength::kLong, start));
  auto piece = pieceOf(work);
  while (!work->after) {
    TROUPE_CO_TRY(co_await runBlocking(request, operationOf(work), "reIndex", WorkLength::kLong, piece));
    TROUPE_CO_TRY(request.checkForInterrupt());
  }
  const auto count = static_cast<int32_t>(before->indexes().size());
  request.reply().append("nIndexesWas", count).append("nIndexes", count).openArray("indexes");
  for (const auto& index : work->after->indexes()) request.reply().push(index->spec.stored);
  request.reply().close();
  co_return Status::OK();
}

constexpr Command kReindexCommands[] = {
    {.name = "reIndex",
     .summary = "makes the indexes of a collection anew, on a node that stands alone",
     .requirement = {Requirement::Target::kCollection, auth::Action::kReIndex},
     .namesCollection = true,
     .run = reIndex},
};

}  // namespace

std::span<const Command> reindexCommands() { return kReindexCommands; }

}  // namespace troupe::commands
