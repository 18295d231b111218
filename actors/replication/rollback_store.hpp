#pragma once
#include <string>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/state_store.hpp"
#include "state_machines/replication/rollback.hpp"

namespace troupe::replication {

/// Keeps the rollback id where operators of replica sets look for it: {_id: "rollbackId", rollbackId: N} in
/// `local.system.rollback.id`. A member that has never rolled back has none, and the id 1.
class RollbackStore final : public machines::StateStore<Rollback::Document> {
 public:
  explicit RollbackStore(const machines::StorageAccess& access);

  /// Loads the stored document at a start. Reads storage on the calling thread.
  StatusWith<machines::Loaded<Rollback::Document>> read() const;

  Task<Status> put(const Rollback::Document& document, const machines::UnknownFields& unknown,
                   machines::Durability durability) override;
  /// Fails: the id stays for as long as the node has data.
  Task<Status> remove(bson::Document key, machines::Durability durability) override;
  Task<Status> settle() override { return documents_.settle(); }

 private:
  machines::CollectionStore documents_;
};

/// Moves the stored id by one, durably, and gives the new one: for a start, before any of the node's actors, whose log
/// may lack what others have read of it. *Blocks.* Errors: DataCorruptionDetected; those of writes.
StatusWith<int64_t> raiseRollbackId(storage::Catalog& catalog, const storage::OperationServices& services);

}  // namespace troupe::replication
