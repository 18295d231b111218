#include "actors/replication/rollback_store.hpp"

#include "storage/oplog/rollback_id.hpp"

namespace troupe::replication {

RollbackStore::RollbackStore(const machines::StorageAccess& access)
    : documents_(access, storage::rollbackIdNamespace()) {}

StatusWith<machines::Loaded<Rollback::Document>> RollbackStore::read() const {
  machines::Loaded<Rollback::Document> found;
  TROUPE_ASSIGN(const auto batch, documents_.loadNow(0, 1));
  if (batch.documents.empty()) return found;
  TROUPE_ASSIGN(found.value.rollbackId, storage::rollbackIdIn(batch.documents.front()));
  return found;
}

Task<Status> RollbackStore::put(const Rollback::Document& document, const machines::UnknownFields&,
                                machines::Durability durability) {
  co_return co_await documents_.put(storage::rollbackIdRecord(document.rollbackId), durability);
}

Task<Status> RollbackStore::remove(bson::Document, machines::Durability) {
  co_return Status(ErrorCode::kIllegalOperation, "a rollback id has no end");
}

}  // namespace troupe::replication
