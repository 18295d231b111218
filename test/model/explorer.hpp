#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "test/model/model.hpp"

namespace troupe::model {

/// Result of an exploration.
struct Report {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint32_t depth = 0;      ///< steps to the farthest state
  uint64_t cut = 0;        ///< transitions beyond the bounds, which were not taken
  bool exhausted = false;  ///< every state within the bounds was looked at
  double seconds = 0;
  double collisions = 0;      ///< the probability that two states were taken for one (they are told apart by 64 bits)
  uint64_t bytes = 0;         ///< of memory at the most
  uint64_t localStates = 0;   ///< different states of single machines
  uint64_t combinations = 0;  ///< of states of the machines, regardless of messages under way
  uint64_t steps = 0;         ///< how often a machine's step was computed
  std::string broken;         ///< the invariant that doesn't hold, or why there is no progress; empty: all is well
  std::string story;          ///< a shortest way there, as an interaction script
  uint32_t storyLength = 0;   ///< its steps
  uint64_t assumedProgress = 0;  ///< states of which the goal can be reached only beyond the bounds, if at all
  std::vector<std::string> rowsNeverTaken;
  std::vector<std::pair<std::string, uint64_t>> untaken;  ///< messages nobody takes

  /// Everything within the bounds was looked at, and nothing found.
  bool clean() const { return exhausted && broken.empty(); }
  /// Some lines for people.
  std::string text() const;
};
std::ostream& operator<<(std::ostream& out, const Report& report);

struct CheckOptions {
  bool showProgress = true;  ///< on standard error, if that is a terminal
  double seconds = 0;        ///< end after that long, not exhausted; 0: never
};

/// Explores all that may happen, breadth first, and stops at the first broken invariant. If the model has a goal, it
/// then looks, backwards over all transitions that are no faults, for states from which the goal can't be reached. A
/// state with a transition beyond the bounds is given the benefit of the doubt. Uses one thread.
Report check(const Model& model, const CheckOptions& options = {});

}  // namespace troupe::model
