#include "actors/replication/rollback_store.hpp"

#include <utility>

#include "storage/catalog/catalog_operations.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::replication {

namespace {

const storage::Namespace kRollbackIds("local", "system.rollback.id");

StatusWith<int64_t> idIn(bson::View document) {
  const bson::Element stored = document["rollbackId"];
  if (stored.isNumber() && stored.toInt64() >= 1) return stored.toInt64();
  return Status(ErrorCode::kDataCorruptionDetected,
                "the document of local.system.rollback.id is damaged; resync this member");
}

bson::Document recordOf(const Rollback::Document& document) {
  return bson::doc("_id", document.id, "rollbackId", document.rollbackId);
}

}  // namespace

StatusWith<int64_t> raiseRollbackId(storage::Catalog& catalog, const storage::OperationServices& services) {
  storage::OperationContext operation(services);
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  if (!catalog.find(kRollbackIds)) {
    storage::WriteUnitOfWork work(unit);
    TROUPE_TRY(storage::createCollection(catalog, unit, kRollbackIds, {}).status());
    TROUPE_TRY(work.commit());
  }
  const storage::CollectionPtr ids = catalog.find(kRollbackIds);
  Rollback::Document document;
  storage::WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(auto cursor, ids->records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.next());
  if (found) {
    const bson::Document before(cursor.document());
    TROUPE_ASSIGN(document.rollbackId, idIn(before));
    ++document.rollbackId;
    TROUPE_TRY(ids->update(unit, cursor.id(), before, recordOf(document)));
  } else {
    ++document.rollbackId;
    TROUPE_TRY(ids->insert(unit, recordOf(document)).status());
  }
  TROUPE_TRY(work.commit());
  TROUPE_TRY(catalog.engine().flushLog());
  return document.rollbackId;
}

RollbackStore::RollbackStore(const machines::StorageAccess& access) : documents_(access, kRollbackIds) {}

StatusWith<machines::Loaded<Rollback::Document>> RollbackStore::read() const {
  machines::Loaded<Rollback::Document> found;
  TROUPE_ASSIGN(const auto batch, documents_.loadNow(0, 1));
  if (batch.documents.empty()) return found;
  TROUPE_ASSIGN(found.value.rollbackId, idIn(batch.documents.front()));
  return found;
}

Task<Status> RollbackStore::put(const Rollback::Document& document, const machines::UnknownFields&,
                                machines::Durability durability) {
  co_return co_await documents_.put(recordOf(document), durability);
}

Task<Status> RollbackStore::remove(bson::Document, machines::Durability) {
  co_return Status(ErrorCode::kIllegalOperation, "a rollback id has no end");
}

}  // namespace troupe::replication
