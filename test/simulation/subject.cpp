#include "test/simulation/subject.hpp"

#include "test/simulation/data_node.hpp"
#include "test/simulation/lease_service.hpp"
#include "test/simulation/replica_set.hpp"

namespace troupe::sim {

std::unique_ptr<Subject> makeSubject(const Scenario& scenario) {
  if (scenario.topology.kind == ProgramKind::kLeaseService) return std::make_unique<LeaseService>(scenario);
  if (scenario.topology.kind == ProgramKind::kDataNode) return std::make_unique<DataNode>(scenario);
  return std::make_unique<ReplicaSet>(scenario);
}

const std::vector<std::string>& invariantNames(ProgramKind program) {
  if (program == ProgramKind::kDataNode) return DataNode::invariantNames();
  return program == ProgramKind::kLeaseService ? LeaseService::invariantNames() : ReplicaSet::invariantNames();
}

}  // namespace troupe::sim
