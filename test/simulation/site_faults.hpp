#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "actors/environment/fault_site.hpp"
#include "test/simulation/scenario.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// How often each site has fired, by name.
using SiteCounts = std::map<std::string_view, uint64_t>;

/// Lets fault sites of the code fire as a scenario says. A seed draws which of them are active and with which
/// probability, the same on all nodes; each firing is a line of the trace. Dies before the simulation.
class SiteFaults {
 public:
  SiteFaults(const Scenario& scenario, Simulation& cluster, uint64_t seed);
  ~SiteFaults();
  SiteFaults(const SiteFaults&) = delete;

  void begin();
  void end() { active_.clear(); }
  const SiteCounts& fired() const { return fired_; }

 private:
  /// The plan of one node.
  class OnNode final : public FaultPlan {
   public:
    OnNode(SiteFaults& faults, std::string node) : faults_(faults), node_(std::move(node)) {}
    bool fires(const FaultSite& site) noexcept override { return faults_.fires(site, node_); }

   private:
    SiteFaults& faults_;
    const std::string node_;
  };
  bool fires(const FaultSite& site, const std::string& node);

  const Scenario& scenario_;
  Simulation& cluster_;
  Random random_;
  std::map<std::string, OnNode> nodes_;
  std::map<const FaultSite*, double> active_;  ///< with its probability; looked up, never walked over
  SiteCounts fired_;
};

/// Whether a name of a site is meant by one of the patterns: a whole name, or its beginning and a star.
bool isMeant(std::string_view site, const std::vector<std::string>& patterns);

}  // namespace troupe::sim
