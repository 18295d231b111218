#include "test/bench/support/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "test/bench/support/measure.hpp"

namespace troupe::bench {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

int32_t lengthOf(std::string_view frame) {
  int32_t length = 0;
  std::memcpy(&length, frame.data(), sizeof length);
  return length;
}

/// Frames that come one at a time and whole, as from a client that waits for each answer.
class EchoSession : public std::enable_shared_from_this<EchoSession> {
 public:
  EchoSession(tcp::socket socket, const std::string& reply) : socket_(std::move(socket)), reply_(reply) {
    socket_.set_option(tcp::no_delay(true));
  }
  void read() {
    socket_.async_read_some(asio::buffer(buffer_.data() + filled_, buffer_.size() - filled_),
                            [self = shared_from_this()](auto error, size_t n) {
                              if (error) return;
                              self->filled_ += n;
                              const bool whole =
                                  self->filled_ >= 4 &&
                                  self->filled_ >= static_cast<size_t>(lengthOf({self->buffer_.data(), 4}));
                              if (!whole) return self->read();
                              self->filled_ = 0;
                              self->write();
                            });
  }

 private:
  void write() {
    asio::async_write(socket_, asio::buffer(reply_), [self = shared_from_this()](auto error, size_t) {
      if (!error) self->read();
    });
  }
  tcp::socket socket_;
  const std::string& reply_;
  std::array<char, 4096> buffer_;
  size_t filled_ = 0;
};

void acceptNext(tcp::acceptor& acceptor, const std::string& reply) {
  acceptor.async_accept([&](auto error, tcp::socket socket) {
    if (!error) std::make_shared<EchoSession>(std::move(socket), reply)->read();
    acceptNext(acceptor, reply);
  });
}

/// The child's whole life: reports its port, then serves until it is killed, at the latest with its parent.
[[noreturn]] void serveEcho(int portPipe, const std::string& reply, unsigned threads) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  asio::io_context io(static_cast<int>(threads));
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const int port = acceptor.local_endpoint().port();
  if (write(portPipe, &port, sizeof port) != sizeof port) _exit(1);
  acceptNext(acceptor, reply);
  std::vector<std::thread> running;
  for (unsigned i = 1; i < threads; ++i) running.emplace_back([&] { io.run(); });
  io.run();
  _exit(0);
}

}  // namespace

RawClient::RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket_ < 0 || connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const std::string why = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    throw BenchError("no connection to port " + std::to_string(port) + ": " + why);
  }
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

RawClient::~RawClient() { close(socket_); }

std::string_view RawClient::roundTrip(std::string_view frame) {
  for (size_t sent = 0; sent < frame.size();) {
    const ssize_t n = send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) throw BenchError("the server closed a connection");
    sent += static_cast<size_t>(n);
  }
  if (buffer_.size() < 4096) buffer_.resize(4096);
  size_t filled = 0, wanted = 4;
  while (filled < wanted) {
    if (wanted > buffer_.size()) buffer_.resize(wanted);
    const ssize_t n = recv(socket_, buffer_.data() + filled, buffer_.size() - filled, 0);
    if (n <= 0) throw BenchError("the server closed a connection");
    filled += static_cast<size_t>(n);
    if (filled >= 4) wanted = static_cast<size_t>(lengthOf(buffer_));
  }
  return std::string_view(buffer_).substr(0, wanted);
}

EchoServer::EchoServer(std::string reply, unsigned threads) {
  int ends[2];
  if (pipe(ends) != 0) throw BenchError("no pipe for the echo server");
  pid_ = fork();
  if (pid_ == 0) serveEcho(ends[1], reply, threads);
  close(ends[1]);
  const bool told = pid_ > 0 && read(ends[0], &port_, sizeof port_) == sizeof port_;
  close(ends[0]);
  if (!told) throw BenchError("the echo server did not start");
}

EchoServer::~EchoServer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace troupe::bench
