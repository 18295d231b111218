#include "test/simulation/data_node.hpp"

#include "test/simulation/data_workload.hpp"

namespace troupe::sim {

const std::vector<std::string>& DataNode::invariantNames() {
  static const std::vector<std::string> names{kRegistersHold, kSessionsHold,     kListsHold, kContentsHold,
                                              kRecoveryHolds, kAnswersExplained, kWorkIsDone};
  return names;
}

/// Checkpoints come more often than usual, so that recoveries begin from one.
void DataNode::configure(const std::string&, supervisors::AssemblyOptions& options) {
  options.observers.push_back(&writes_);
  options.setParameters = [](server::Parameters& parameters) {
    parameters.syncPeriodSeconds = 3;
    return Status::OK();
  };
}

void DataNode::started(NodeLife&) {
  if (++lives_ > 1 && workload_) workload_->recovered();
}

void DataNode::died(const std::string&) {}

std::unique_ptr<Workload> DataNode::workload(Simulation& cluster, uint64_t seed) {
  auto made = std::make_unique<DataWorkload>(scenario_, cluster, seed, [this] { return writes_.count(); });
  workload_ = made.get();
  return made;
}

void DataNode::calm(Simulation&) { workload_->calm(); }

std::string DataNode::whyNotConverged() { return workload_->whyNotDone(); }

}  // namespace troupe::sim
