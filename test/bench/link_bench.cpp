// Messages of 1 KiB over a loopback link between two nodes, asked and answered with 64 on the way, against a bare Asio
// echo of frames of the same size: one that writes each frame as it is complete, as an ordinary server would, and one
// that writes back whatever has come with one call. Rounds alternate. Prints one JSON line per figure.
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "actors/kernel/node.hpp"
#include "actors/transport/connector.hpp"
#include "actors/transport/link_manager.hpp"
#include "actors/transport/transports.hpp"
#include "messaging/schemas/testing.capnp.h"
#include "test/bench/support/measure.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace troupe;
using namespace troupe::bench;
using Clock = std::chrono::steady_clock;

constexpr int kWindow = 64;
constexpr size_t kBytes = 1024;

// --- links ---

/// Gives every message back as it is.
class Mirror final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Block>([](schema::Block::Reader, Context& context) { context.reply(context.payload()); })};
  }
};

/// Asks again and again, with so many questions on the way at once, until it is told to stop.
class Asker final : public Actor {
 public:
  Asker(Address mirror, int window, std::atomic<int64_t>* answers, std::atomic<bool>* ending)
      : mirror_(std::move(mirror)), window_(window), answers_(answers), ending_(ending) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override {
    for (int i = 0; i < window_; ++i) start(run());
  }

 private:
  Task<void> run() {
    const std::string bytes(kBytes, 'x');
    while (!*ending_) {
      auto block = build<schema::Block>([&](schema::Block::Builder out) {
        out.setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
      });
      const Answer answer = co_await ask(mirror_, std::move(block));
      if (!answer.isOK()) co_return;
      answers_->fetch_add(1, std::memory_order_relaxed);
    }
  }
  Address mirror_;
  const int window_;
  std::atomic<int64_t>* answers_;
  std::atomic<bool>* ending_;
};

/// Two nodes of one thread each, linked over loopback.
class LinkedNodes {
 public:
  LinkedNodes() {
    link::LinkSettings settings;
    settings.key = "benchmark";
    settings.random = auth::secureRandom();
    auto connector = link::makeConnector(asker.io(), {}, true);
    settings.connect = *connector;
    const auto links = std::make_shared<link::Links>(asker, settings);
    const auto others = std::make_shared<link::Links>(mirror, settings);
    asker.spawn<link::LinkManager>(link::kLinksPath, links);
    mirror.spawn<link::LinkManager>(link::kLinksPath, others);
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) throw BenchError("cannot accept: " + error.message());
      link::IncomingConnection connection{front::makePlainTransport(std::move(socket)), "", "bench", true};
      mirror.tell(mirror.address(link::kLinksPath), local(std::move(connection)));
    });
    mirror.spawn<Mirror>("/mirror");
    asker.tell(asker.address(link::kLinksPath), local(link::ConnectPeer{mirror.name()}));
  }

  double round(int window, double seconds) {
    std::atomic<int64_t> answers{0};
    std::atomic<bool> ending{false};
    const std::string path = "/asker" + std::to_string(++rounds_);
    const auto who = asker.spawn<Asker>(path, Address(mirror.name(), "/mirror"), window, &answers, &ending);
    while (answers.load() == 0) std::this_thread::yield();
    const auto from = Clock::now();
    const int64_t before = answers.load();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double rate =
        static_cast<double>(answers.load() - before) / std::chrono::duration<double>(Clock::now() - from).count();
    ending = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the last answers
    asker.requestStop(who);
    while (asker.postOffice().exists(who)) std::this_thread::yield();
    return rate;
  }

 private:
  static uint16_t freePort(asio::io_context& io) {
    return tcp::acceptor(io, {asio::ip::address_v4::loopback(), 0}).local_endpoint().port();
  }
  asio::io_context probe_;
  const uint16_t port_ = freePort(probe_);
  Node asker{{.name = "127.0.0.1:1", .threads = 1}};
  Node mirror{{.name = "127.0.0.1:" + std::to_string(port_), .threads = 1}};
  tcp::acceptor acceptor_{mirror.io(), {asio::ip::address_v4::loopback(), port_}};
  int rounds_ = 0;
};

// --- bare echo ---

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

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv, {{"rounds", "5"}, {"seconds", "1"}});
  return troupe::bench::run([&] {
    LinkedNodes nodes;
    const double seconds = arguments.decimal("seconds");
    // A question and its answer as they are on the wire: header, head of the envelope, words of the payload.
    const size_t frame = 16 + 160 + 24 + kBytes;
    for (const int window : {kWindow, 1}) {
      std::vector<double> linked, each, gathered;
      for (int i = 0; i < arguments.number("rounds"); ++i) {
        linked.push_back(nodes.round(window, seconds));
        each.push_back(bareRound(frame, window, false, seconds));
        gathered.push_back(bareRound(frame, window, true, seconds));
      }
      const std::string work = "1 KiB over a link and back, " + std::to_string(window) + " on the way";
      report(
          {work, "bare Asio echo, frame by frame", "messages/s", median(linked), median(each), window > 1 ? 0.7 : 0.0});
      report({work, "bare Asio echo, all that has come", "messages/s", median(linked), median(gathered)});
    }
  });
}
