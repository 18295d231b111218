#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/transport/settings.hpp"
#include "actors/transport/transport.hpp"
#include "messaging/tls/options.hpp"

namespace troupe::transport {

/// A connection that another side has opened and nobody has taken yet. Dropping it closes it.
class Arrival {
 public:
  struct Remote {
    std::string name;  ///< "127.0.0.1:51234"
    bool isLoopback = false;
  };

  virtual ~Arrival() = default;
  /// Completes when it is known whether the other side speaks TLS; gives whether it does.
  virtual Future<bool> encryption() = 0;
  /// Ends the wait for `encryption`, and the connection. Any thread.
  virtual void giveUp() = 0;
  /// The peer's address; nothing when it has gone already.
  virtual std::optional<Remote> remote() const = 0;
  /// The bytes of the connection, under TLS if `encrypted`. Once.
  virtual std::shared_ptr<Transport> take(bool encrypted) = 0;
};

/// An open port of a node. Used by the actor that opened it.
class Port {
 public:
  /// Closes.
  virtual ~Port() = default;
  /// The next connection. Errors: ShutdownInProgress after `close`, HostUnreachable (too many open files; try later).
  virtual Future<StatusWith<std::shared_ptr<Arrival>>> accept() = 0;
  virtual void close() = 0;
};

/// The network as a node uses it: ports to listen on, and connections to other nodes. Given to a node when it is built
/// (NodeAssembly): TCP for a daemon, simulated streams for the simulator. Thread-safe.
class Network {
 public:
  virtual ~Network() = default;
  /// Opens a port on every address that one of these names or addresses has, once. Of those of a name the machine need
  /// not have all (localhost where there is no IPv6). Throws std::runtime_error when one cannot be listened on or a TLS
  /// file cannot be used.
  virtual std::vector<std::unique_ptr<Port>> listen(Node& node, const std::vector<std::string>& addresses,
                                                    uint16_t port, const tls::TlsOptions& tls) = 0;
  /// Opens a UNIX domain socket at `path`, which clients on this machine may connect to as its `permissions` (the bits
  /// of chmod) say; their connections have no TLS. A socket that a dead process left there is replaced, and the file
  /// goes when the port closes. Throws std::runtime_error when the path cannot be used: it is too long, is no socket,
  /// or another process listens there.
  virtual std::unique_ptr<Port> listenLocally(Node& node, const std::string& path, unsigned permissions);
  /// Opens connections for links. `loopbackOnly`: addresses of other machines are refused. Errors: those of the TLS
  /// files.
  virtual StatusWith<link::Connector> connector(Node& node, const tls::TlsOptions& tls, bool loopbackOnly) = 0;
};

/// The machine's own: TCP, with TLS as the options say.
std::shared_ptr<Network> makeTcpNetwork();

/// No network: a port that nobody reaches, and connections that are refused. For nodes that are used in-process only.
std::shared_ptr<Network> makeNoNetwork();

}  // namespace troupe::transport
