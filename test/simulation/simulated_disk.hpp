#pragma once
#include <memory>
#include <optional>
#include <string>

#include "actors/environment/virtual_environment.hpp"
#include "storage/engine/deterministic_engine.hpp"

namespace troupe::sim {

/// How a node's disk behaves.
struct DiskConditions {
  Duration leastFlush = std::chrono::microseconds(200);
  Duration mostFlush = std::chrono::milliseconds(4);
  double failedFlushes = 0;        ///< share that fails; nothing of them is durable
  double lyingFlushes = 0;         ///< share that is said to be durable and is not
  std::string losesRowOf;          ///< the next crash takes a row of a table of such an ident with it; "": none
  std::optional<DiskSpace> space;  ///< none: nobody knows, and there is enough
  /// Stalled until then: no flush ends before.
  TimePoint stalledUntil{};
};

/// The disk of one life of a node, which behaves as its conditions say: flushes of the log fail, or are said to be done
/// and are not. All that is referred to outlives it.
class SimulatedDisk {
 public:
  SimulatedDisk(const DiskConditions& conditions, VirtualEnvironment& time) : conditions_(conditions), time_(time) {}

  /// The engine on what is left of the last life.
  std::unique_ptr<storage::Engine> open(storage::DeterministicDisk left);
  /// The node has been opened. Until then no flush fails: a start that one fails ends, and is begun anew until none
  /// does.
  void started() { isStarting_ = false; }
  /// How long the next flush takes.
  Duration flushTime();
  /// What a crash at this moment leaves.
  storage::DeterministicDisk afterCrash() const;
  storage::DeterministicEngine& engine() { return *engine_; }

 private:
  Status before(storage::DeterministicEngine::DiskOperation operation);

  const DiskConditions& conditions_;
  VirtualEnvironment& time_;
  bool isStarting_ = true;
  storage::DeterministicEngine* engine_ = nullptr;        ///< of what `open` returned
  std::optional<storage::DeterministicDisk> beforeLies_;  ///< what is durable in truth, if the last flush lied
};

/// Takes one row away from one table whose ident begins so; false if there is none.
bool loseRow(storage::DeterministicDisk& disk, const std::string& prefix, uint64_t chance);

}  // namespace troupe::sim
