#pragma once
#include <map>
#include <string>

#include "test/simulation/lease_service.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

/// Hands leases from node to node, one hand-off of each at a time; and tells services that they are primary no longer,
/// and again.
class LeaseWorkload final : public Workload {
 public:
  LeaseWorkload(const Scenario& scenario, Simulation& cluster, LeaseService& service, uint64_t seed)
      : Workload(scenario, cluster, seed), service_(service) {}

  /// Grants each lease to its first holder.
  bool prepare(Duration atMost) override;

 private:
  struct Last {
    std::string node, handoff;  ///< who coordinates it; empty: there was none
    std::string holder;         ///< as far as was known
    int64_t epoch = 1;
    Duration askedAt{};
  };
  void ask(const WorkSpec& work) override;
  void askForHandoff();
  void askForStepDown(const WorkSpec& work);

  LeaseService& service_;
  std::map<std::string, Last> last_;  ///< by lease
  uint64_t handoffs_ = 0;
};

}  // namespace troupe::sim
