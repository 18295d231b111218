#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "test/simulation/scenario.hpp"
#include "test/simulation/site_faults.hpp"
#include "test/simulation/trace.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

/// How one run of a scenario went.
struct RunOutcome {
  std::string broken;  ///< empty: all that was checked held
  uint64_t hash = 0;   ///< of its trace
  uint64_t events = 0, turns = 0, messages = 0, faults = 0;
  int64_t progress = 0;  ///< of a set: its last term; of leases: how many changed hands
  Duration simulated{};
  Tally tally;
  SiteCounts sites;
  std::map<std::string, uint64_t> states;  ///< how often a node came to be in one, once all was ready
};

/// Runs a scenario once: the cluster is made ready, faults strike until it is time, then it has to come together and to
/// stay so for three election timeouts. Everything follows from the seed. `look` gets the trace before it goes;
/// `follow` gets each event. Both may be null.
RunOutcome runScenario(const Scenario& scenario, uint64_t seed, size_t keepEvents = 200,
                       const std::function<void(const Trace&)>& look = nullptr,
                       const std::function<void(const TraceEvent&)>& follow = nullptr);

/// Where two runs of one seed part: the last lines that are the same, and then both next ones. Empty if they do not.
std::string firstDifference(const Scenario& scenario, uint64_t seed);

/// The last `count` lines of a trace, below its header.
std::string tailOf(const Trace& trace, size_t count);

}  // namespace troupe::sim
