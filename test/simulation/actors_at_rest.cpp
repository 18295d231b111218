#include "test/simulation/actors_at_rest.hpp"

#include <fmt/format.h>

#include "supervisors/supervision/supervision_policy.hpp"
#include "supervisors/tree/data_node.hpp"

namespace troupe::sim {

namespace {

/// Supervisors, services and machines each have words for it. "pausing" counts only where a service says it of an
/// instance: the initial syncer of a member that was removed from its set pauses between its attempts, and runs.
bool hasFailed(const ActorRow& row) {
  using supervisors::ChildState;
  if (row.phase == "pausing") return isUnder(row.path, supervisors::kServicesPath);
  for (const ChildState state : {ChildState::kBackingOff, ChildState::kParked})
    if (row.phase == supervisors::childStateName(state)) return true;
  return row.phase == "failed";
}

}  // namespace

std::string whyNotAllRun(Simulation& cluster) {
  for (const std::string& node : cluster.nodes()) {
    if (!cluster.isAlive(node)) continue;
    for (const ActorRow& row : cluster.life(node).node().registry().rows())
      if (hasFailed(row)) return fmt::format("{} of {} is {}: {}", row.path, node, row.phase, row.lastError);
  }
  return {};
}

}  // namespace troupe::sim
