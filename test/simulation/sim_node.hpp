#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/collection_store.hpp"
#include "actors/machines/document_removals.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/engine/deterministic_engine.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/locks/resource_locks.hpp"
#include "supervisors/supervision/tree.hpp"
#include "test/simulation/network.hpp"

namespace troupe::sim {

/// How a node's disk behaves.
struct DiskConditions {
  Duration leastFlush = std::chrono::microseconds(200);
  Duration mostFlush = std::chrono::milliseconds(4);
  double failedFlushes = 0;  ///< share that fails; nothing of them is durable
  double lyingFlushes = 0;   ///< share that is said to be durable and is not
  /// Stalled until then: no flush ends before.
  TimePoint stalledUntil{};
};

/// One life of a whole node: kernel, storage on the deterministic engine, and whatever its program starts. It dies with
/// this object: what was not flushed is lost.
class NodeLife {
 public:
  NodeLife(const std::string& name, uint64_t seed, TimePoint now, storage::DeterministicDisk disk,
           DiskConditions* conditions);
  ~NodeLife();
  NodeLife(const NodeLife&) = delete;

  Node& node() { return node_; }
  VirtualEnvironment& time() { return *time_; }
  machines::StorageAccess storage();
  storage::Catalog& catalog() { return *catalog_; }
  /// Starts a tree of actors. When it ends the node gives up, as a server does, and is started again.
  void run(supervisors::Tree tree);
  void whenOver(std::function<void()> over) { over_ = std::move(over); }
  /// The process dies at once; what is left is what its disk holds.
  storage::DeterministicDisk kill();

 private:
  std::shared_ptr<VirtualEnvironment> time_;
  std::unique_ptr<storage::DeterministicEngine> engine_;
  storage::SessionPool sessions_;
  machines::DocumentRemovals removals_;
  std::unique_ptr<storage::Catalog> catalog_;
  storage::ResourceLocks locks_;
  storage::DurabilityTracker durability_;
  Node node_;
  Address flusher_;
  std::function<void()> over_;
  bool dying_ = false;
};

}  // namespace troupe::sim
