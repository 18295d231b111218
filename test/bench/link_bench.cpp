// Messages of 1 KiB over a loopback link between two nodes, asked and answered with 64 on the way, against a bare Asio
// echo of frames of the same size: one that writes each frame as it is complete, as an ordinary server would, and one
// that writes back all it has read with one call. Rounds alternate. And the heartbeats of the link while a gigabyte
// goes over it. Prints one JSON line per figure.
#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/transport/connector.hpp"
#include "actors/transport/link_manager.hpp"
#include "actors/transport/transports.hpp"
#include "messaging/schemas/testing.capnp.h"
#include "test/bench/support/bare_echo.hpp"
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

/// Takes large messages and says how many have come.
class Sink final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([](schema::Ping::Reader in, Context& context) {
      context.reply<schema::Pong>([&](schema::Pong::Builder out) { out.setNumber(in.getNumber()); });
    })};
  }
};

/// Sends so many bytes in large messages, a few on the way at once.
class Streamer final : public Actor {
 public:
  static constexpr size_t kMessage = 4 * 1024 * 1024;
  Streamer(Address sink, size_t bytes, std::atomic<int>* running)
      : sink_(std::move(sink)), left_(bytes / kMessage), running_(running) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override {
    for (int i = running_->load(); i > 0; --i) start(run());
  }

 private:
  Task<void> run() {
    while (left_ > 0) {
      --left_;
      Payload message = build<schema::Ping>([](schema::Ping::Builder) {}, bytes_);
      const Answer answer = co_await ask(sink_, std::move(message));
      if (!answer.isOK()) break;
    }
    running_->fetch_sub(1);
  }
  Address sink_;
  size_t left_;
  std::atomic<int>* running_;
  const std::shared_ptr<const std::string> bytes_ = std::make_shared<const std::string>(kMessage, 'x');
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
    settings.times.heartbeat = std::chrono::milliseconds(2);
    links_ = std::make_shared<link::Links>(asker, settings);
    const auto others = std::make_shared<link::Links>(mirror, settings);
    asker.spawn<link::LinkManager>(link::kLinksPath, links_);
    mirror.spawn<link::LinkManager>(link::kLinksPath, others);
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) throw BenchError("cannot accept: " + error.message());
      link::IncomingConnection connection{transport::makePlainTransport(std::move(socket)), "", "bench", true};
      mirror.tell(mirror.address(link::kLinksPath), local(std::move(connection)));
    });
    mirror.spawn<Mirror>("/mirror");
    mirror.spawn<Sink>("/sink");
    asker.tell(asker.address(link::kLinksPath), local(link::ConnectPeer{mirror.name()}));
  }

  /// The last heartbeat from the asker's side.
  int64_t roundTripMicros() const { return links_->figures().at(0).counters->roundTripMicros.load(); }
  /// Sends so many bytes to the other node; `running` senders at once, down to 0 at the end.
  void stream(size_t bytes, std::atomic<int>* running) {
    asker.spawn<Streamer>("/streamer", Address(mirror.name(), "/sink"), bytes, running);
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
  std::shared_ptr<link::Links> links_;
  int rounds_ = 0;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) throw BenchError("no heartbeat was measured");
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Milliseconds of the heartbeats of a link while a gigabyte goes over it, looked at every two milliseconds.
void reportHeartbeats(LinkedNodes& nodes) {
  constexpr size_t kGigabyte = 1024 * 1024 * 1024;
  const auto collect = [&](const std::function<bool()>& goesOn) {
    std::vector<double> all;
    while (goesOn()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      all.push_back(static_cast<double>(nodes.roundTripMicros()) / 1000);
    }
    return all;
  };
  int looks = 0;
  const auto idle = collect([&] { return ++looks < 500; });
  std::atomic<int> running{4};
  const auto from = Clock::now();
  nodes.stream(kGigabyte, &running);
  const auto streaming = collect([&] { return running.load() > 0; });
  const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
  report({.work = "heartbeat while 1 GB streams, p99",
          .against = "the allowance",
          .unit = "ms",
          .troupe = percentile(streaming, 0.99),
          .reference = 5,
          .ceiling = 1.0,
          .details = {{"streamingMedian", percentile(streaming, 0.5)},
                      {"gigabytesPerSecond", static_cast<double>(kGigabyte) / 1e9 / seconds}}});
  report({.work = "heartbeat while 1 GB streams, p99",
          .against = "the same link, idle",
          .unit = "ms",
          .troupe = percentile(streaming, 0.99),
          .reference = percentile(idle, 0.99)});
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv, {{"rounds", "5"}, {"seconds", "1"}});
  return troupe::bench::run([&] {
    LinkedNodes nodes;
    const double seconds = arguments.decimal("seconds");
    reportHeartbeats(nodes);
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
