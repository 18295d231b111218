#include "messaging/client/stream.hpp"

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <chrono>
#include <optional>

#include "messaging/tls/context.hpp"

namespace troupe::client {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// One socket with its own loop: every operation is started and then driven until it ends or its time is over.
class AsioStream final : public Stream {
 public:
  explicit AsioStream(const Target& target) : target_(target), socket_(io_) {}

  Status open() {
    TROUPE_TRY(connectSocket());
    return target_.tls ? startTls() : Status::OK();
  }

  Status write(std::string_view bytes) override {
    const auto buffer = asio::buffer(bytes);
    const auto outcome = drive(target_.socketTimeoutMs, [&](auto done) {
      if (tls_) asio::async_write(*tls_, buffer, done);
      else asio::async_write(socket_, buffer, done);
    });
    return outcome.isOK() ? Status::OK() : outcome.status();
  }

  StatusWith<size_t> read(std::span<char> room) override {
    const auto buffer = asio::buffer(room.data(), room.size());
    return drive(target_.socketTimeoutMs, [&](auto done) {
      if (tls_) tls_->async_read_some(buffer, done);
      else socket_.async_read_some(buffer, done);
    });
  }

 private:
  /// Runs the loop until the operation that `start` began has ended. `timeoutMs` 0: as long as it takes.
  template <class Start>
  StatusWith<size_t> drive(int64_t timeoutMs, const Start& start) {
    std::optional<error_code> ended;
    size_t size = 0;
    start([&](error_code error, size_t transferred) { ended = error, size = transferred; });
    io_.restart();
    if (timeoutMs > 0) io_.run_for(std::chrono::milliseconds(timeoutMs));
    else io_.run();
    if (!ended) {
      closeSocket();
      io_.restart();
      io_.run();
      return {ErrorCode::kNetworkTimeout,
              "no answer from " + target_.address() + " within " + std::to_string(timeoutMs) + " ms"};
    }
    if (!*ended) return size;
    closeSocket();
    return {ErrorCode::kHostUnreachable, describe(*ended)};
  }

  std::string describe(const error_code& error) const {
    if (error == asio::error::eof || error == asio::error::connection_reset ||
        error == asio::ssl::error::stream_truncated)
      return target_.address() + " closed the connection";
    return target_.address() + ": " + error.message();
  }

  Status connectSocket() {
    error_code error;
    const auto found = tcp::resolver(io_).resolve(target_.host, std::to_string(target_.port), error);
    if (error) return {ErrorCode::kHostUnreachable, "cannot find the host '" + target_.host + "': " + error.message()};
    const auto outcome = drive(target_.connectTimeoutMs, [&](auto done) {
      asio::async_connect(socket_, found, [done](error_code e, const tcp::endpoint&) mutable { done(e, 0); });
    });
    if (!outcome.isOK()) return Status(outcome.status().code(), "cannot connect to " + outcome.status().reason());
    socket_.set_option(tcp::no_delay(true), error);
    return {};
  }

  Status startTls() {
    TROUPE_ASSIGN(context_, tls::makeClientContext({.mode = tls::TlsMode::kRequire,
                                                    .certificateKeyFile = target_.tlsCertificateKeyFile,
                                                    .caFile = target_.tlsCAFile,
                                                    .allowInvalidCertificates = target_.tlsAllowInvalidCertificates}));
    tls_.emplace(socket_, *context_);
    if (!target_.tlsAllowInvalidCertificates && !target_.tlsAllowInvalidHostnames)
      tls_->set_verify_callback(asio::ssl::host_name_verification(target_.host));
    SSL_set_tlsext_host_name(tls_->native_handle(), target_.host.c_str());
    const auto outcome = drive(target_.connectTimeoutMs, [&](auto done) {
      tls_->async_handshake(asio::ssl::stream_base::client, [done](error_code e) mutable { done(e, 0); });
    });
    return outcome.isOK() ? Status::OK() : outcome.status().withContext("TLS handshake failed");
  }

  void closeSocket() {
    error_code ignored;
    socket_.close(ignored);
  }

  const Target target_;
  asio::io_context io_{1};
  tcp::socket socket_;
  std::shared_ptr<asio::ssl::context> context_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
};

}  // namespace

StatusWith<std::unique_ptr<Stream>> Stream::connect(const Target& target) {
  auto stream = std::make_unique<AsioStream>(target);
  TROUPE_TRY(stream->open());
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace troupe::client
