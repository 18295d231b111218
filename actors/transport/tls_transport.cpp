#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <vector>

#include "actors/transport/transports.hpp"

namespace troupe::transport {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// The TLS engine is not thread-safe, so all its operations run on one strand.
class TlsTransport final : public Transport, public std::enable_shared_from_this<TlsTransport> {
 public:
  using Side = asio::ssl::stream_base::handshake_type;
  TlsTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context, Side side)
      : side_(side),
        context_(std::move(context)),
        strand_(asio::make_strand(socket.get_executor())),
        stream_(std::move(socket), *context_) {
    prepareSocket(stream_.next_layer());
  }

  /// Before the handshake.
  void expect(const std::string& host, bool checkName) {
    boost::system::error_code noAddress;
    asio::ip::make_address(host, noAddress);
    if (noAddress) SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    if (checkName) stream_.set_verify_callback(asio::ssl::host_name_verification(host));
  }

  bool encrypted() const override { return true; }
  void limitBacklog(size_t bytes) override { limitSocketBacklog(descriptor(), bytes); }
  int64_t bytesTaken() const override { return written_.load(std::memory_order_relaxed) - unsentBytes(descriptor()); }
  bool isPeerGone() const override { return hasHungUp(descriptor()); }

  Future<StatusWith<size_t>> read(std::shared_ptr<wire::ReadBuffer> into) override {
    auto promise = std::make_shared<Promise<StatusWith<size_t>>>();
    auto future = promise->future();
    asio::post(strand_, [promise, into = std::move(into), self = shared_from_this()] {
      self->greet([promise, into, self](const boost::system::error_code& error) {
        if (error) promise->set(lost(error));
        else self->readMore(promise, into);
      });
    });
    return future;
  }

  StatusWith<size_t> writeNow(std::string_view) override { return size_t{0}; }

  Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) override {
    auto promise = std::make_shared<Promise<Status>>();
    auto future = promise->future();
    asio::post(strand_, [promise, bytes, from, self = shared_from_this()] {
      self->greet([promise, bytes, from, self](const boost::system::error_code& failed) {
        if (failed) return void(promise->set(lost(failed)));
        asio::async_write(
            self->stream_, asio::buffer(bytes->data() + from, bytes->size() - from), countInto(self->written_),
            asio::bind_executor(self->strand_, [promise, bytes, self](const boost::system::error_code& error, size_t) {
              promise->set(error ? lost(error) : Status::OK());
            }));
      });
    });
    return future;
  }

  void close() override {
    asio::post(strand_, [self = shared_from_this()] {
      boost::system::error_code ignored;
      self->stream_.lowest_layer().close(ignored);
    });
  }

 private:
  int descriptor() const { return const_cast<tcp::socket&>(stream_.next_layer()).native_handle(); }

  /// Runs `next` once the handshake is over; the first caller begins it. On the strand.
  void greet(std::function<void(const boost::system::error_code&)> next) {
    if (greeted_) return next(greeting_);
    waiting_.push_back(std::move(next));
    if (waiting_.size() > 1) return;
    stream_.async_handshake(
        side_, asio::bind_executor(strand_, [self = shared_from_this()](const boost::system::error_code& error) {
          self->greeted_ = true;
          self->greeting_ = error;
          for (const auto& each : std::exchange(self->waiting_, {})) each(error);
        }));
  }

  void readMore(std::shared_ptr<Promise<StatusWith<size_t>>> promise, std::shared_ptr<wire::ReadBuffer> into) {
    const auto room = into->prepare();
    stream_.async_read_some(asio::buffer(room.data(), room.size()),
                            asio::bind_executor(strand_, [promise, into, self = shared_from_this()](
                                                             const boost::system::error_code& error, size_t n) {
                              into->commit(n);
                              StatusWith<size_t> outcome(n);
                              if (error) outcome = lost(error);
                              promise->set(std::move(outcome));
                            }));
  }

  const Side side_;
  std::shared_ptr<asio::ssl::context> context_;
  asio::strand<tcp::socket::executor_type> strand_;
  asio::ssl::stream<tcp::socket> stream_;
  std::atomic<int64_t> written_{0};
  bool greeted_ = false;
  boost::system::error_code greeting_;  ///< how the handshake ended
  std::vector<std::function<void(const boost::system::error_code&)>> waiting_;
};

}  // namespace

std::shared_ptr<Transport> makeTlsTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context) {
  return std::make_shared<TlsTransport>(std::move(socket), std::move(context), asio::ssl::stream_base::server);
}

std::shared_ptr<Transport> makeTlsClientTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context,
                                                  const std::string& host, bool checkName) {
  auto transport =
      std::make_shared<TlsTransport>(std::move(socket), std::move(context), asio::ssl::stream_base::client);
  transport->expect(host, checkName);
  return transport;
}

}  // namespace troupe::transport
