#include "actors/maintenance/discard_temporary.hpp"

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

void discardTemporaries(server::ServerContext& server) {
  constexpr auto kComponent = log::Component::kRecovery;
  const storage::CatalogPtr catalog = server.catalog.unguarded().snapshot();
  for (const std::string& db : catalog->databases()) {
    for (const storage::CollectionPtr& collection : catalog->collections(db)) {
      if (!collection->options().temp || (server.membership && collection->ns().isReplicated())) continue;
      const Status status = discard(server, collection);
      const std::string ns = collection->ns().toString();
      if (status.isOK())
        server.log.info(kComponent, 20440, "main", "Removed a temporary collection", bson::doc("ns", ns));
      else
        server.log.warning(kComponent, 20441, "main", "A temporary collection was not removed",
                           bson::doc("ns", ns, "error", status.reason()));
    }
  }
}

}  // namespace troupe::maintenance
