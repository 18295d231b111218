#include "state_machines/replication/set_identity.hpp"

#include <fmt/format.h>

namespace troupe::replication {

/// Which of the two sets has data worth keeping is for the operator to say: the text must not call for the wrong
/// directory to be emptied.
Status checkSameSet(const NodeName& host, const std::string& setName, const ReplicaSetId& its,
                    const ReplicaSetId& other) {
  if (!its || !other || *its == *other) return Status::OK();
  return {ErrorCode::kInvalidReplicaSetConfig,
          fmt::format("{} is in another set, that is named {}, too: its replicaSetId is {}, not {}. A node that was "
                      "initiated as a set of its own can join another one only with an empty data directory; "
                      "otherwise it is to be removed from the config",
                      host, setName, its->toString(), other->toString())};
}

}  // namespace troupe::replication
