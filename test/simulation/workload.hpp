#pragma once
#include <map>
#include <memory>
#include <string>

#include "test/simulation/scenario.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// What was asked of a cluster, and how it was answered.
struct Tally {
  uint64_t asked = 0, done = 0;
  std::map<std::string, uint64_t> refused;  ///< by the name of the error
};

/// Asks the nodes what a scenario says, at times that the seed says. Outlives the run.
class Workload {
 public:
  Workload(const Scenario& scenario, Simulation& cluster, uint64_t seed)
      : scenario_(scenario), cluster_(cluster), random_(seed ^ 0x3039303930393039ull) {}
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;

  /// Makes the cluster ready for the safety phase; false if it was not within the limit.
  virtual bool prepare(Duration atMost) = 0;
  void begin();
  void end() { over_ = true; }
  const Tally& tally() const { return *tally_; }

 protected:
  virtual void ask(const WorkSpec& work) = 0;
  /// Asks an actor of a living node; `answered` becomes true with the answer, whatever it is. May be null.
  void send(const std::string& node, const char* path, const char* name, Payload command,
            std::shared_ptr<bool> answered = nullptr);
  /// A node that lives; "" if none does.
  std::string anyWorking();
  /// For what may be answered when this has gone.
  const std::shared_ptr<Tally>& sharedTally() const { return tally_; }
  void countAsked() { ++tally_->asked; }
  /// `refusal`: empty if it was done.
  void countAnswer(const std::string& refusal) { ++(refusal.empty() ? tally_->done : tally_->refused[refusal]); }
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }

  const Scenario& scenario_;
  Simulation& cluster_;
  Random random_;

 private:
  void planNext(size_t work);

  std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();  ///< also of those that still wait for an answer
  bool over_ = false;
};

}  // namespace troupe::sim
