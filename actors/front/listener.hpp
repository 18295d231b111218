#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/commands/command.hpp"
#include "actors/commands/server_context.hpp"
#include "actors/kernel/actor.hpp"
#include "messaging/tls/options.hpp"

namespace troupe::front {

struct ListenerOptions {
  std::vector<std::string> addresses{"127.0.0.1"};
  uint16_t port = 27017;
  int64_t maxConnections = 10'000;
  tls::TlsOptions tls;
};

/// Takes connections on the node's port and starts a connection actor for each ("<own path>/conn<N>"). A restart opens
/// the port again; connections that stand are not touched.
class Listener final : public Actor {
 public:
  Listener(ListenerOptions options, commands::ServerContext* server, const commands::CommandTable* table);
  ~Listener() override;
  Behaviour behaviour() override { return {}; }
  /// Throws when an address cannot be listened on: the supervisor decides.
  void onStart() override;
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  struct Sockets;
  Task<void> acceptFrom(size_t acceptor);
  void open(const std::string& address);

  ListenerOptions options_;
  commands::ServerContext* server_;
  const commands::CommandTable* table_;
  std::shared_ptr<Sockets> sockets_;
  int64_t accepted_ = 0, refused_ = 0;
};

}  // namespace troupe::front
