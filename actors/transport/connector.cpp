#include "actors/transport/connector.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <mutex>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/transport/transports.hpp"
#include "messaging/link/node_name.hpp"
#include "messaging/tls/context.hpp"

namespace troupe::link {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Outcome = StatusWith<std::shared_ptr<transport::Transport>>;

/// State shared by all attempts.
struct Ways {
  asio::io_context& io;
  std::shared_ptr<asio::ssl::context> tls;  ///< null: plain
  bool checkName = true;
  bool loopbackOnly = false;
};

/// One try. Its handlers run on pool threads, one after the other; `abandon` may come from anywhere in between.
class Try : public std::enable_shared_from_this<Try> {
 public:
  Try(std::shared_ptr<const Ways> ways, std::string host)
      : ways_(std::move(ways)), host_(std::move(host)), resolver_(ways_->io), socket_(ways_->io) {}

  Future<Outcome> begin(const std::string& port) {
    auto future = promise_.future();
    const std::lock_guard lock(mutex_);
    resolver_.async_resolve(host_, port, [self = shared_from_this()](const auto& error, const auto& found) {
      self->resolved(error, found);
    });
    return future;
  }

  void abandon() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(over_, true)) return;
      boost::system::error_code ignored;
      resolver_.cancel();
      socket_.close(ignored);
    }
    promise_.set(Status(ErrorCode::kHostUnreachable, "the try was given up"));
  }

 private:
  void resolved(const boost::system::error_code& error, const tcp::resolver::results_type& found) {
    for (const auto& entry : found)
      if (!ways_->loopbackOnly || entry.endpoint().address().is_loopback()) endpoints_.push_back(entry.endpoint());
    if (error) return finish(Status(ErrorCode::kHostNotFound, host_ + ": " + error.message()));
    if (endpoints_.empty())
      return finish(
          Status(ErrorCode::kHostUnreachable, host_ + " is another machine, and links without a key stay on this one"));
    connectNext();
  }

  void connectNext() {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    const tcp::endpoint endpoint = endpoints_[next_++];
    boost::system::error_code error;
    socket_.close(error);
    socket_.open(endpoint.protocol(), error);
    socket_.async_connect(endpoint, [self = shared_from_this(), endpoint](const boost::system::error_code& failed) {
      self->connected(failed, endpoint);
    });
  }

  void connected(const boost::system::error_code& error, const tcp::endpoint& endpoint) {
    if (!error) return finish(Status::OK());
    if (next_ < endpoints_.size()) return connectNext();
    finish(Status(ErrorCode::kHostUnreachable,
                  endpoint.address().to_string() + ":" + std::to_string(endpoint.port()) + ": " + error.message()));
  }

  void finish(Status status) {
    std::shared_ptr<transport::Transport> transport;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(over_, true)) return;
      if (status.isOK()) transport = makeTransport();
    }
    Outcome outcome = std::move(status);
    if (transport) outcome = std::move(transport);
    Node::runAsTurn([&] { promise_.set(std::move(outcome)); });
  }

  std::shared_ptr<transport::Transport> makeTransport() {
    if (!ways_->tls) return transport::makePlainTransport(std::move(socket_));
    return transport::makeTlsClientTransport(std::move(socket_), ways_->tls, host_, ways_->checkName);
  }

  const std::shared_ptr<const Ways> ways_;
  const std::string host_;
  std::mutex mutex_;  // guards the socket, the resolver and `over_`
  bool over_ = false;
  tcp::resolver resolver_;
  tcp::socket socket_;
  std::vector<tcp::endpoint> endpoints_;
  size_t next_ = 0;
  Promise<Outcome> promise_;
};

Connecting failed(Status why) {
  Promise<Outcome> promise;
  auto future = promise.future();
  promise.set(std::move(why));
  return {std::move(future), [] {}};
}

}  // namespace

StatusWith<Connector> makeConnector(asio::io_context& io, const tls::TlsOptions& tls, bool loopbackOnly) {
  auto ways = std::make_shared<Ways>(Ways{io, nullptr, !tls.allowInvalidCertificates, loopbackOnly});
  if (tls.mode == tls::TlsMode::kPrefer || tls.mode == tls::TlsMode::kRequire) {
    TROUPE_ASSIGN(ways->tls, tls::makeClientContext(tls));
  }
  return Connector([ways = std::shared_ptr<const Ways>(ways)](const std::string& peer) {
    auto parts = splitNodeName(peer);
    if (!parts.isOK()) return failed(parts.status());
    auto attempt = std::make_shared<Try>(ways, parts->first);
    auto outcome = attempt->begin(parts->second);
    return Connecting{std::move(outcome), [attempt] { attempt->abandon(); }};
  });
}

Connector refusingConnector(Status why) {
  return [why = std::move(why)](const std::string&) { return failed(why); };
}

}  // namespace troupe::link
