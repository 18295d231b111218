#pragma once
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::supervisors {

/// The bytes of one connection, plain or under TLS, as the HTTP library reads and writes them. All of it on the
/// connection's strand; an operation that is under way keeps nothing alive. Its completion handler is of one type,
/// so that TLS is compiled once and not for each use.
class HttpStream {
 public:
  using error_code = boost::system::error_code;
  using executor_type = boost::beast::tcp_stream::executor_type;
  explicit HttpStream(boost::asio::ip::tcp::socket socket) : tcp_(std::move(socket)) {}

  executor_type get_executor() noexcept { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  template <class Time>
  void expires_after(Time time) {
    tcp_.expires_after(time);
  }
  void expires_never() { tcp_.expires_never(); }
  void close() { tcp_.close(); }
  bool encrypted() const { return tls_.has_value(); }
  /// Whether bytes or the end of the connection can be read now.
  bool hasInput();

  /// Finds out whether the client begins with TLS and, if so, shakes hands. `done(error)`; what was read lies in
  /// `buffer`.
  void greet(std::shared_ptr<boost::asio::ssl::context> context, boost::beast::flat_buffer& buffer,
             std::function<void(error_code)> done);

  // The library's requirements on a stream; the names are its own.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, size_t)>(
        [this](auto done, const Buffers& buffers) {
          readSome({boost::asio::buffer_sequence_begin(buffers), boost::asio::buffer_sequence_end(buffers)},
                   shared(std::move(done)));
        },
        token, into);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, size_t)>(
        [this](auto done, const Buffers& buffers) {
          writeSome({boost::asio::buffer_sequence_begin(buffers), boost::asio::buffer_sequence_end(buffers)},
                    shared(std::move(done)));
        },
        token, from);
  }

 private:
  using Done = std::function<void(error_code, size_t)>;

  /// The library's handlers can only be moved.
  template <class Handler>
  static Done shared(Handler handler) {
    return
        [kept = std::make_shared<Handler>(std::move(handler))](error_code error, size_t size) { (*kept)(error, size); };
  }
  void readSome(std::vector<boost::asio::mutable_buffer> into, Done done);
  void writeSome(std::vector<boost::asio::const_buffer> from, Done done);

  boost::beast::tcp_stream tcp_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace troupe::supervisors
