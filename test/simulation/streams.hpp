#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/transport/network.hpp"
#include "test/simulation/link_tap.hpp"
#include "test/simulation/network.hpp"

namespace troupe::sim {

/// Simulated TCP between the machines of a simulation, and the only way between them: connections of bytes that arrive
/// in order, later than they were sent and in other pieces, through the conditions of the simulated network. A lost
/// piece is sent again after a pause and holds up what is behind it; a cut way holds up everything; a connection that
/// breaks loses what is under way from any byte on. The death of a process is noticed by the other side as a reset,
/// behind all that was sent, unless the way is cut; a paused process reads nothing. A sender that nobody reads has to
/// wait. Machines are named as nodes are. The messages that links carry are written to the trace. For one thread.
class Streams final : public transport::Network {
 public:
  /// `now`: the simulation's time. All that is referred to outlives it.
  Streams(uint64_t seed, sim::Network& conditions, Trace& trace, std::function<TimePoint()> now)
      : random_(seed), conditions_(conditions), trace_(trace), now_(std::move(now)) {}
  ~Streams() override;

  std::vector<std::unique_ptr<transport::Port>> listen(Node& node, const std::vector<std::string>& addresses,
                                                       uint16_t port, const tls::TlsOptions& tls) override;
  StatusWith<link::Connector> connector(Node& node, const tls::TlsOptions& tls, bool loopbackOnly) override;

  /// Opens a connection from the machine of `from` to the port of `to`. Errors: HostUnreachable.
  link::Connecting connect(Node& from, const std::string& to);
  /// The machine's process has died: its connections and its port are gone.
  void died(const std::string& node);
  /// The machine's process stands still: what arrives for it is not read until `resumed`.
  void paused(const std::string& node) { paused_.insert(node); }
  void resumed(const std::string& node);
  /// All connections between two machines break, at both sides; some of what is under way still arrives, up to any
  /// byte.
  void breakBetween(const std::string& one, const std::string& other);

  std::optional<TimePoint> nextDue() const;
  /// Brings all that is due at or before `now`.
  void deliverDue(TimePoint now);
  uint64_t opened() const { return opened_; }
  /// Messages between actors that links have sent.
  uint64_t messages() const { return lastMessage_; }

 private:
  class Port;
  class Arrival;
  class End;
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;
  using Outcome = StatusWith<std::shared_ptr<transport::Transport>>;
  /// What arrives behind the bytes of a piece.
  enum class Then { kMore, kEnd, kReset };

  link::Connecting open(Node& from, const std::string& to, bool isLink);
  std::unique_ptr<LinkTap> tap(const std::string& from, const std::string& to, bool byOpener);
  /// How long the way takes, with the pauses before lost pieces are sent again.
  Duration delay(const std::string& from, const std::string& to);
  /// Does it when the way is open, at `due` or later.
  void carry(const std::string& from, const std::string& to, TimePoint due, std::function<void(TimePoint)> action);
  void at(TimePoint when, std::function<void(TimePoint)> action);
  /// Sends the bytes to this end, in one piece or two.
  void send(const std::string& from, const std::shared_ptr<End>& to, std::string bytes);
  void launch(const std::string& from, const std::shared_ptr<End>& to, std::string bytes, Then then);
  void arrive(std::weak_ptr<End> to);
  void answerCall(const ConnectionPtr& connection);
  void breakOff(const ConnectionPtr& connection);
  void note(TraceEvent::Kind kind, const std::string& node, const char* what, const std::string& peer,
            const LinkTap::Message& message);

  Random random_;
  sim::Network& conditions_;
  Trace& trace_;
  const std::function<TimePoint()> now_;
  std::map<std::pair<TimePoint, uint64_t>, std::function<void(TimePoint)>> due_;
  std::map<std::string, Port*> ports_;  ///< by machine
  std::set<std::string> paused_;
  std::vector<std::weak_ptr<Connection>> connections_;
  uint64_t sequence_ = 0, opened_ = 0, lastMessage_ = 0;
};

}  // namespace troupe::sim
