#pragma once
#include <functional>
#include <map>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "state_machines/core/step.hpp"

namespace troupe::machines {

/// Facts that were true once and must stay so, by subject: "leader of term 3" is "n1". Kept over the whole of a run, or
/// of a path of the model checker; a second value for a subject is a broken invariant.
class Facts {
 public:
  /// False if the subject is known with another value; the first one stays.
  bool state(std::string subject, std::string value) {
    const auto [at, isNew] = known_.try_emplace(std::move(subject), value);
    if (isNew || at->second == value) return true;
    if (contradiction_.empty()) contradiction_ = at->first + " was " + at->second + " and is now " + value;
    return false;
  }
  /// Empty if all facts fit together.
  const std::string& contradiction() const { return contradiction_; }
  const std::map<std::string, std::string>& all() const { return known_; }

 private:
  std::map<std::string, std::string> known_;
  std::string contradiction_;
};

/// All machines of a cluster at one moment, as invariants look at them: in the model checker, in the simulator, in
/// tests. Borrows the snapshots.
class World {
 public:
  template <class M>
  void add(NodeName node, bool alive, const Snapshot<M>* machine) {
    entries_.push_back({std::move(node), alive, typeid(M), machine});
  }
  /// Calls `look(node, alive, snapshot)` for each machine of type M. The memory of a node that isn't alive is a new
  /// one.
  template <class M, class F>
  void each(F&& look) const {
    for (const Entry& entry : entries_)
      if (entry.type == typeid(M)) look(entry.node, entry.alive, *static_cast<const Snapshot<M>*>(entry.machine));
  }
  /// How many machines of type M on living nodes satisfy `condition(snapshot)`.
  template <class M, class F>
  int count(F&& condition) const {
    int n = 0;
    each<M>([&](const NodeName&, bool alive, const Snapshot<M>& machine) { n += alive && condition(machine) ? 1 : 0; });
    return n;
  }

 private:
  struct Entry {
    NodeName node;
    bool alive;
    std::type_index type;
    const void* machine;
  };
  std::vector<Entry> entries_;
};

/// An invariant, by a name that reads as a sentence about its violation: "two holders of one lease".
struct Invariant {
  std::string name;
  std::function<bool(const World&)> broken;
};

inline Invariant never(std::string name, std::function<bool(const World&)> broken) {
  return {std::move(name), std::move(broken)};
}

}  // namespace troupe::machines
