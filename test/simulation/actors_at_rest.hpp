#pragma once
#include <string>

#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// The first actor of a living node that has failed and does not run: it waits for its next start, or was set aside.
/// Says where it is, and its last error; empty if there is none.
std::string whyNotAllRun(Simulation& cluster);

}  // namespace troupe::sim
