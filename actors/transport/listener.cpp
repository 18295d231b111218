#include "actors/transport/listener.hpp"

#include "actors/kernel/node.hpp"
#include "actors/transport/connection.hpp"

namespace troupe::transport {

namespace {

/// The pause after a failure to accept (too many open files), so that it is not tried in a tight loop.
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr auto kLookForSilentEvery = std::chrono::milliseconds(500);
/// How soon a connection that was admitted beyond the limit must begin as a link.
constexpr auto kLinkPatience = std::chrono::seconds(2);
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
  every(kLookForSilentEvery, [this] { closeSilent(); });
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

void Listener::refuse(server::ConnectionRefusal why, const std::string& remote) {
  server_->gate.refused(why);
  const auto leftOut = refusalLines_.admit(environment().now());
  if (!leftOut) return;
  server_->log.warning(log::Component::kNetwork, 22942, "listener", "Connection refused",
                       bson::doc("remote", remote, "reason", server::refusalName(why), "open", server_->gate.open(),
                                 "limit", server_->gate.limit(), "refusedSinceLastLine", *leftOut));
}

Task<void> Listener::admit(std::shared_ptr<Arrival> arrival) {
  const auto remote = arrival->remote();
  if (!remote || draining_) co_return;
  const auto perAddress = server_->parameters.maxNewConnectionsPerSecondPerAddress.load();
  if (!server_->gate.isInTime(remote->name, environment().now(), perAddress)) {
    refuse(server::ConnectionRefusal::kTooFast, remote->name);
    co_return;
  }
  auto place = server_->gate.enter();
  if (!place) {
    refuse(server::ConnectionRefusal::kTooMany, remote->name);
    co_return;
  }
  const int64_t number = accepted_;
  undecided_.emplace(number, Undecided{arrival, environment().now()});
  const bool encrypted = co_await arrival->encryption();
  if (undecided_.erase(number) > 0 && !draining_) serve(*arrival, encrypted, std::move(place));
}

void Listener::serve(Arrival& arrival, bool encrypted, server::ConnectionGate::Place place) {
  const auto remote = arrival.remote();
  if (!remote) return;
  auto client = server_->clients.add(remote->name, remote->isLoopback, encrypted);
  client->awaitedSince = environment().now();
  client->mustLink = place.isForLink();
  server_->log.info(log::Component::kNetwork, 22943, "listener", "Connection accepted",
                    bson::doc("remote", remote->name, "connectionId", client->connectionId, "connectionCount",
                              server_->clients.current()));
  auto transport = arrival.take(encrypted);
  const Address address = self().child("conn" + std::to_string(client->connectionId));
  connections_.insert(address);
  spawnChild(address.path(),
             std::make_unique<Connection>(std::move(transport), std::move(client), *server_, std::move(place)),
             SpawnOptions{.type = "Connection"});
}

void Listener::closeSilent() {
  const TimePoint now = environment().now();
  const std::chrono::milliseconds patience(server_->parameters.firstMessageTimeoutMillis.load());
  server_->clients.each([&](server::Client& client) {
    const TimePoint since = client.awaitedSince;
    if (since == server::Client::kNotAwaited) return;
    const bool late = client.mustLink ? now >= since + kLinkPatience : patience.count() > 0 && now >= since + patience;
    if (!late) return;
    client.awaitedSince = server::Client::kNotAwaited;
    refuse(client.mustLink ? server::ConnectionRefusal::kTooMany : server::ConnectionRefusal::kSilent, client.remote);
    node().requestStop(self().child("conn" + std::to_string(client.connectionId)));
  });
  if (patience.count() == 0) return;
  while (!undecided_.empty() && now >= undecided_.begin()->second.since + patience) {
    const auto arrival = std::move(undecided_.extract(undecided_.begin()).mapped().arrival);
    const auto remote = arrival->remote();
    refuse(server::ConnectionRefusal::kSilent, remote ? remote->name : "");
    arrival->giveUp();
  }
}

Task<void> Listener::acceptFrom(Port* port) {
  for (;;) {
    auto arrival = co_await port->accept();
    if (arrival.isOK()) {
      ++accepted_;
      start(admit(std::move(*arrival)));
      const Duration pause =
          server_->gate.pauseBeforeNext(environment().now(), server_->parameters.maxNewConnectionsPerSecond.load());
      if (pause > Duration::zero()) co_await sleepFor(pause);
      continue;
    }
    if (arrival.status() == ErrorCode::kShutdownInProgress) co_return;
    refuse(server::ConnectionRefusal::kFailed, arrival.status().reason());
    co_await sleepFor(kPauseAfterFailure);
  }
}

bson::Document Listener::describe() const {
  return bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "accepted", accepted_,
                   "refused", server_->gate.refusals(), "undecided", static_cast<int64_t>(undecided_.size()), "open",
                   server_->clients.current());
}

}  // namespace troupe::transport
