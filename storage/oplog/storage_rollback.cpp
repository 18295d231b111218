#include "storage/oplog/storage_rollback.hpp"

#include "storage/oplog/touched_collections.hpp"

namespace troupe::storage {

Status StorageRollback::takeDown() {
  Engine& engine = parts_.catalog.engine();
  stable_ = engine.stableTimestamp();
  if (stable_ == bson::Timestamp{}) return {ErrorCode::kIllegalOperation, "there is no stable time to roll back to"};
  if (common_ < stable_)
    return {ErrorCode::kIllegalOperation,
            "the common point is before the stable time: save the data directory, empty it and start again"};
  TROUPE_TRY(doubtWhatIsCut(parts_.catalog, parts_.log, parts_.services, common_));
  // Collections that no entry touches have these sizes afterwards, too.
  TROUPE_TRY(parts_.catalog.flush());
  TROUPE_TRY(parts_.end.set(common_));
  TROUPE_TRY(engine.flushLog());
  parts_.catalog.close();
  return Status::OK();
}

/// The engine first: it is the one that may have to be asked again.
Status StorageRollback::goBack() {
  TROUPE_TRY(parts_.catalog.engine().rollbackToStable());
  OperationContext operation(parts_.services);
  TROUPE_TRY(parts_.log.cutAfter(operation.recoveryUnit(), common_));
  TROUPE_TRY(parts_.catalog.flush());  // the log has become shorter
  parts_.writes.slots.resetTo(common_);
  return Status::OK();
}

StatusWith<Replayed> StorageRollback::replay(const std::function<void(const Replayed&)>& progress) {
  TROUPE_TRY(parts_.catalog.reload(false));
  parts_.log.countWith(parts_.catalog.sizes().of(OplogStore::kIdent));
  return replayOplog(parts_.catalog, parts_.log, parts_.services, stable_, progress);
}

}  // namespace troupe::storage
