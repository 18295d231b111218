#pragma once
#include <string>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/state_store.hpp"
#include "state_machines/replication/topology.hpp"

namespace troupe::replication {

/// The document of `local.replset.election`: this node's last vote (ELE-017), its own name (for people who look), and
/// whether it founded the set, or leaves out secondary indexes.
struct ElectionRecord {
  std::string id = "lastVote";
  int64_t term = 0;
  NodeName candidate;
  std::optional<NodeName> self;
  std::optional<std::string> setName;
  std::optional<bool> founder;
  std::optional<bool> buildIndexes;  ///< of the newest config that had this node as a member; absent: true
  bool operator==(const ElectionRecord&) const = default;
};

/// Keeps the topology's document where operators of replica sets look for it, in two collections: the last vote in
/// `local.replset.election`, the config in `local.system.replset` (ELE-037). The vote is written first: a config that
/// is lost is sent again by other members, a vote must not be lost. With the config the catalog hears whether this
/// member builds indexes; one that is removed from its set keeps to what it was.
class TopologyStore final : public machines::StateStore<Topology::Document> {
 public:
  explicit TopologyStore(const machines::StorageAccess& access);

  /// Loads the stored document at a start; a new one if there is none. It is that of the node `self`, whatever node has
  /// written it. Reads storage on the calling thread.
  StatusWith<machines::Loaded<Topology::Document>> read(const NodeName& self, const std::string& setName) const;

  Task<Status> put(const Topology::Document& document, const machines::UnknownFields& unknown,
                   machines::Durability durability) override;
  /// Fails: a member's topology has no end.
  Task<Status> remove(bson::Document key, machines::Durability durability) override;
  Task<Status> settle() override { return elections_.settle(); }

 private:
  Task<Status> write(ElectionRecord election, std::optional<ReplicaSetConfig> config, machines::Durability durability);

  storage::Catalog& catalog_;
  machines::CollectionStore elections_, configs_;
  // As written by this store: an unchanged document is not written again.
  std::optional<ElectionRecord> lastElection_;
  std::optional<ReplicaSetConfig> lastConfig_;
};

/// Tells the catalog whether the member builds indexes, as its store has noted it: at a start, before the log is
/// replayed. Reads storage on the calling thread.
Status takeUpBuildIndexes(storage::Catalog& catalog, const storage::OperationServices& services);

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::ElectionRecord, 0, id, term, candidate, self, setName, founder, buildIndexes)
