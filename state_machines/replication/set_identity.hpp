#pragma once
#include <optional>
#include <string>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/core/step.hpp"

/// Sets of the same name are told apart by the id that replSetInitiate draws for each (`settings.replicaSetId`).
namespace troupe::replication {

using machines::NodeName;

/// The id of a set. Absent: not known, as by a node without a config and by nodes of versions that did not send it.
using ReplicaSetId = std::optional<bson::ObjectId>;

/// OK unless both ids are known and differ: then `host`, whose set has the id `its`, is no member of the set with the
/// id `other`, though both sets have that name. Errors: InvalidReplicaSetConfig, with both ids and what to do.
Status checkSameSet(const NodeName& host, const std::string& setName, const ReplicaSetId& its,
                    const ReplicaSetId& other);

}  // namespace troupe::replication
