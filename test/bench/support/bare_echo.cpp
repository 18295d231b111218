#include "test/bench/support/bare_echo.hpp"

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace troupe::bench {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

/// One end of a bare connection: collects frames of a fixed size and sends each, or all that have come, back.
class BareEnd {
 public:
  BareEnd(asio::io_context& io, size_t frame, bool gather) : socket(io), frame_(frame), gather_(gather) {}
  void begin() {
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    read();
  }
  void send(size_t frames) {
    out_.assign(frames * frame_, 'x');
    asio::write(socket, asio::buffer(out_));
  }
  tcp::socket socket;
  std::atomic<int64_t> frames{0};

 private:
  void read() {
    socket.async_read_some(asio::buffer(in_.data() + filled_, in_.size() - filled_),
                           [this](const boost::system::error_code& error, size_t n) {
                             if (error) return;
                             filled_ += n;
                             at_ = 0;
                             answer();
                           });
  }
  void answer() {
    const size_t whole = (filled_ - at_) / frame_;
    if (whole == 0) {
      std::memmove(in_.data(), in_.data() + at_, filled_ - at_);
      filled_ -= at_;
      return read();
    }
    const size_t size = gather_ ? whole * frame_ : frame_;
    frames.fetch_add(static_cast<int64_t>(size / frame_), std::memory_order_relaxed);
    asio::async_write(socket, asio::buffer(in_.data() + at_, size),
                      [this, size](const boost::system::error_code& error, size_t) {
                        if (error) return;
                        at_ += size;
                        answer();
                      });
  }
  const size_t frame_;
  const bool gather_;
  std::array<char, 128 * 1024> in_;
  std::string out_;
  size_t filled_ = 0, at_ = 0;
};

}  // namespace

double bareRound(size_t frame, int window, bool gather, double seconds) {
  asio::io_context here(1), there(1);
  tcp::acceptor acceptor(there, {asio::ip::address_v4::loopback(), 0});
  BareEnd client(here, frame, gather), server(there, frame, gather);
  client.socket.connect(acceptor.local_endpoint());
  acceptor.accept(server.socket);
  client.begin();
  server.begin();
  std::thread one([&] { here.run(); }), two([&] { there.run(); });
  asio::post(here, [&] { client.send(static_cast<size_t>(window)); });
  while (client.frames.load() == 0) std::this_thread::yield();
  const auto from = Clock::now();
  const int64_t before = client.frames.load();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double rate =
      static_cast<double>(client.frames.load() - before) / std::chrono::duration<double>(Clock::now() - from).count();
  here.stop();
  there.stop();
  one.join();
  two.join();
  return rate;
}

}  // namespace troupe::bench
