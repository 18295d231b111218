#include "actors/transport/connector.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <mutex>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/transport/name_resolver.hpp"
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
  NameResolver& names;
  std::shared_ptr<asio::ssl::context> tls;  ///< null: plain
  bool checkName = true;
  bool loopbackOnly = false;
};

/// A name that is not looked up by then is connected to where it was last.
constexpr auto kNamePatience = std::chrono::milliseconds(500);
/// An address that does not answer by then is tried beside the next one (RFC 8305): it may drop what comes.
constexpr auto kAddressPatience = std::chrono::milliseconds(250);

std::string textOf(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

/// One try. Its handlers run on pool threads; `abandon` and `progress` may come from anywhere in between.
class Try : public std::enable_shared_from_this<Try> {
 public:
  Try(std::shared_ptr<const Ways> ways, std::string host, uint16_t port)
      : ways_(std::move(ways)), host_(std::move(host)), port_(port), timer_(ways_->io) {}

  Future<Outcome> begin() {
    auto future = promise_.future();
    boost::system::error_code notLiteral;
    const auto literal = asio::ip::make_address(host_, notLiteral);
    if (!notLiteral) {
      asio::post(ways_->io, [self = shared_from_this(), literal] { self->resolved(HostAddresses{literal}); });
      return future;
    }
    {
      const std::lock_guard lock(mutex_);
      wakeAfter(kNamePatience, [](Try& self) { self.useLastGood(); });
    }
    ways_->names.resolve(host_, [self = shared_from_this()](const auto& found) { self->resolved(found); });
    return future;
  }

  void abandon() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(over_, true)) return;
      closeAll();
    }
    promise_.set(Status(ErrorCode::kHostUnreachable, "the try was given up"));
  }

  /// What it waits for, and what has failed so far.
  std::string progress() const {
    const std::lock_guard lock(mutex_);
    if (endpoints_.empty()) return "the name " + host_ + " is being looked up";
    std::string text = failures_;
    for (const Attempt& attempt : attempts_)
      if (!attempt.failed) text += (text.empty() ? "" : "; ") + textOf(attempt.endpoint) + ": no answer";
    return text;
  }

 private:
  struct Attempt {
    tcp::endpoint endpoint;
    tcp::socket socket;
    bool failed = false;
  };

  void useLastGood() {
    if (auto known = ways_->names.lastGood(host_); !known.empty()) resolved(std::move(known));
  }

  void resolved(const StatusWith<HostAddresses>& found) {
    Status failure = found.status();
    {
      const std::lock_guard lock(mutex_);
      if (over_ || !endpoints_.empty()) return;  // it is on its way to the last good addresses
      timer_.cancel();
      if (found.isOK()) {
        for (const auto& address : *found)
          if (!ways_->loopbackOnly || address.is_loopback()) endpoints_.emplace_back(address, port_);
        if (!endpoints_.empty()) return connectNext();
        failure = Status(ErrorCode::kHostUnreachable,
                         host_ + " is another machine, and links without a key stay on this one");
      }
    }
    finish(std::move(failure));
  }

  /// Under the mutex, as the next ones.
  void connectNext() {
    if (attempts_.size() == endpoints_.size()) return;
    const size_t number = attempts_.size();
    Attempt& attempt = attempts_.emplace_back(Attempt{endpoints_[number], tcp::socket(ways_->io)});
    attempt.socket.async_connect(attempt.endpoint,
                                 [self = shared_from_this(), number](const boost::system::error_code& error) {
                                   self->connected(error, number);
                                 });
    if (attempts_.size() == endpoints_.size()) return;
    wakeAfter(kAddressPatience, [](Try& self) {
      const std::lock_guard lock(self.mutex_);
      if (!self.over_) self.connectNext();
    });
  }

  void wakeAfter(Duration patience, void (*then)(Try&)) {
    timer_.expires_after(patience);
    timer_.async_wait([self = shared_from_this(), then](const boost::system::error_code& error) {
      if (!error) then(*self);
    });
  }

  void closeAll() {
    boost::system::error_code ignored;
    timer_.cancel(ignored);
    for (Attempt& attempt : attempts_) attempt.socket.close(ignored);
  }

  void connected(const boost::system::error_code& error, size_t number) {
    std::string failures;
    {
      const std::lock_guard lock(mutex_);
      if (over_) return;
      if (error) {
        attempts_[number].failed = true;
        failures_ += (failures_.empty() ? "" : "; ") + textOf(attempts_[number].endpoint) + ": " + error.message();
        if (attempts_.size() < endpoints_.size()) return connectNext();
        if (!std::ranges::all_of(attempts_, &Attempt::failed)) return;
        failures = failures_;
      }
    }
    if (error) finish(Status(ErrorCode::kHostUnreachable, std::move(failures)));
    else finish(Status::OK(), number);
  }

  void finish(Status status, size_t number = 0) {
    std::shared_ptr<transport::Transport> transport;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(over_, true)) return;
      if (status.isOK()) transport = makeTransport(std::move(attempts_[number].socket));
      closeAll();
    }
    Outcome outcome = std::move(status);
    if (transport) outcome = std::move(transport);
    Node::runAsTurn([&] { promise_.set(std::move(outcome)); });
  }

  std::shared_ptr<transport::Transport> makeTransport(tcp::socket socket) const {
    if (!ways_->tls) return transport::makePlainTransport(std::move(socket));
    return transport::makeTlsClientTransport(std::move(socket), ways_->tls, host_, ways_->checkName);
  }

  const std::shared_ptr<const Ways> ways_;
  const std::string host_;
  const uint16_t port_;
  mutable std::mutex mutex_;  // guards all below but the promise
  bool over_ = false;
  asio::steady_timer timer_;
  std::vector<tcp::endpoint> endpoints_;
  std::deque<Attempt> attempts_;  ///< at the first endpoints, in their order
  std::string failures_;          ///< of attempts
  Promise<Outcome> promise_;
};

Connecting failed(Status why) {
  Promise<Outcome> promise;
  auto future = promise.future();
  promise.set(std::move(why));
  return {std::move(future), [] {}, nullptr};
}

}  // namespace

StatusWith<Connector> makeConnector(asio::io_context& io, const tls::TlsOptions& tls, bool loopbackOnly) {
  auto& names = asio::use_service<NameResolver>(static_cast<asio::execution_context&>(io));
  auto ways = std::make_shared<Ways>(Ways{io, names, nullptr, !tls.allowInvalidCertificates, loopbackOnly});
  if (tls.mode == tls::TlsMode::kPrefer || tls.mode == tls::TlsMode::kRequire) {
    TROUPE_ASSIGN(ways->tls, tls::makeClientContext(tls));
  }
  return Connector([ways = std::shared_ptr<const Ways>(ways)](const std::string& peer) {
    auto parts = splitNodeName(peer);
    if (!parts.isOK()) return failed(parts.status());
    const auto port = static_cast<uint16_t>(std::stoi(parts->second));  // a number, as the name was split
    auto attempt = std::make_shared<Try>(ways, parts->first, port);
    auto outcome = attempt->begin();
    return Connecting{std::move(outcome), [attempt] { attempt->abandon(); }, [attempt] { return attempt->progress(); }};
  });
}

Connector refusingConnector(Status why) {
  return [why = std::move(why)](const std::string&) { return failed(why); };
}

}  // namespace troupe::link
