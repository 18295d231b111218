#pragma once
#include <string>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/state_store.hpp"
#include "state_machines/replication/rollback.hpp"

namespace troupe::replication {

/// Keeps the rollback id in its collection (storage/oplog/rollback_id.hpp).
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

}  // namespace troupe::replication
