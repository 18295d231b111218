#include "actors/maintenance/discard_build.hpp"

#include <algorithm>

#include "actors/server/service_operation.hpp"
#include "actors/storage/collection_writer.hpp"
#include "actors/storage/storage_waits.hpp"

namespace troupe::maintenance {

namespace {

bool isLackOfTheRight(const Status& status) {
  return status == ErrorCode::kNotWritablePrimary || status == ErrorCode::kInterruptedDueToReplStateChange;
}

/// Whether the collection still has an unfinished index of that build. While the catalog is closed it may have.
bool isThere(const storage::CatalogSnapshot& catalog, const storage::UnfinishedBuild& left) {
  if (catalog.closed()) return true;
  const storage::CollectionPtr collection = catalog.find(left.collection);
  return collection && std::ranges::any_of(collection->indexes(), [&](const storage::IndexPtr& index) {
           return !index->ready && index->buildUuid.value_or(bson::Uuid{}) == left.build;
         });
}

void logOutcome(server::ServerContext& server, const storage::UnfinishedBuild& left, const Status& outcome) {
  const bson::Document about = bson::doc("ns", left.ns.toString(), "buildUUID", left.build.toString());
  constexpr auto kComponent = log::Component::kIndex;
  if (outcome.isOK())
    return server.log.info(kComponent, 20437, "index", "Discarded what an index build had left", about);
  const bson::Document failed = bson::Builder().appendAll(about).append("error", outcome.reason()).finish();
  if (isLackOfTheRight(outcome))
    return server.log.info(kComponent, 20439, "index", "An unfinished index is left to the next primary", failed);
  server.log.warning(kComponent, 20438, "index", "An aborted index build left traces", failed);
}

bson::Document shownDiscard(const storage::UnfinishedBuild& left) {
  return bson::doc("discardIndexBuild", left.ns.collection(), "buildUUID", left.build, "$db", left.ns.db());
}

/// False when it had gone before the lock was granted.
Task<StatusWith<bool>> removeLocked(server::ServerContext& server, storage::OperationContext& operation,
                                    storage::UnfinishedBuild left) {
  const auto lock = co_await lockCollection(server.node, operation, server.catalog.unguarded(), left.collection,
                                            left.ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  if (!isThere(*server.catalog.unguarded().snapshot(), left)) co_return false;
  operation.recoveryUnit().abandonSnapshot();
  CollectionWriter writer(server.writes, operation);
  auto remove = [&]() -> Status {
    return storage::abortIndexBuild(server.catalog.unguarded(), operation.recoveryUnit(), left.collection, left.build);
  };
  TROUPE_CO_TRY(co_await writer.commit(remove));
  co_return true;
}

}  // namespace

Task<Status> discardBuild(server::ServerContext& server, storage::OperationContext& operation,
                          storage::UnfinishedBuild left) {
  if (!isThere(*server.catalog.unguarded().snapshot(), left)) co_return Status::OK();
  const StatusWith<bool> removed = co_await removeLocked(server, operation, left);
  if (!removed.isOK() || *removed) logOutcome(server, left, removed.status());
  co_return removed.status();
}

Task<Status> discardBuild(server::ServerContext& server, storage::UnfinishedBuild left) {
  if (!isThere(*server.catalog.unguarded().snapshot(), left)) co_return Status::OK();
  server::ServiceOperation operation(server, "DiscardIndexBuild " + left.build.toString(), left.ns, shownDiscard(left));
  if (left.ns.isReplicated()) operation->announceWrites();
  co_return co_await discardBuild(server, *operation, left);
}

}  // namespace troupe::maintenance
