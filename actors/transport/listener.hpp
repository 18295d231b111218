#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/network.hpp"
#include "messaging/log/line_limit.hpp"
#include "messaging/tls/options.hpp"

namespace troupe::transport {

struct ListenerOptions {
  std::vector<std::string> addresses{"127.0.0.1"};
  uint16_t port = 27017;
  tls::TlsOptions tls;
  std::string localSocket = {};            ///< path of a UNIX domain socket; empty: none
  unsigned localSocketPermissions = 0700;  ///< of that file, as chmod takes them
};

/// Takes connections on the node's port and on its UNIX domain socket, as far as the server's `ConnectionGate` admits
/// them, and starts a connection actor for each ("<own path>/conn<N>"). Connections that do not finish their handshake
/// or first message in time are closed. A restart opens the port again; connections that stand are not touched. An
/// orderly stop drains: no new connections, idle ones end, busy ones answer what they are at, and what takes longer
/// than a few seconds is interrupted.
class Listener final : public Actor {
 public:
  Listener(ListenerOptions options, std::shared_ptr<Network> network, server::ServerContext* server);
  ~Listener() override;
  Behaviour behaviour() override;
  /// Throws when an address cannot be listened on: the supervisor decides.
  void onStart() override;
  void onStopRequested() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  /// An accepted connection of which is not known yet whether it speaks TLS.
  struct Undecided {
    std::shared_ptr<Arrival> arrival;
    server::ConnectionGate::Place place;
    TimePoint since;
  };

  Task<void> acceptFrom(Port* port);
  /// The place of a new connection; none for one that is refused.
  server::ConnectionGate::Place admit(const Arrival& arrival);
  /// Finds out how the client wants to speak and starts its connection actor.
  Task<void> greet(std::shared_ptr<Arrival> arrival, server::ConnectionGate::Place place);
  void serve(Arrival& arrival, bool encrypted, server::ConnectionGate::Place place);
  /// Counts and logs a connection that is closed.
  void refuse(server::ConnectionRefusal why, const std::string& remote);
  /// Closes the connections that owe a message for too long and, once all places are taken, those of strangers.
  void closeOverdue();
  void closeUndecided(TimePoint now);
  /// Closes what one address holds of all places, beyond its share, without having logged in.
  void closeStrangers(TimePoint now);
  void close(server::Client& client, server::ConnectionRefusal why);
  /// How long a connection may take to its first message; nothing: as long as it likes.
  std::optional<Duration> patienceWith(bool mustLink) const;
  void interruptRunning();

  ListenerOptions options_;
  const std::shared_ptr<Network> network_;
  server::ServerContext* server_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::unordered_set<Address> connections_;
  std::map<int64_t, Undecided> undecided_;  ///< by order of arrival
  log::LineLimit refusalLines_;
  bool draining_ = false;
  int64_t accepted_ = 0;
};

}  // namespace troupe::transport
