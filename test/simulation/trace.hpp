#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/envelope/envelope.hpp"

namespace troupe::sim {

/// One thing that happened in a run. Times are virtual, since the run began.
struct TraceEvent {
  enum class Kind { kPhase, kSend, kDeliver, kDrop, kFault, kActor, kNote };
  Duration at{};
  Kind kind = Kind::kNote;
  std::string node;
  std::string role;  ///< what the node is now: "primary", "follower"; empty if it has none
  int64_t term = 0;
  std::string actor;  ///< its path, or who acts ("network", "operator")
  std::string what;   ///< one or two words: "timeout", "persists vote"
  std::string detail;
  std::string peer = {};  ///< of messages: the other node
  uint64_t message = 0;   ///< of messages: the same for sending and arrival
};

/// What happened, one line an event with fixed columns, readable by eye:
///     time  node  role       term  actor                what           detail
/// The same seed gives the same text, byte for byte. Keeps a running hash of everything, and the last `keep` events
/// (all: 0) for people. For one thread.
class Trace {
 public:
  explicit Trace(size_t keep = 2000) : keep_(keep) {}

  void add(TraceEvent event);
  /// What a node is now, for events that do not say so: role and term.
  void setRoles(std::function<std::pair<std::string, int64_t>(const std::string& node)> roles) {
    roles_ = std::move(roles);
  }
  /// Calls this with each event as well.
  void follow(std::function<void(const TraceEvent&)> listener) { listener_ = std::move(listener); }

  static std::string header();
  static std::string line(const TraceEvent& event);
  /// The kept events as lines.
  std::string text() const;
  const std::vector<TraceEvent>& events() const { return events_; }
  /// Of all events so far, also of those that are not kept.
  uint64_t hash() const { return hash_; }
  uint64_t count() const { return count_; }

 private:
  const size_t keep_;
  std::vector<TraceEvent> events_;
  std::function<void(const TraceEvent&)> listener_;
  std::function<std::pair<std::string, int64_t>(const std::string&)> roles_;
  uint64_t hash_ = 0xcbf29ce484222325ull;
  uint64_t count_ = 0;
};

/// The file that the admin page opens as a timeline: one JSON object {"format": "troupe-trace", "version": 1, "nodes":
/// [...], "events": [...]}.
std::string toTimelineJson(const Trace& trace, std::string_view title);

}  // namespace troupe::sim
