#include "test/simulation/data_node.hpp"

#include "test/simulation/data_workload.hpp"

namespace troupe::sim {

const std::vector<std::string>& DataNode::invariantNames() {
  static const std::vector<std::string> names{kRegistersHold, kListsHold, kContentsHold};
  return names;
}

void DataNode::started(NodeLife&) {
  if (++lives_ > 1 && workload_) workload_->wantAudit();
}

void DataNode::died(const std::string&) {}

std::unique_ptr<Workload> DataNode::workload(Simulation& cluster, uint64_t seed) {
  auto made = std::make_unique<DataWorkload>(scenario_, cluster, seed);
  workload_ = made.get();
  return made;
}

void DataNode::calm(Simulation&) { workload_->wantAudit(); }

std::string DataNode::whyNotConverged() { return workload_->whyNotDone(); }

}  // namespace troupe::sim
