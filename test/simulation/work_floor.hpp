#pragma once
#include <cstdint>
#include <string>

#include "test/simulation/scenario.hpp"

namespace troupe::sim {

/// How much of a scenario's work has to be done: checks of a cluster that does nothing prove nothing.
struct WorkFloor {
  /// Of each kind of operation that was begun so often; of rarer ones any share may be lost to faults.
  static constexpr uint64_t kOften = 20;

  double ofBegun = 0;  ///< the least share of the operations of each kind that were begun
  double ofRate = 0;   ///< of the operations of drivers' sessions that the workloads' rates come to

  /// Empty if enough operations of that kind were done.
  std::string whyTooFew(uint64_t done, uint64_t begun, const std::string& kind) const;
  /// Empty if drivers' sessions have done enough in the safety phase.
  std::string whyTooFew(const Scenario& scenario, uint64_t done) const;
};

/// Whether drivers' sessions (DataSessions) carry out the workload.
bool isOfSessions(WorkKind kind);

}  // namespace troupe::sim
