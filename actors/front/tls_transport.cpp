#include <array>
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

/// The TLS engine is not thread-safe, so all its operations run on one strand; decrypted bytes wait in a small buffer
/// until the actor takes them.
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

  Future<Status> readable() override {
    auto promise = std::make_shared<Promise<Status>>();
    auto future = promise->future();
    asio::post(strand_, [promise, self = shared_from_this()] {
      if (self->greeted_) return self->readMore(promise);
      self->stream_.async_handshake(
          asio::ssl::stream_base::server,
          asio::bind_executor(self->strand_, [promise, self](const boost::system::error_code& error) {
            if (error) return void(promise->set(lost(error)));
            self->greeted_ = true;
            self->readMore(promise);
          }));
    });
    return future;
  }

  // The actor calls this only after `readable()` has completed and before it asks again, so the buffer is its own.
  StatusWith<size_t> readNow(std::span<char> room) override {
    const size_t n = std::min(room.size(), filled_ - taken_);
    std::copy_n(buffer_.data() + taken_, n, room.data());
    taken_ += n;
    return n;
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
  void readMore(std::shared_ptr<Promise<Status>> promise) {
    if (taken_ < filled_) return void(promise->set(Status::OK()));
    stream_.async_read_some(asio::buffer(buffer_),
                            asio::bind_executor(strand_, [promise, self = shared_from_this()](
                                                             const boost::system::error_code& error, size_t n) {
                              self->taken_ = 0;
                              self->filled_ = n;
                              promise->set(error ? lost(error) : Status::OK());
                            }));
  }

  std::shared_ptr<asio::ssl::context> context_;
  asio::strand<tcp::socket::executor_type> strand_;
  asio::ssl::stream<tcp::socket> stream_;
  std::array<char, 16 * 1024> buffer_;
  size_t filled_ = 0;
  size_t taken_ = 0;
  bool greeted_ = false;
};

}  // namespace

std::shared_ptr<Transport> makeTlsTransport(tcp::socket socket, std::shared_ptr<asio::ssl::context> context) {
  return std::make_shared<TlsTransport>(std::move(socket), std::move(context));
}

}  // namespace troupe::front
