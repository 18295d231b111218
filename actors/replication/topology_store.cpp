#include "actors/replication/topology_store.hpp"

#include <utility>

#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::replication {

namespace {

const storage::Namespace kElections("local", "replset.election");
const storage::Namespace kConfigs("local", "system.replset");

/// The only document of a collection, if there is one.
StatusWith<bson::Document> onlyDocument(const machines::StorageAccess& access, const storage::Namespace& ns) {
  const auto collection = access.catalog.find(ns);
  if (!collection) return bson::Document();
  storage::OperationContext operation(access.operations(), storage::OperationOrigin::kMachine);
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(operation.recoveryUnit()));
  TROUPE_ASSIGN(const bool found, cursor.next());
  return found ? bson::Document(cursor.document()) : bson::Document();
}

bson::Document electionDocument(const Topology::Document& document) {
  return bson::doc("_id", "lastVote", "term", document.lastVote.term, "candidate", document.lastVote.candidate, "self",
                   document.self, "setName", document.setName);
}

}  // namespace

TopologyStore::TopologyStore(machines::StorageAccess access)
    : access_(access), elections_(access, kElections), configs_(access, kConfigs) {}

StatusWith<machines::Loaded<Topology::Document>> TopologyStore::read(const NodeName& self,
                                                                     const std::string& setName) const {
  machines::Loaded<Topology::Document> found;
  found.value.self = self;
  found.value.setName = setName;
  TROUPE_ASSIGN(const auto election, onlyDocument(access_, kElections));
  if (!election.empty()) {
    found.value.lastVote = {election["term"].toInt64(), std::string(election["candidate"].toStringOr())};
    if (const auto known = election["self"].toStringOr(); !known.empty()) found.value.self = known;
  }
  TROUPE_ASSIGN(const auto config, onlyDocument(access_, kConfigs));
  if (config.empty()) return found;
  TROUPE_ASSIGN(auto parsed, ReplicaSetConfig::parse(config));
  if (parsed.id != setName)
    return Status(ErrorCode::kInvalidReplicaSetConfig, "this node's data belongs to the replica set '" + parsed.id +
                                                           "', and it was started with --replSet " + setName);
  found.value.config = std::move(parsed);
  return found;
}

Task<Status> TopologyStore::put(bson::Document document, machines::Durability durability) {
  TROUPE_CO_ASSIGN(auto value, machines::fromBson<Topology::Document>(document));
  bson::Document election = electionDocument(value);
  if (!(election.view() == lastElection_.view())) {
    const Status status = co_await elections_.put(election, durability);
    if (!status.isOK()) co_return status;
    lastElection_ = std::move(election);
  }
  if (!value.config) co_return Status::OK();
  bson::Document config = value.config->toBson();
  if (config.view() == lastConfig_.view()) co_return Status::OK();
  const Status status = co_await configs_.put(config, durability);
  if (status.isOK()) lastConfig_ = std::move(config);
  co_return status;
}

Task<Status> TopologyStore::remove(bson::Document, machines::Durability) {
  co_return Status(ErrorCode::kIllegalOperation, "a topology has no end");
}

Task<StatusWith<std::optional<bson::Document>>> TopologyStore::find(bson::Document) {
  co_return Status(ErrorCode::kIllegalOperation, "a topology is read at the start of its actor");
}

Task<StatusWith<machines::DocumentBatch>> TopologyStore::load(int64_t, size_t) {
  co_return Status(ErrorCode::kIllegalOperation, "a topology is read at the start of its actor");
}

}  // namespace troupe::replication
