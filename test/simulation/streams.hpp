#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/transport/network.hpp"
#include "test/simulation/network.hpp"

namespace troupe::sim {

/// Simulated TCP between the machines of a simulation: connections of bytes that arrive in order, later than they were
/// sent and in other pieces, through the conditions of the simulated network. A lost piece is sent again after a pause
/// and holds up what is behind it; a cut way holds up everything; the death of a machine is noticed by the other side
/// as a reset, unless the way is cut. A sender that nobody reads has to wait. Machines are named as nodes are. For one
/// thread.
class Streams final : public front::Network {
 public:
  /// `conditions` outlives it.
  Streams(uint64_t seed, sim::Network& conditions) : random_(seed), conditions_(conditions) {}
  ~Streams() override;

  std::unique_ptr<front::Port> listen(Node& node, const std::string& address, uint16_t port,
                                      const tls::TlsOptions& tls) override;
  StatusWith<link::Connector> connector(Node& node, const tls::TlsOptions& tls, bool loopbackOnly) override;

  /// Opens a connection from the machine of `from` to the port of `to`. Errors: HostUnreachable.
  link::Connecting connect(Node& from, const std::string& to);
  /// The machine's process has died: its connections and its port are gone.
  void died(const std::string& node);

  std::optional<TimePoint> nextDue() const;
  /// Brings all that is due at or before `now`.
  void deliverDue(TimePoint now);
  uint64_t opened() const { return opened_; }

 private:
  class Port;
  class Arrival;
  class End;
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;
  using Outcome = StatusWith<std::shared_ptr<front::Transport>>;

  /// How long the way takes, with the pauses before lost pieces are sent again.
  Duration delay(const std::string& from, const std::string& to, TimePoint now);
  /// Does it when the way is open, at `due` or later.
  void carry(const std::string& from, const std::string& to, TimePoint due, std::function<void(TimePoint)> action);
  void at(TimePoint when, std::function<void(TimePoint)> action);
  void launch(const std::string& from, const std::shared_ptr<End>& to, std::string bytes, bool last, TimePoint now);
  void arrive(std::weak_ptr<End> to);
  void answerCall(const ConnectionPtr& connection, TimePoint now);

  Random random_;
  sim::Network& conditions_;
  std::map<std::pair<TimePoint, uint64_t>, std::function<void(TimePoint)>> due_;
  std::map<std::string, Port*> ports_;  ///< by machine
  std::vector<std::weak_ptr<Connection>> connections_;
  uint64_t sequence_ = 0, opened_ = 0;
};

}  // namespace troupe::sim
