#pragma once
#include <string>

#include "actors/machines/collection_store.hpp"
#include "messaging/description/bson_archive.hpp"
#include "state_machines/replication/topology.hpp"

namespace troupe::replication {

/// Keeps the topology's document where operators of replica sets look for it: the last vote in `local.replset.election`
/// (ELE-017), the config in `local.system.replset` (ELE-037). The vote is written first: a config that is lost is sent
/// again by others, a vote must not be.
class TopologyStore final : public machines::DocumentStore {
 public:
  TopologyStore(machines::StorageAccess access);

  /// Loads the stored document at a start; a new one if there is none. Reads storage on the calling thread.
  StatusWith<machines::Loaded<Topology::Document>> read(const NodeName& self, const std::string& setName) const;

  Task<Status> put(bson::Document document, machines::Durability durability) override;
  Task<Status> remove(bson::Document key, machines::Durability durability) override;
  Task<StatusWith<std::optional<bson::Document>>> find(bson::Document key) override;
  Task<StatusWith<machines::DocumentBatch>> load(int64_t from, size_t limit) override;
  Task<Status> settle() override { return elections_.settle(); }

 private:
  machines::StorageAccess access_;
  machines::CollectionStore elections_, configs_;
  bson::Document lastConfig_, lastElection_;  ///< as written: what is unchanged is not written again
};

}  // namespace troupe::replication
