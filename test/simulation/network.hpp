#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/node.hpp"
#include "test/simulation/trace.hpp"

namespace troupe::sim {

using Random = std::mt19937_64;

/// A random number in [0, 1), the same on every machine.
inline double share(Random& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }
/// A random duration from `least` to `most`.
Duration between(Random& random, Duration least, Duration most);

/// How one direction between two nodes behaves.
struct Conditions {
  Duration leastDelay = std::chrono::microseconds(300);
  Duration mostDelay = std::chrono::milliseconds(3);
  double loss = 0;         ///< share of messages that never arrive
  double duplication = 0;  ///< share that arrives twice
  bool reorders = true;    ///< each message has its own delay; otherwise they arrive in order
  bool cut = false;        ///< nothing gets through
  /// Clogged until then: what is sent meanwhile arrives afterwards.
  TimePoint cloggedUntil{};
};

/// The only way between simulated nodes: takes what leaves a node as bytes, as a link would, and brings it, or does
/// not, to the other when its time has come. Deterministic for a seed. For one thread.
class Network {
 public:
  Network(uint64_t seed, Trace& trace) : random_(seed), trace_(trace) {}

  /// Gives a node its way to all others. The node outlives its stay.
  void plug(Node& node);
  /// The node is gone, with all it had under way: asks to it fail after a delay, and those who watch are told.
  void unplug(const std::string& node);

  Conditions& between(const std::string& from, const std::string& to);
  /// The conditions of pairs that have none of their own.
  void setUsual(const Conditions& usual) { usual_ = usual; }
  const Conditions& usual() const { return usual_; }
  /// Forgets all special conditions: the network is whole again.
  void heal();

  std::optional<TimePoint> nextDue() const;
  /// Brings all that is due at or before `now`.
  void deliverDue(TimePoint now);

  uint64_t sent() const { return sent_; }
  uint64_t dropped() const { return dropped_; }

 private:
  class Port;
  struct Packet {
    std::string from, to;
    uint64_t number;
    std::string bytes;
    std::string name;  ///< of the payload, for the trace
  };

  void send(const Port& port, const Envelope& envelope, std::string bytes);
  void launch(const Packet& packet, const Conditions& conditions, TimePoint now);
  void deliver(const Packet& packet, TimePoint now);
  void refused(const Packet& packet, TimePoint now);
  void note(TraceEvent::Kind kind, const std::string& node, const std::string& peer, const Packet& packet,
            const char* what, TimePoint now);

  Random random_;
  Trace& trace_;
  Conditions usual_;
  std::map<std::pair<std::string, std::string>, Conditions> conditions_;
  std::map<std::string, std::shared_ptr<Port>> ports_;
  std::map<std::pair<TimePoint, uint64_t>, Packet> underWay_;
  std::map<std::pair<std::string, std::string>, TimePoint> lastArrival_;
  struct Loss {
    std::string of, at;
  };
  std::map<std::pair<TimePoint, uint64_t>, Loss> losses_;  ///< nodes that will learn of a dead one
  uint64_t sequence_ = 0, sent_ = 0, dropped_ = 0, lives_ = 0;
};

/// When simulated time begins, on every node.
TimePoint simulationStart();

}  // namespace troupe::sim
