#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <set>
#include <stdexcept>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/transport/connector.hpp"
#include "actors/transport/local_port.hpp"
#include "actors/transport/network.hpp"
#include "actors/transport/transports.hpp"
#include "messaging/tls/context.hpp"

namespace troupe::transport {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr int kBacklog = 1024;

using TlsContext = std::shared_ptr<asio::ssl::context>;

/// What tells TLS from the wire protocol.
constexpr int kFirstBytes = 2;

/// A TLS client begins with a handshake record; no wire-protocol message has 22 as the low byte of its length and 3
/// behind it. The bytes stay unread. Nothing: they are not all there.
std::optional<bool> greetsWithTls(tcp::socket& socket) {
  unsigned char first[kFirstBytes] = {0, 0};
  boost::system::error_code error;
  const size_t n = socket.receive(asio::buffer(first), tcp::socket::message_peek, error);
  if (error == asio::error::would_block || (!error && n < kFirstBytes)) return std::nullopt;
  return !error && first[0] == 0x16 && first[1] == 0x03;
}

/// What happens to the socket before it is taken happens on a strand: a wait that is given up ends on one thread while
/// another one closes.
class TcpArrival final : public Arrival, public std::enable_shared_from_this<TcpArrival> {
 public:
  TcpArrival(tcp::socket socket, tls::TlsMode mode, TlsContext tls)
      : strand_(socket.get_executor()), socket_(std::move(socket)), mode_(mode), tls_(std::move(tls)) {}

  Future<bool> encryption() override {
    auto promise = std::make_shared<Promise<bool>>();
    auto future = promise->future();
    if (mode_ != tls::TlsMode::kAllow && mode_ != tls::TlsMode::kPrefer) {
      promise->set(mode_ == tls::TlsMode::kRequire);
      return future;
    }
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);  // a look at what has come never waits for it
    socket_.set_option(asio::socket_base::receive_low_watermark(kFirstBytes), ignored);  // they may come one by one
    awaitGreeting(promise, true);
    return future;
  }

  void giveUp() override {
    asio::post(strand_, [self = shared_from_this()] {
      boost::system::error_code ignored;
      self->socket_.close(ignored);
    });
  }

  std::optional<Remote> remote() const override {
    boost::system::error_code error;
    const auto endpoint = socket_.remote_endpoint(error);
    if (error) return std::nullopt;
    return Remote{endpoint.address().to_string() + ":" + std::to_string(endpoint.port()),
                  endpoint.address().is_loopback()};
  }

  std::shared_ptr<Transport> take(bool encrypted) override {
    return encrypted ? makeTlsTransport(std::move(socket_), tls_) : makePlainTransport(std::move(socket_));
  }

 private:
  /// A first byte that came before the watermark was set may end the first wait, and no other one.
  void awaitGreeting(const std::shared_ptr<Promise<bool>>& promise, bool isFirst) {
    auto look = [self = shared_from_this(), promise, isFirst](const boost::system::error_code& error) {
      if (error) {
        promise->set(false);
        return;
      }
      const std::optional<bool> greets = greetsWithTls(self->socket_);
      if (!greets && isFirst) return self->awaitGreeting(promise, false);
      boost::system::error_code ignored;
      self->socket_.set_option(asio::socket_base::receive_low_watermark(1), ignored);
      promise->set(greets.value_or(false));
    };
    socket_.async_wait(tcp::socket::wait_read, asio::bind_executor(strand_, std::move(look)));
  }

  asio::strand<tcp::socket::executor_type> strand_;
  tcp::socket socket_;
  const tls::TlsMode mode_;
  const TlsContext tls_;
};

class TcpPort final : public Port {
 public:
  TcpPort(tcp::acceptor acceptor, tls::TlsMode mode, TlsContext tls)
      : acceptor_(std::move(acceptor)), mode_(mode), tls_(std::move(tls)) {}

