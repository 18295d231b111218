#pragma once
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/scenario.hpp"
#include "test/simulation/subject.hpp"
#include "test/simulation/write_counter.hpp"

namespace troupe::sim {

class DataWorkload;

/// A node that stands alone and serves drivers, as a program of the simulator: sessions read and write registers, lists
/// and items over the wire, and record what they were told. After every recovery, and in the end, its contents are
/// compared with its indexes, its counts, and what was acknowledged; in the end the histories are checked.
class DataNode final : public Subject {
 public:
  static const std::vector<std::string>& invariantNames();

  explicit DataNode(const Scenario& scenario) : scenario_(scenario) {}

  void configure(const std::string& node, supervisors::AssemblyOptions& options) override;
  void started(NodeLife& life) override;
  void died(const std::string& node) override;
  void watch(Simulation& cluster) override { (void)cluster; }
  std::unique_ptr<Workload> workload(Simulation& cluster, uint64_t seed) override;
  void calm(Simulation& cluster) override;
  std::string whyNotConverged() override;
  int64_t progress() const override { return lives_; }

 private:
  const Scenario& scenario_;
  WriteCounter writes_;
  DataWorkload* workload_ = nullptr;  ///< the run's
  int64_t lives_ = 0;
};

}  // namespace troupe::sim
