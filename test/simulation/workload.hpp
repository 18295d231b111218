#pragma once
#include <map>
#include <memory>
#include <string>

#include "test/simulation/replica_set.hpp"
#include "test/simulation/scenario.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// What was asked of the set, and how it was answered.
struct Tally {
  uint64_t asked = 0, done = 0;
  std::map<std::string, uint64_t> refused;  ///< by the name of the error
};

/// Asks the members what operators ask, as a scenario says. Outlives the run.
class Workload {
 public:
  Workload(const Scenario& scenario, Simulation& cluster, ReplicaSet& set, uint64_t seed);

  /// Initiates the set and waits for its first primary; false if there was none within the limit.
  bool initiate(Duration atMost);
  void begin();
  void end() { over_ = true; }
  const Tally& tally() const { return *tally_; }

 private:
  void planNext(size_t work);
  void ask(const WorkSpec& work);
  void askForStepDown(const WorkSpec& work);
  void askForStepUp();
  void askForReconfig();
  void askForFreeze(const WorkSpec& work);
  replication::ReplicaSetConfig changed(replication::ReplicaSetConfig config);
  std::string anyWorking();
  template <class Command>
  void send(const std::string& node, const char* name, Command command, std::shared_ptr<bool> answered = nullptr);

  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }

  const Scenario& scenario_;
  Simulation& cluster_;
  ReplicaSet& set_;
  Random random_;
  std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();  ///< also of those that still wait for an answer
  bool over_ = false;
};

}  // namespace troupe::sim
