#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

#include "actors/front/transports.hpp"

namespace troupe::front {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

Status lost(const boost::system::error_code& error) { return {ErrorCode::kHostUnreachable, error.message()}; }

/// The TLS engine is not thread-safe, so all its operations run on one strand.
class TlsTransport final : public Transport, public std::enable_shared_from_this<TlsTransport> {
 public:
  TlsTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)),
        strand_(asio::make_strand(socket.get_executor())),
        stream_(std::move(socket), *context_) {
    boost::system::error_code ignored;
    stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
  }

  bool encrypted() const override { return true; }

  Future<StatusWith<size_t>> read(std::shared_ptr<wire::FrameReader> into) override {
    auto promise = std::make_shared<Promise<StatusWith<size_t>>>();
    auto future = promise->future();
    asio::post(strand_, [promise, into = std::move(into), self = shared_from_this()] {
      if (self->greeted_) return self->readMore(promise, into);
      self->stream_.async_handshake(
          asio::ssl::stream_base::server,
          asio::bind_executor(self->strand_, [promise, into, self](const boost::system::error_code& error) {
            if (error) return void(promise->set(lost(error)));
            self->greeted_ = true;
            self->readMore(promise, into);
          }));
    });
    return future;
  }

  StatusWith<size_t> writeNow(std::string_view) override { return size_t{0}; }

  Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) override {
    auto promise = std::make_shared<Promise<Status>>();
    auto future = promise->future();
    asio::post(strand_, [promise, bytes, from, self = shared_from_this()] {
      asio::async_write(
          self->stream_, asio::buffer(bytes->data() + from, bytes->size() - from),
          asio::bind_executor(self->strand_, [promise, bytes, self](const boost::system::error_code& error, size_t) {
            promise->set(error ? lost(error) : Status::OK());
          }));
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
  void readMore(std::shared_ptr<Promise<StatusWith<size_t>>> promise, std::shared_ptr<wire::FrameReader> into) {
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

  std::shared_ptr<asio::ssl::context> context_;
  asio::strand<tcp::socket::executor_type> strand_;
  asio::ssl::stream<tcp::socket> stream_;
  bool greeted_ = false;
};

}  // namespace

std::shared_ptr<Transport> makeTlsTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context) {
  return std::make_shared<TlsTransport>(std::move(socket), std::move(context));
}

}  // namespace troupe::front
