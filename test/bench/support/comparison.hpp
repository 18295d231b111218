#pragma once
#include <functional>
#include <string>
#include <vector>

#include "test/bench/support/measure.hpp"

namespace troupe::bench {

/// A participant of a comparison: a round's work on one server.
struct Side {
  std::string name;                 ///< as the table says it
  std::function<Measured()> round;  ///< reports processor time when the server is a process of its own
  double floor = 0;                 ///< the least that our rate may be of this one's; 0: not asked for
  double ceiling = 0;               ///< the most that our processor time may be of this one's; 0: not asked for
};

/// Our rounds and those of the others alternate, so that noise of the machine hits all. Reports, with medians, our rate
/// and our processor time for each unit beside each of the others. Rates also say how far the ratio of one round lay
/// from that of another.
void compare(const std::string& work, const std::string& unit, int rounds, const Side& ours,
             const std::vector<Side>& others);

}  // namespace troupe::bench
