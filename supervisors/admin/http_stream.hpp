#pragma once
#include <boost/asio/async_result.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/detect_ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace troupe::supervisors {

/// The bytes of one connection, plain or under TLS, as the HTTP library reads and writes them. All of it on the
/// connection's strand; an operation that is under way keeps nothing alive.
class HttpStream {
 public:
  using error_code = boost::system::error_code;
  using executor_type = boost::beast::tcp_stream::executor_type;
  explicit HttpStream(boost::asio::ip::tcp::socket socket) : tcp_(std::move(socket)) {}

  executor_type get_executor() noexcept { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  template <class Time>
  void expires_after(Time time) { tcp_.expires_after(time); }
  void expires_never() { tcp_.expires_never(); }
  void close() { tcp_.close(); }
  bool encrypted() const { return tls_.has_value(); }

  /// Finds out whether the client begins with TLS and, if so, shakes hands. `done(error)`; what was read lies in `buffer`.
  template <class Done>
  void greet(std::shared_ptr<boost::asio::ssl::context> context, boost::beast::flat_buffer& buffer, Done done) {
    boost::beast::async_detect_ssl(
        tcp_, buffer, [this, context = std::move(context), &buffer, done = std::move(done)](error_code error, bool isTls) mutable {
          if (error || !isTls) return done(error);
          context_ = std::move(context);
          tls_.emplace(tcp_, *context_);
          tls_->async_handshake(boost::asio::ssl::stream_base::server, buffer.data(),
                                [&buffer, done = std::move(done)](error_code failed, size_t used) mutable {
                                  buffer.consume(used);
                                  done(failed);
                                });
        });
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, size_t)>(
        [this](auto done, const Buffers& buffers) {
          if (tls_) tls_->async_read_some(buffers, std::move(done));
          else tcp_.async_read_some(buffers, std::move(done));
        },
        token, into);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, size_t)>(
        [this](auto done, const Buffers& buffers) {
          if (tls_) tls_->async_write_some(buffers, std::move(done));
          else tcp_.async_write_some(buffers, std::move(done));
        },
        token, from);
  }

 private:
  boost::beast::tcp_stream tcp_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace troupe::supervisors
