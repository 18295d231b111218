#include "storage/oplog/rollback_id.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

const Namespace& rollbackIdNamespace() {
  static const Namespace name("local", "system.rollback.id");
  return name;
}

bson::Document rollbackIdRecord(int64_t id) { return bson::doc("_id", "rollbackId", "rollbackId", id); }

StatusWith<int64_t> rollbackIdIn(bson::View record) {
  const bson::Element stored = record["rollbackId"];
  if (stored.isNumber() && stored.toInt64() >= 1) return stored.toInt64();
  return Status(ErrorCode::kDataCorruptionDetected,
                "the document of local.system.rollback.id is damaged; resync this member");
}

StatusWith<int64_t> raiseRollbackId(Catalog& catalog, const OperationServices& services) {
  OperationContext operation(services);
  RecoveryUnit& unit = operation.recoveryUnit();
  if (!catalog.find(rollbackIdNamespace())) {
    WriteUnitOfWork work(unit);
    TROUPE_TRY(createCollection(catalog, unit, rollbackIdNamespace(), {}).status());
    TROUPE_TRY(work.commit());
  }
  const CollectionPtr ids = catalog.find(rollbackIdNamespace());
  int64_t id = 2;
  WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(auto cursor, ids->records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.next());
  if (found) {
    const bson::Document before(cursor.document());
    TROUPE_ASSIGN(const int64_t last, rollbackIdIn(before));
    id = last + 1;
    TROUPE_TRY(ids->update(unit, cursor.id(), before, rollbackIdRecord(id)));
  } else {
    TROUPE_TRY(ids->insert(unit, rollbackIdRecord(id)).status());
  }
  TROUPE_TRY(work.commit());
  TROUPE_TRY(catalog.engine().flushLog());
  return id;
}

}  // namespace troupe::storage
