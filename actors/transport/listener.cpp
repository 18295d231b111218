#include "actors/transport/listener.hpp"

#include "actors/kernel/node.hpp"
#include "actors/transport/connection.hpp"

namespace troupe::transport {

namespace {

/// The pause after a failure to accept (too many open files), so that it is not tried in a tight loop.
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
/// How long running requests may go on when the server stops; less than the supervisor's grace.
constexpr auto kInterruptAfter = std::chrono::seconds(5);

}  // namespace

Listener::Listener(ListenerOptions options, std::shared_ptr<Network> network, server::ServerContext* server)
    : options_(std::move(options)), network_(std::move(network)), server_(server) {}

Listener::~Listener() = default;

void Listener::onStart() {
  for (const auto& address : options_.addresses)
    ports_.push_back(network_->listen(node(), address, options_.port, options_.tls));
  for (const auto& port : ports_) start(acceptFrom(port.get()));
  server_->log.info(log::Component::kNetwork, 23016, "listener", "Waiting for connections",
                    bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "tls",
                              tls::tlsModeName(options_.tls.mode)));
  setPhase("listening", "taking connections");
}

void Listener::onStopRequested() {
  for (const auto& port : ports_) port->close();
  if (connections_.empty()) return stop();
  draining_ = true;
  setPhase("draining", "waiting for running requests to be answered");
  for (const Address& connection : connections_) node().requestStop(connection);
  after(kInterruptAfter, [this] { interruptRunning(); });
}

void Listener::interruptRunning() {
  server_->clients.each([](server::Client& client) {
    client.withOperation(
        [](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterruptedAtShutdown); });
  });
}

Behaviour Listener::behaviour() {
  return {on<ChildReady>([](const ChildReady&) {}), on<Down>([this](const Down& down) {
            connections_.erase(down.who);
            if (draining_ && connections_.empty()) stop();
          })};
}

Task<void> Listener::admit(std::shared_ptr<Arrival> arrival) {
  const bool encrypted = co_await arrival->encryption();
  const auto remote = arrival->remote();
  if (!remote || draining_) co_return;
  const std::string& name = remote->name;
  auto client = server_->clients.add(name, remote->isLoopback, encrypted, options_.maxConnections);
  if (!client) {
    ++refused_;
    server_->log.warning(log::Component::kNetwork, 22942, "listener",
                         "Connection refused because there are too many open connections", bson::doc("remote", name));
    co_return;
  }
  server_->log.info(
      log::Component::kNetwork, 22943, "listener", "Connection accepted",
      bson::doc("remote", name, "connectionId", client->connectionId, "connectionCount", server_->clients.current()));
  auto transport = arrival->take(encrypted);
  const Address address = self().child("conn" + std::to_string(client->connectionId));
  connections_.insert(address);
  spawnChild(address.path(), std::make_unique<Connection>(std::move(transport), std::move(client), *server_),
             SpawnOptions{.type = "Connection"});
}

Task<void> Listener::acceptFrom(Port* port) {
  for (;;) {
    auto arrival = co_await port->accept();
    if (arrival.isOK()) {
      ++accepted_;
      start(admit(std::move(*arrival)));
      continue;
    }
    if (arrival.status() == ErrorCode::kShutdownInProgress) co_return;
    ++refused_;
    co_await sleepFor(kPauseAfterFailure);
  }
}

bson::Document Listener::describe() const {
  return bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "accepted", accepted_,
                   "failed", refused_, "open", server_->clients.current());
}

}  // namespace troupe::transport
