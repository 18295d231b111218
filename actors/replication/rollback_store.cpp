#include "actors/replication/rollback_store.hpp"

#include <utility>

namespace troupe::replication {

namespace {

const storage::Namespace kRollbackIds("local", "system.rollback.id");

}  // namespace

RollbackStore::RollbackStore(const machines::StorageAccess& access) : documents_(access, kRollbackIds) {}

StatusWith<machines::Loaded<Rollback::Document>> RollbackStore::read() const {
  machines::Loaded<Rollback::Document> found;
  TROUPE_ASSIGN(const auto batch, documents_.loadNow(0, 1));
  if (batch.documents.empty()) return found;
  const bson::Element stored = batch.documents.front()["rollbackId"];
  if (!stored.isNumber() || stored.toInt64() < 1)
    return Status(ErrorCode::kDataCorruptionDetected,
                  "the document of local.system.rollback.id is damaged; resync this member");
  found.value.rollbackId = stored.toInt64();
  return found;
}

Task<Status> RollbackStore::put(const Rollback::Document& document, const machines::UnknownFields&,
                                machines::Durability durability) {
  bson::Document record = bson::doc("_id", document.id, "rollbackId", document.rollbackId);
  co_return co_await documents_.put(std::move(record), durability);
}

Task<Status> RollbackStore::remove(bson::Document, machines::Durability) {
  co_return Status(ErrorCode::kIllegalOperation, "a rollback id has no end");
}

}  // namespace troupe::replication
