#include "actors/transport/transports.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "actors/kernel/node.hpp"

namespace troupe::transport {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kKeepAliveIdleSeconds = 120, kKeepAliveIntervalSeconds = 30, kKeepAliveProbes = 4;

/// `Socket`: of TCP, or a UNIX domain socket.
template <class Socket>
class PlainTransport final : public Transport, public std::enable_shared_from_this<PlainTransport<Socket>> {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  // With a buffer at hand Asio registers the socket once; waiting for readability would cost an epoll_ctl each time.
  Future<StatusWith<size_t>> read(std::shared_ptr<wire::ReadBuffer> into) override {
    Promise<StatusWith<size_t>> promise;
    auto future = promise.future();
    const auto room = into->prepare();
    socket_.async_read_some(asio::buffer(room.data(), room.size()),
                            [promise = std::move(promise), into = std::move(into), self = this->shared_from_this()](
                                const boost::system::error_code& error, size_t n) mutable {
                              into->commit(n);
                              StatusWith<size_t> outcome(n);
                              if (error) outcome = lost(error);
                              Node::runAsTurn([&] { promise.set(std::move(outcome)); });
                            });
    return future;
  }

  StatusWith<size_t> writeNow(std::string_view bytes) override {
    boost::system::error_code error;
    const size_t n = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return size_t{0};
    if (error) return lost(error);
    written_.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
    return n;
  }

  Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) override {
    auto promise = std::make_shared<Promise<Status>>();
    auto future = promise->future();
    asio::async_write(
        socket_, asio::buffer(bytes->data() + from, bytes->size() - from), countInto(written_),
        [promise, bytes, self = this->shared_from_this()](const boost::system::error_code& error, size_t) {
          Node::runAsTurn([&] { promise->set(error ? lost(error) : Status::OK()); });
        });
    return future;
  }

  void limitBacklog(size_t bytes) override { limitSocketBacklog(descriptor(), bytes); }
  int64_t bytesTaken() const override { return written_.load(std::memory_order_relaxed) - unsentBytes(descriptor()); }
  bool isPeerGone() const override { return hasHungUp(descriptor()); }

  // The descriptor is closed with the last operation that uses the socket: a write may be about to go on, on another
  // thread.
  void close() override {
    boost::system::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
  }

 private:
  int descriptor() const { return const_cast<Socket&>(socket_).native_handle(); }

  Socket socket_;
  std::atomic<int64_t> written_{0};
};

}  // namespace

void prepareSocket(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set(TCP_KEEPCNT, kKeepAliveProbes);
}

int64_t unsentBytes(int descriptor) {
  int bytes = 0;
  return ::ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void limitSocketBacklog(int descriptor, size_t bytes) {
  const int value = static_cast<int>(bytes);
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &value, sizeof value);
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &value, sizeof value);
}

bool hasHungUp(int descriptor) {
  pollfd watched{descriptor, POLLRDHUP, 0};
  return ::poll(&watched, 1, 0) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

std::shared_ptr<Transport> makePlainTransport(tcp::socket socket) {
  prepareSocket(socket);
  return std::make_shared<PlainTransport<tcp::socket>>(std::move(socket));
}

std::shared_ptr<Transport> makeLocalTransport(asio::local::stream_protocol::socket socket) {
  return std::make_shared<PlainTransport<asio::local::stream_protocol::socket>>(std::move(socket));
}

}  // namespace troupe::transport
