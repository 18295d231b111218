#pragma once
#include <functional>
#include <vector>

#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Drops the temporary collections that the last life of the process left, killed in the middle of an $out. Called at a
/// start, before the tree of actors: *blocks*, and nobody else works on the collections. On a member of a replica set
/// the removal of what is replicated is a write that only its primary may make: there only those of the node itself go.
/// A failure is logged and leaves the collection as it is.
void discardTemporaries(server::ServerContext& server);

/// The temporary collections of which `wanted` holds.
std::vector<storage::CollectionPtr> temporaryCollections(const storage::Catalog& catalog,
                                                         const std::function<bool(const storage::Namespace&)>& wanted);
/// Logs that one was removed, or why it was not.
void logDiscarded(server::ServerContext& server, const storage::Namespace& ns, const Status& outcome);

}  // namespace troupe::maintenance
