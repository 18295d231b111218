#pragma once
#include <string>

#include "test/simulation/scenario_run.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {

/// What the first of some seeds that is broken says of a set of three with these workloads (and other tables), whose
/// members are killed and cut off; empty if none is.
inline std::string firstBrokenOfStormySet(const std::string& workloads, uint64_t seeds) {
  const auto scenario = parseScenario(R"(
name = "x"
[topology]
nodes = 3
)" + workloads + R"(
[[fault]]
kind = "kill"
every = "2s..5s"
for = "200ms..1s"
leave = 2
[[fault]]
kind = "partition"
shape = "isolate"
every = "2s..5s"
for = "500ms..4s"
[liveness]
after = "10s"
converge_within = "60s"
)",
                                      "a.toml", invariantNames);
  if (!scenario.isOK()) return scenario.status().toString();
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    if (std::string broken = runScenario(*scenario, seed, 1).broken; !broken.empty()) return broken;
  return {};
}

}  // namespace troupe::sim
