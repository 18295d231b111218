#pragma once
#include <map>
#include <random>
#include <string>
#include <utility>

#include "actors/environment/environment.hpp"

namespace troupe::sim {

using Random = std::mt19937_64;

/// A random number in [0, 1), the same on every machine.
inline double share(Random& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }
/// A random duration from `least` to `most`.
Duration between(Random& random, Duration least, Duration most);

/// How one direction between two machines behaves. What is said of bytes is true of each piece that is written at once.
struct Conditions {
  Duration leastDelay = std::chrono::microseconds(300);
  Duration mostDelay = std::chrono::milliseconds(3);
  double loss = 0;    ///< share of pieces that have to be sent again, each time after a pause
  double breaks = 0;  ///< share of pieces that are cut off somewhere, and their connection with them
  bool cut = false;   ///< nothing gets through, until it is whole again
  /// Clogged until then: what is sent meanwhile arrives afterwards.
  TimePoint cloggedUntil{};
};

/// The conditions between the machines of a simulation, in each direction. For one thread.
class Network {
 public:
  Conditions& between(const std::string& from, const std::string& to) {
    return conditions_.try_emplace({from, to}, usual_).first->second;
  }
  /// The conditions of pairs that have none of their own.
  void setUsual(const Conditions& usual) { usual_ = usual; }
  /// Forgets all special conditions: the network is whole again.
  void heal() { conditions_.clear(); }

 private:
  Conditions usual_;
  std::map<std::pair<std::string, std::string>, Conditions> conditions_;
};

/// When simulated time begins, on every node.
TimePoint simulationStart();

}  // namespace troupe::sim
