#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/scenario.hpp"
#include "test/simulation/simulation.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

/// A program that scenarios are run with: besides its actors, what must be true of them, what is asked of them, and
/// when all is well again.
class Subject : public Program {
 public:
  /// Before the run: from now on turns are checked.
  virtual void watch(Simulation& cluster) = 0;
  virtual std::unique_ptr<Workload> workload(Simulation& cluster, uint64_t seed) = 0;
  /// All faults have ended: does what operators do then.
  virtual void calm(Simulation& cluster) { (void)cluster; }
  /// Empty if it has come together; else what is missing.
  virtual std::string whyNotConverged() = 0;
  virtual int64_t progress() const = 0;
  /// How often a node came to be in a state, by its name.
  virtual std::map<std::string, uint64_t> states() const { return {}; }
};

/// The program of the scenario. The scenario outlives it.
std::unique_ptr<Subject> makeSubject(const Scenario& scenario);
const std::vector<std::string>& invariantNames(ProgramKind program);

}  // namespace troupe::sim
