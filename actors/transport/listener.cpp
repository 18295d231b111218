#include "actors/transport/listener.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/ssl/context.hpp>
#include <stdexcept>

#include "actors/kernel/node.hpp"
#include "actors/transport/connection.hpp"
#include "actors/transport/transports.hpp"
#include "messaging/tls/context.hpp"

namespace troupe::front {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr int kBacklog = 1024;
/// The pause after a failure to accept (too many open files), so that it is not tried in a tight loop.
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
/// How long running requests may go on when the server stops; less than the supervisor's grace.
constexpr auto kInterruptAfter = std::chrono::seconds(5);

using Accepted = StatusWith<std::shared_ptr<tcp::socket>>;

Future<Accepted> acceptOne(tcp::acceptor& acceptor) {
  auto promise = std::make_shared<Promise<Accepted>>();
  auto future = promise->future();
  acceptor.async_accept([promise](const boost::system::error_code& error, tcp::socket socket) {
    if (error)
      promise->set(
          Status(error == asio::error::operation_aborted ? ErrorCode::kShutdownInProgress : ErrorCode::kHostUnreachable,
                 error.message()));
    else promise->set(std::make_shared<tcp::socket>(std::move(socket)));
  });
  return future;
}

/// A TLS client begins with a handshake record; no wire-protocol message has 22 as the low byte of its length and 3
/// behind it.
bool greetsWithTls(tcp::socket& socket) {
  unsigned char first[2] = {0, 0};
  boost::system::error_code error;
  const size_t n = socket.receive(asio::buffer(first), tcp::socket::message_peek, error);
  return !error && n == 2 && first[0] == 0x16 && first[1] == 0x03;
}

Future<Done> readable(tcp::socket& socket) {
  auto promise = std::make_shared<Promise<Done>>();
  auto future = promise->future();
  socket.async_wait(tcp::socket::wait_read, [promise](const boost::system::error_code&) { promise->set(Done{}); });
  return future;
}

}  // namespace

struct Listener::Incoming {
  tcp::socket socket;
};

struct Listener::Sockets {
  explicit Sockets(asio::io_context& io) : io(io) {}
  asio::io_context& io;
  std::vector<tcp::acceptor> acceptors;
  std::shared_ptr<asio::ssl::context> tls;
};

Listener::Listener(ListenerOptions options, commands::ServerContext* server, const commands::CommandTable* table)
    : options_(std::move(options)), server_(server), table_(table) {}

Listener::~Listener() = default;

void Listener::open(const std::string& address) {
  boost::system::error_code error;
  tcp::resolver resolver(sockets_->io);
  const auto found = resolver.resolve(address, std::to_string(options_.port), tcp::resolver::passive, error);
  if (error) throw std::runtime_error("cannot resolve the address to listen on, " + address + ": " + error.message());
  const tcp::endpoint endpoint = found.begin()->endpoint();
  tcp::acceptor acceptor(sockets_->io);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error)
    throw std::runtime_error("cannot listen on " + address + ":" + std::to_string(options_.port) + ": " +
                             error.message());
  sockets_->acceptors.push_back(std::move(acceptor));
}

void Listener::onStart() {
  sockets_ = std::make_shared<Sockets>(node().io());
  if (options_.tls.mode != tls::TlsMode::kDisabled) {
    auto context = tls::makeServerContext(options_.tls);
    if (!context.isOK()) throw std::runtime_error(context.status().reason());
    sockets_->tls = *context;
  }
  for (const auto& address : options_.addresses) open(address);
  for (size_t i = 0; i < sockets_->acceptors.size(); ++i) start(acceptFrom(i));
  server_->log.info(log::Component::kNetwork, 23016, "listener", "Waiting for connections",
                    bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "tls",
                              tls::tlsModeName(options_.tls.mode)));
  setPhase("listening", "taking connections");
}

void Listener::onStopRequested() {
  boost::system::error_code ignored;
  for (auto& acceptor : sockets_->acceptors) acceptor.close(ignored);
  if (connections_.empty()) return stop();
  draining_ = true;
  setPhase("draining", "waiting for running requests to be answered");
  for (const Address& connection : connections_) node().requestStop(connection);
  after(kInterruptAfter, [this] { interruptRunning(); });
}

void Listener::interruptRunning() {
  server_->clients.each([](commands::Client& client) {
    client.withOperation([](commands::Operation& operation) { operation.kill(ErrorCode::kInterruptedAtShutdown); });
  });
}

Behaviour Listener::behaviour() {
  return {on<ChildReady>([](const ChildReady&) {}), on<Down>([this](const Down& down) {
            connections_.erase(down.who);
            if (draining_ && connections_.empty()) stop();
          })};
}

Task<void> Listener::admit(std::shared_ptr<Incoming> incoming) {
  tcp::socket& socket = incoming->socket;
  bool encrypted = options_.tls.mode == tls::TlsMode::kRequire;
  if (options_.tls.mode == tls::TlsMode::kAllow || options_.tls.mode == tls::TlsMode::kPrefer) {
    co_await readable(socket);
    encrypted = greetsWithTls(socket);
  }
  boost::system::error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (error || draining_) co_return;
  const std::string name = remote.address().to_string() + ":" + std::to_string(remote.port());
  auto client = server_->clients.add(name, remote.address().is_loopback(), encrypted, options_.maxConnections);
  if (!client) {
    ++refused_;
    server_->log.warning(log::Component::kNetwork, 22942, "listener",
                         "Connection refused because there are too many open connections", bson::doc("remote", name));
    co_return;
  }
  server_->log.info(
      log::Component::kNetwork, 22943, "listener", "Connection accepted",
      bson::doc("remote", name, "connectionId", client->connectionId, "connectionCount", server_->clients.current()));
  auto transport =
      encrypted ? makeTlsTransport(std::move(socket), sockets_->tls) : makePlainTransport(std::move(socket));
  const Address address = self().child("conn" + std::to_string(client->connectionId));
  SpawnOptions options;
  options.type = "Connection";
  options.parent = self();
  node().spawn(address.path(), std::make_unique<Connection>(std::move(transport), std::move(client), *server_, *table_),
               options);
  connections_.insert(address);
  watch(address);
}

Task<void> Listener::acceptFrom(size_t index) {
  for (;;) {
    auto socket = co_await acceptOne(sockets_->acceptors[index]);
    if (socket.isOK()) {
      ++accepted_;
      start(admit(std::make_shared<Incoming>(Incoming{std::move(**socket)})));
      continue;
    }
    if (socket.status() == ErrorCode::kShutdownInProgress) co_return;
    ++refused_;
    co_await sleepFor(kPauseAfterFailure);
  }
}

bson::Document Listener::describe() const {
  return bson::doc("port", static_cast<int32_t>(options_.port), "addresses", options_.addresses, "accepted", accepted_,
                   "failed", refused_, "open", server_->clients.current());
}

}  // namespace troupe::front
