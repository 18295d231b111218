#pragma once
#include <cstdint>

#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::storage {

// The rollback id of a member, where operators of replica sets look for it (RBK-005): {_id: "rollbackId", rollbackId:
// N} in `local.system.rollback.id`. A member that has never rolled back has none, and the id 1.

const Namespace& rollbackIdNamespace();
bson::Document rollbackIdRecord(int64_t id);
/// Errors: DataCorruptionDetected.
StatusWith<int64_t> rollbackIdIn(bson::View record);

/// Moves the stored id by one, durably, and gives the new one: for a start, before any of the node's actors, whose log
/// may lack what others have read of it. *Blocks.* Errors: DataCorruptionDetected; those of writes.
StatusWith<int64_t> raiseRollbackId(Catalog& catalog, const OperationServices& services);

}  // namespace troupe::storage