  Future<StatusWith<std::shared_ptr<Arrival>>> accept() override {
    auto promise = std::make_shared<Promise<StatusWith<std::shared_ptr<Arrival>>>>();
    auto future = promise->future();
    acceptor_.async_accept([promise, mode = mode_, tls = tls_](const boost::system::error_code& error,
                                                               tcp::socket socket) {
      StatusWith<std::shared_ptr<Arrival>> outcome =
          Status(error == asio::error::operation_aborted ? ErrorCode::kShutdownInProgress : ErrorCode::kHostUnreachable,
                 error.message());
      if (!error) outcome = std::shared_ptr<Arrival>(std::make_shared<TcpArrival>(std::move(socket), mode, tls));
      promise->set(std::move(outcome));
    });
    return future;
  }

  void close() override {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  tcp::acceptor acceptor_;
  const tls::TlsMode mode_;
  const TlsContext tls_;
};

/// Whether the machine cannot have this address, as opposed to: another process has its port.
bool isNoAddressOfMachine(const boost::system::error_code& error) {
  return error == asio::error::address_family_not_supported || error == boost::system::errc::address_not_available;
}

tcp::acceptor openAcceptor(asio::io_context& io, const tcp::endpoint& endpoint, boost::system::error_code& error) {
  tcp::acceptor acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  return acceptor;
}

/// Opens those of the addresses of a name that are not open yet.
void openAll(asio::io_context& io, const std::string& name, uint16_t port, std::set<tcp::endpoint>& open,
             std::vector<tcp::acceptor>& acceptors) {
  boost::system::error_code error, lacked;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(name, std::to_string(port), tcp::resolver::passive, error);
  if (error) throw std::runtime_error("cannot resolve the address to listen on, " + name + ": " + error.message());
  bool listens = false;
  for (const auto& entry : found) {
    const tcp::endpoint endpoint = entry.endpoint();
    if (open.contains(endpoint)) {
      listens = true;
      continue;
    }
    auto acceptor = openAcceptor(io, endpoint, error);
    if (!error) {
      acceptors.push_back(std::move(acceptor));
      open.insert(endpoint);
      listens = true;
    } else if (isNoAddressOfMachine(error)) {
      lacked = error;
    } else {
      throw std::runtime_error("cannot listen on " + name + ":" + std::to_string(port) + " (" +
                               endpoint.address().to_string() + "): " + error.message());
    }
  }
  if (!listens)
    throw std::runtime_error("cannot listen on " + name + ":" + std::to_string(port) + ": " + lacked.message());
}

class TcpNetwork final : public Network {
 public:
  std::vector<std::unique_ptr<Port>> listen(Node& node, const std::vector<std::string>& addresses, uint16_t port,
                                            const tls::TlsOptions& tls) override {
    TlsContext context;
    if (tls.mode != tls::TlsMode::kDisabled) {
      auto made = tls::makeServerContext(tls);
      if (!made.isOK()) throw std::runtime_error(made.status().reason());
      context = *made;
    }
    std::set<tcp::endpoint> open;
    std::vector<tcp::acceptor> acceptors;
    for (const std::string& address : addresses) openAll(node.io(), address, port, open, acceptors);
    std::vector<std::unique_ptr<Port>> ports;
    for (tcp::acceptor& acceptor : acceptors)
      ports.push_back(std::make_unique<TcpPort>(std::move(acceptor), tls.mode, context));
    return ports;
  }

  std::unique_ptr<Port> listenLocally(Node& node, const std::string& path, unsigned permissions) override {
    return openLocalPort(node.io(), path, permissions);
  }

  StatusWith<link::Connector> connector(Node& node, const tls::TlsOptions& tls, bool loopbackOnly) override {
    return link::makeConnector(node.io(), tls, loopbackOnly);
  }
};

}  // namespace

std::shared_ptr<Network> makeTcpNetwork() { return std::make_shared<TcpNetwork>(); }

}  // namespace troupe::transport
