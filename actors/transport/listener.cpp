#include "actors/transport/listener.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/transport/connection.hpp"

namespace troupe::transport {

namespace {

/// The pause after a failure to accept (too many open files), so that it is not tried in a tight loop.
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr auto kLookForOverdueEvery = std::chrono::milliseconds(500);
/// How soon a connection that was admitted beyond the limit must begin as a link.
constexpr auto kLinkPatience = std::chrono::seconds(2);
/// While all places are taken, one address keeps a quarter of them, at most, with connections that have not logged in
/// within this time: strangers that say hello and nothing more would hold them all for ever.
constexpr auto kLogInPatience = std::chrono::seconds(5);
constexpr int64_t kShareOfStrangers = 4;
/// How long running requests may go on when the server stops; less than the supervisor's grace.
constexpr auto kInterruptAfter = std::chrono::seconds(5);

/// A client's own connection, not the stand-in for another node's work or for this node's, and not closing.
bool isOpen(const server::Client& client) { return client.connectionId >= 0 && !client.closing; }

}  // namespace

Listener::Listener(ListenerOptions options, std::shared_ptr<Network> network, server::ServerContext* server)
    : options_(std::move(options)), network_(std::move(network)), server_(server) {}

Listener::~Listener() = default;

void Listener::onStart() {
  ports_ = network_->listen(node(), options_.addresses, options_.port, options_.tls);
  if (!options_.localSocket.empty())
    ports_.push_back(network_->listenLocally(node(), options_.localSocket, options_.localSocketPermissions));
  for (const auto& port : ports_) start(acceptFrom(port.get()));
  server_->log.info(log::Component::kNetwork, 23016, "listener", "Waiting for connections",
                    bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "tls",
                              tls::tlsModeName(options_.tls.mode), "localSocket", options_.localSocket));
  every(kLookForOverdueEvery, [this] { closeOverdue(); });
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

/// The wait for a client's first bytes keeps the connection: without this one that says nothing would stay open after
/// the listener, and nobody would close it any more.
void Listener::onStop(const Status&) {
  for (const auto& [number, undecided] : std::exchange(undecided_, {})) undecided.arrival->giveUp();
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

server::ConnectionGate::Place Listener::admit(const Arrival& arrival) {
  const auto remote = arrival.remote();
  if (!remote || draining_) return {};
  const auto perAddress = server_->parameters.maxNewConnectionsPerSecondPerAddress.load();
  if (!server_->gate.isInTime(remote->name, environment().now(), perAddress)) {
    refuse(server::ConnectionRefusal::kTooFast, remote->name);
    return {};
  }
  auto place = server_->gate.enter();
  if (!place) refuse(server::ConnectionRefusal::kTooMany, remote->name);
  return place;
}

Task<void> Listener::greet(std::shared_ptr<Arrival> arrival, server::ConnectionGate::Place place) {
  const int64_t number = accepted_;
  undecided_.emplace(number, Undecided{arrival, std::move(place), environment().now()});
  const bool encrypted = co_await arrival->encryption();
  auto decided = undecided_.extract(number);
  if (!decided.empty() && !draining_) serve(*arrival, encrypted, std::move(decided.mapped().place));
}

void Listener::serve(Arrival& arrival, bool encrypted, server::ConnectionGate::Place place) {
  const auto remote = arrival.remote();
  if (!remote) return;
  auto client = server_->clients.add(remote->name, remote->isLoopback, encrypted);
  client->acceptedAt = environment().now();
  client->mustLink = place.isForLink();
  if (const auto patience = patienceWith(client->mustLink)) client->awaitedUntil = client->acceptedAt + *patience;
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

std::optional<Duration> Listener::patienceWith(bool mustLink) const {
  if (mustLink) return kLinkPatience;
  const std::chrono::milliseconds patience(server_->parameters.firstMessageTimeoutMillis.load());
  return patience.count() > 0 ? std::optional<Duration>(patience) : std::nullopt;
}

void Listener::closeOverdue() {
  const TimePoint now = environment().now();
  server_->clients.each([&](server::Client& client) {
    if (isOpen(client) && now >= client.awaitedUntil.load())
      close(client, client.mustLink ? server::ConnectionRefusal::kTooMany : server::ConnectionRefusal::kSilent);
  });
  closeUndecided(now);
  if (server_->identity.authentication && server_->gate.isFull()) closeStrangers(now);
}

void Listener::closeStrangers(TimePoint now) {
  const auto isStranger = [&](server::Client& client) {
    return isOpen(client) && !client.mustLink && now >= client.acceptedAt + kLogInPatience &&
           client.userNames().empty();
  };
  std::map<std::string, int64_t, std::less<>> strangers;
  server_->clients.each([&](server::Client& client) {
    if (isStranger(client)) ++strangers[server::addressKey(client.remote)];
  });
  std::erase_if(strangers, [&](const auto& each) { return each.second <= server_->gate.limit() / kShareOfStrangers; });
  if (strangers.empty()) return;
  server_->clients.each([&](server::Client& client) {  // the oldest first
    const auto of = strangers.find(server::addressKey(client.remote));
    if (of == strangers.end() || of->second <= server_->gate.limit() / kShareOfStrangers || !isStranger(client)) return;
    --of->second;
    close(client, server::ConnectionRefusal::kTooMany);
  });
}

void Listener::close(server::Client& client, server::ConnectionRefusal why) {
  client.awaitedUntil = server::Client::kNotAwaited;
  client.closing = true;  // first: the next request does not begin once this one has ended
  refuse(why, client.remote);
  client.withOperation([](storage::OperationContext& operation) { operation.kill(ErrorCode::kHostUnreachable); });
  node().requestStop(self().child("conn" + std::to_string(client.connectionId)));
}

void Listener::closeUndecided(TimePoint now) {
  for (auto next = undecided_.begin(); next != undecided_.end();) {
    const auto at = next++;
    const bool mustLink = at->second.place.isForLink();
    const auto patience = patienceWith(mustLink);
    if (!patience || now < at->second.since + *patience) continue;
    const auto arrival = std::move(undecided_.extract(at).mapped().arrival);
    const auto remote = arrival->remote();
    refuse(mustLink ? server::ConnectionRefusal::kTooMany : server::ConnectionRefusal::kSilent,
           remote ? remote->name : "");
    arrival->giveUp();
  }
}

Task<void> Listener::acceptFrom(Port* port) {
  for (;;) {
    auto arrival = co_await port->accept();
    if (arrival.isOK()) {
      ++accepted_;
      auto place = admit(**arrival);
      if (!place) continue;  // what one address asks for too often is not taken from the rate of all
      start(greet(std::move(*arrival), std::move(place)));
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
  return bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "localSocket",
                   options_.localSocket, "accepted", accepted_, "refused", server_->gate.refusals(), "undecided",
                   static_cast<int64_t>(undecided_.size()), "open", server_->clients.current());
}

}  // namespace troupe::transport
