#include "actors/maintenance/discard_temporary.hpp"

#include "actors/server/left_data.hpp"
#include "actors/storage/collection_writer.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::maintenance {

namespace {

Status discard(server::ServerContext& server, const storage::CollectionPtr& collection) {
  storage::OperationContext operation(server.operations);
  storage::HeldLock lock = collectionLock(operation, collection->ns(), storage::LockMode::kX);
  if (!lock.tryAcquire()) return {ErrorCode::kLockBusy, "the collection is locked"};
  CollectionWriter writer(server.writes, operation);
  return writer.once(
      [&] { return storage::dropCollection(server.catalog.unguarded(), operation.recoveryUnit(), collection); });
}

}  // namespace

std::vector<storage::CollectionPtr> temporaryCollections(const storage::Catalog& catalog,
                                                         const std::function<bool(const storage::Namespace&)>& wanted) {
  std::vector<storage::CollectionPtr> found;
  const storage::CatalogPtr now = catalog.snapshot();
  for (const std::string& db : now->databases())
    for (const storage::CollectionPtr& collection : now->collections(db))
      if (collection->options().temp && wanted(collection->ns())) found.push_back(collection);
  return found;
}

void logDiscarded(server::ServerContext& server, const storage::Namespace& ns, const Status& outcome) {
  constexpr auto kComponent = log::Component::kRecovery;
  if (outcome.isOK())
    server.log.info(kComponent, 20440, "main", "Removed a temporary collection", bson::doc("ns", ns.toString()));
  else
    server.log.warning(kComponent, 20441, "main", "A temporary collection was not removed",
                       bson::doc("ns", ns.toString(), "error", outcome.reason()));
}

void discardTemporaries(server::ServerContext& server) {
  const bool isOfSet = server.membership || server::holdsDataOfSet(server);
  const auto mayGo = [isOfSet](const storage::Namespace& ns) { return !(isOfSet && ns.isReplicated()); };
  for (const storage::CollectionPtr& collection : temporaryCollections(server.catalog.unguarded(), mayGo))
    logDiscarded(server, collection->ns(), discard(server, collection));
}

}  // namespace troupe::maintenance
