#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state_machines/core/world.hpp"
#include "test/simulation/network.hpp"
#include "test/simulation/sim_node.hpp"
#include "test/simulation/streams.hpp"
#include "test/simulation/trace.hpp"

namespace troupe::sim {

/// What runs on each node.
class Program {
 public:
  virtual ~Program() = default;
  /// Before each life of a node: what its assembly has besides what all nodes have.
  virtual void configure(const std::string& node, supervisors::AssemblyOptions& options) = 0;
  /// A life has begun; none of its actors has had a turn.
  virtual void started(NodeLife& life) { (void)life; }
  /// What the node is now, for the trace.
  virtual std::pair<std::string, int64_t> roleOf(const std::string& node) {
    (void)node;
    return {};
  }
  /// The node has died: what the program kept of its life goes.
  virtual void died(const std::string& node) = 0;
};

/// A cluster of whole nodes in one process, on virtual time, from one seed: the next thing to happen is drawn from what
/// could. The same seed gives the same run. A broken check ends the run. For one thread.
class Simulation {
 public:
  Simulation(uint64_t seed, std::vector<std::string> nodes, Program& program, size_t keepEvents = 2000);
  ~Simulation();
  Simulation(const Simulation&) = delete;

  /// Runs for that much virtual time; stops early when something is broken.
  void run(Duration time);
  /// Runs until the condition holds, at most that long; false if it did not come to be.
  bool runUntil(const std::function<bool()>& condition, Duration atMost);

  // What may be done to it. Also by actions that are due (`at`).
  void kill(const std::string& node);
  void restart(const std::string& node);
  /// A paused node does nothing and reads nothing; when it goes on it finds at once that time has jumped.
  void pause(const std::string& node);
  void resume(const std::string& node);
  void skewWall(const std::string& node, Duration by);
  /// Also of lives to come.
  void setDiskSpace(const std::string& node, std::optional<DiskSpace> space);
  DiskConditions& disk(const std::string& node) { return slots_.at(node).conditions; }
  Network& network() { return network_; }
  Streams& streams() { return *streams_; }
  /// A machine beside the nodes, for clients: its tasks run in turns as theirs do. It is never killed. Throws
  /// std::logic_error when there is one of that name.
  Node& addMachine(const std::string& name);
  /// Calls `action` when virtual time has passed by that much.
  void at(Duration fromNow, std::function<void()> action);

  bool isAlive(const std::string& node) const { return slots_.at(node).life != nullptr; }
  bool isPaused(const std::string& node) const { return slots_.at(node).paused; }
  NodeLife& life(const std::string& node) { return *slots_.at(node).life; }
  /// Calls `look` with each node that lives, and with each later life when it begins; replaces the last one.
  void eachLife(std::function<void(const std::string& node, NodeLife& life)> look);
  const std::vector<std::string>& nodes() const { return names_; }
  Duration elapsed() const { return now_ - simulationStart(); }
  uint64_t turns() const { return turns_; }
  Random& random() { return random_; }
  Trace& trace() { return trace_; }
  /// What must stay true over the whole run; a contradiction breaks it.
  machines::Facts& facts() { return facts_; }

  /// Called after every turn of a node; states what is broken with `fail`.
  void check(std::function<void(const std::string& node)> check) { check_ = std::move(check); }
  void fail(std::string why);
  /// Empty: nothing is broken so far.
  const std::string& failure() const { return failure_; }
  void note(TraceEvent::Kind kind, const std::string& node, std::string actor, std::string what, std::string detail);

 private:
  struct Slot {
    std::unique_ptr<NodeLife> life;
    storage::DeterministicDisk disk;
    DiskConditions conditions;
    bool paused = false;
    uint64_t lives = 0;
    std::shared_ptr<void> subscription;
  };
  struct Machine {
    std::shared_ptr<VirtualEnvironment> time;
    std::unique_ptr<Node> node;
  };
  /// Does the next thing; false if nothing is to happen before `end`.
  bool step(TimePoint end);
  bool runReady();
  void turn(const std::string& name, Node& node);
  TimePoint nextEvent(TimePoint end) const;
  void moveTo(TimePoint when);
  void boot(const std::string& name);
  void over(const std::string& name, uint64_t lives);

  const uint64_t seed_;
  Random random_;
  TimePoint now_ = simulationStart();
  Trace trace_;
  Network network_;
  const std::shared_ptr<Streams> streams_;
  Program& program_;
  std::vector<std::string> names_;
  std::map<std::string, Slot> slots_;
  std::map<std::string, Machine> machines_;
  std::map<std::pair<TimePoint, uint64_t>, std::function<void()>> actions_;
  uint64_t sequence_ = 0, turns_ = 0;
  machines::Facts facts_;
  std::function<void(const std::string&)> check_;
  std::function<void(const std::string&, NodeLife&)> eachLife_;
  std::string failure_;
};

}  // namespace troupe::sim
