#include "actors/maintenance/discard_build.hpp"

#include <algorithm>

#include "actors/storage/collection_writer.hpp"
#include "actors/storage/storage_waits.hpp"

namespace troupe::maintenance {

namespace {

bool isLackOfTheRight(const Status& status) {
  return status == ErrorCode::kNotWritablePrimary || status == ErrorCode::kInterruptedDueToReplStateChange;
}

/// Whether the collection still has an unfinished index of that build.
bool isThere(const storage::CatalogSnapshot& catalog, const storage::UnfinishedBuild& left) {
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

}  // namespace

Task<Status> discardBuild(server::ServerContext& server, storage::UnfinishedBuild left) {
  if (!isThere(*server.catalog.snapshot(), left)) co_return Status::OK();
  storage::OperationContext operation(server.operations);
  const auto lock =
      co_await lockCollection(server.node, operation, server.catalog, left.collection, left.ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  CollectionWriter writer(server.writes, operation);
  auto remove = [&]() -> Status {
    return storage::abortIndexBuild(server.catalog, operation.recoveryUnit(), left.collection, left.build);
  };
  Status outcome = co_await writer.commit(remove);
  logOutcome(server, left, outcome);
  co_return outcome;
}

}  // namespace troupe::maintenance
