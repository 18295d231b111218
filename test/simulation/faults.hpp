#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/scenario.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// Lets things go wrong as a scenario says, when and where the seed says. What lies upon a link at the same time adds
/// up. Outlives the run.
class Faults {
 public:
  Faults(const Scenario& scenario, Simulation& cluster, uint64_t seed);

  void begin();
  /// All faults end: everyone lives and works, the network is whole, disks and clocks are as they were.
  void end();
  /// How many have struck.
  uint64_t struck() const { return struck_; }

 private:
  using Link = std::pair<std::string, std::string>;
  struct Effect {
    std::set<Link> links;
    std::function<void(Conditions&)> change;
  };

  void planNext(size_t fault);
  void strike(const FaultSpec& fault);
  void strikeNode(const FaultSpec& fault);
  void strikeClock(const FaultSpec& fault);
  void strikeDisk(const FaultSpec& fault);
  void fillDisk(const std::string& node, Duration lasts);
  void miscount(const std::string& node);
  /// Takes a row away from an index of a living node, at once.
  void dropKey(const std::string& node);
  /// Likewise an entry of its log of operations: the last one of some state document.
  void dropEntry(const std::string& node);
  /// Likewise a document of a collection of `test`, with its keys.
  void dropDocument(const std::string& node);
  /// A service of a living node fails, and its supervisor sets it aside.
  void parkActor(const std::string& node);
  void strikeLinks(const FaultSpec& fault);
  void partition(const FaultSpec& fault);
  void clog(const FaultSpec& fault);
  void restart(const std::string& node);

  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }
  const std::string& anyNode() { return cluster_.nodes()[below(cluster_.nodes().size())]; }
  /// Nodes that live and are not paused.
  std::vector<std::string> working() const;
  std::vector<Link> allLinks() const;
  /// That many different ones, in random order.
  std::vector<Link> someLinks(int count);
  void lay(std::set<Link> links, Duration lasts, std::function<void(Conditions&)> change);
  void applyToLinks();
  TimePoint inTime(Duration fromNow) const { return simulationStart() + cluster_.elapsed() + fromNow; }
  void note(const std::string& node, std::string what, std::string detail);

  const Scenario& scenario_;
  Simulation& cluster_;
  Random random_;
  std::map<uint64_t, Effect> effects_;
  std::map<std::string, Duration> skews_;
  std::map<std::pair<std::string, bool>, int> badDisks_;  ///< how many faults lie upon a disk; of lies apart
  std::map<std::string, int> fullDisks_;                  ///< likewise
  uint64_t lastEffect_ = 0, struck_ = 0;
  bool over_ = false;
};

}  // namespace troupe::sim
