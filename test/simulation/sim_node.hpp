#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/storage_access.hpp"
#include "supervisors/assembly/node_assembly.hpp"
#include "test/simulation/simulated_disk.hpp"

namespace troupe::sim {

/// One life of a whole node: the assembly of a daemon (NodeAssembly) on virtual time, the deterministic engine and the
/// simulated network. It dies with this object: what was not flushed is lost.
class NodeLife {
 public:
  /// `options`: what the program of the simulation wants of its nodes. The tree is started; none of its actors has had
  /// a turn. Throws std::runtime_error when it cannot be opened.
  NodeLife(const std::string& name, uint64_t seed, TimePoint now, storage::DeterministicDisk disk,
           DiskConditions& conditions, std::shared_ptr<transport::Network> network,
           supervisors::AssemblyOptions options);
  ~NodeLife();
  NodeLife(const NodeLife&) = delete;

  Node& node() { return assembly_.node(); }
  VirtualEnvironment& time() { return *time_; }
  supervisors::NodeAssembly& assembly() { return assembly_; }
  machines::StorageAccess storage() { return assembly_.storageAccess(); }
  storage::Catalog& catalog() { return assembly_.catalog(); }
  /// Called when its tree has ended: the node gives up, as a server does.
  void whenOver(std::function<void()> over) { over_ = std::move(over); }
  /// The process dies at once; what is left is what its disk holds.
  storage::DeterministicDisk kill();

 private:
  DiskConditions& conditions_;
  const std::shared_ptr<VirtualEnvironment> time_;
  SimulatedDisk disk_;
  std::function<void()> over_;
  supervisors::NodeAssembly assembly_;
};

}  // namespace troupe::sim
