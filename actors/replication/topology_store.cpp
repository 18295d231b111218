#include "actors/replication/topology_store.hpp"

#include <utility>

namespace troupe::replication {

namespace {

const storage::Namespace kElections("local", "replset.election");
const storage::Namespace kConfigs("local", "system.replset");

/// The only document of a collection, if there is one.
template <class T>
StatusWith<std::optional<T>> onlyDocument(const machines::CollectionStore& store) {
  TROUPE_ASSIGN(const auto batch, store.loadNow(0, 1));
  if (batch.documents.empty()) return std::optional<T>();
  TROUPE_ASSIGN(T found, machines::fromBson<T>(batch.documents.front()));
  return std::optional<T>(std::move(found));
}

}  // namespace

TopologyStore::TopologyStore(const machines::StorageAccess& access)
    : catalog_(access.catalog), elections_(access, kElections), configs_(access, kConfigs) {}

StatusWith<machines::Loaded<Topology::Document>> TopologyStore::read(const NodeName& self,
                                                                     const std::string& setName) const {
  machines::Loaded<Topology::Document> found;
  found.value.self = self;
  found.value.setName = setName;
  TROUPE_ASSIGN(const auto election, onlyDocument<ElectionRecord>(elections_));
  // The name that is stored says whose directory this was. A copy of it is another node, which must not speak as the
  // one that it is a copy of: the config names it, or it is outside until it is added.
  if (election) found.value.lastVote = {election->term, election->candidate};
  TROUPE_ASSIGN(found.value.config, onlyDocument<ReplicaSetConfig>(configs_));
  const auto& config = found.value.config;
  if (!config) return found;
  found.value.founder = election && election->founder.value_or(false);  // without the config nothing was founded
  TROUPE_TRY(config->validate());
  if (config->id != setName)
    return Status(ErrorCode::kInvalidReplicaSetConfig, "this node's data belongs to the replica set '" + config->id +
                                                           "', and it was started with --replSet " + setName +
                                                           ": start it with --replSet " + config->id +
                                                           ", or with an empty data directory");
  return found;
}

Task<Status> TopologyStore::put(const Topology::Document& document, const machines::UnknownFields&,
                                machines::Durability durability) {
  ElectionRecord election;
  election.term = document.lastVote.term;
  election.candidate = document.lastVote.candidate;
  election.self = document.self;
  election.setName = document.setName;
  if (document.founder) election.founder = true;
  const MemberConfig* const member = document.config ? document.config->member(document.self) : nullptr;
  if (member) catalog_.setBuildsIndexes(member->buildIndexes);
  if (!catalog_.buildsIndexes()) election.buildIndexes = false;
  return write(std::move(election), document.config, durability);
}

Task<Status> TopologyStore::write(ElectionRecord election, std::optional<ReplicaSetConfig> config,
                                  machines::Durability durability) {
  if (election != lastElection_) {
    const Status status = co_await elections_.put(machines::toBson(election), durability);
    if (!status.isOK()) co_return status;
    lastElection_ = std::move(election);
  }
  if (!config || config == lastConfig_) co_return Status::OK();
  const Status status = co_await configs_.put(machines::toBson(*config), durability);
  if (status.isOK()) lastConfig_ = std::move(config);
  co_return status;
}

Task<Status> TopologyStore::remove(bson::Document, machines::Durability) {
  co_return Status(ErrorCode::kIllegalOperation, "a topology has no end");
}

Status takeUpBuildIndexes(storage::Catalog& catalog, const storage::OperationServices& services) {
  const storage::CollectionPtr elections = catalog.find(kElections);
  if (!elections) return Status::OK();
  storage::OperationContext operation(services);
  TROUPE_ASSIGN(auto cursor, elections->records().cursor(operation.recoveryUnit()));
  TROUPE_ASSIGN(const bool found, cursor.next());
  if (!found) return Status::OK();
  TROUPE_ASSIGN(const auto election, machines::fromBson<ElectionRecord>(cursor.document()));
  catalog.setBuildsIndexes(election.buildIndexes.value_or(true));
  return Status::OK();
}

}  // namespace troupe::replication
