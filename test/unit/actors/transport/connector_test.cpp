// Links over real sockets between two nodes with threads.
#include "actors/transport/connector.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "actors/kernel/node.hpp"
#include "actors/transport/link_manager.hpp"
#include "actors/transport/transports.hpp"
#include "messaging/schemas/testing.capnp.h"

namespace troupe::link {
namespace {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;

/// A node that takes links on a port of its own, as the daemon's listener does.
class SocketNode {
 public:
  SocketNode()
      : acceptor_(probe_, {boost::asio::ip::address_v4::loopback(), 0}),
        node({.name = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()), .threads = 2}) {
    LinkSettings settings;
    settings.key = "secret";
    settings.random = auth::secureRandom();
    settings.connect = *makeConnector(node.io(), {}, true);
    links = std::make_shared<Links>(node, std::move(settings));
    node.spawn<LinkManager>(kLinksPath, links);
    accepting_ = std::thread([this] { accept(); });
  }
  ~SocketNode() {
    ending_ = true;
    boost::system::error_code ignored;
    tcp::socket(probe_).connect(acceptor_.local_endpoint(), ignored);
    accepting_.join();
    node.shutdown();
  }

 private:
  void accept() {
    while (!ending_) {
      tcp::socket socket(node.io());
      acceptor_.accept(socket);
      if (ending_) return;
      node.tell(node.address(kLinksPath),
                local(IncomingConnection{transport::makePlainTransport(std::move(socket)), "", "test", true}));
    }
  }
  boost::asio::io_context probe_;
  tcp::acceptor acceptor_;
  std::atomic<bool> ending_{false};
  std::thread accepting_;

 public:
  std::shared_ptr<Links> links;
  Node node;
};

class Answering final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([](schema::Ping::Reader in, Context& context) {
      context.reply<schema::Pong>([&](schema::Pong::Builder out) { out.setNumber(in.getNumber()); });
    })};
  }
};

/// Asks so many questions one after the other; counts right answers and failures.
class Asker final : public Actor {
 public:
  Asker(Address echo, int questions, size_t attached, std::atomic<int>* right, std::atomic<int>* failed)
      : echo_(std::move(echo)), questions_(questions), attached_(attached), right_(right), failed_(failed) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override { start(run()); }

 private:
  Task<void> run() {
    auto bytes = std::make_shared<const std::string>(attached_, 'x');
    for (int i = 0; i < questions_; ++i) {
      auto ping = build<schema::Ping>([&](schema::Ping::Builder out) { out.setNumber(i); }, bytes);
      const Answer answer = co_await ask(echo_, std::move(ping));
      const bool right = answer.isOK() && answer->read<schema::Pong>()->getNumber() == i;
      (right ? right_ : failed_)->fetch_add(1);
      if (!right) co_await sleepFor(2ms);  // while a link pauses asks fail at once
    }
  }
  Address echo_;
  const int questions_;
  const size_t attached_;
  std::atomic<int>* right_;
  std::atomic<int>* failed_;
};

Task<StatusWith<Payload>> pinged(Node& node, std::string peer) {
  Payload question = local(PingPeer{std::move(peer)});
  co_return co_await node.ask(node.address(kLinksPath), std::move(question));
}

void await(const std::atomic<int>& a, const std::atomic<int>& b, int sum) {
  while (a.load() + b.load() < sum) std::this_thread::sleep_for(1ms);
}

TEST(SocketLinks, ManyActorsAskAcrossAtOnce) {
  SocketNode a, b;
  b.node.spawn<Answering>("/echo");
  const auto reached = a.node.wait(pinged(a.node, b.node.name()));
  ASSERT_TRUE(reached.isOK()) << reached.status().toString();
  std::atomic<int> right{0}, failed{0};
  constexpr int kAskers = 16, kQuestions = 300;
  for (int i = 0; i < kAskers; ++i)
    a.node.spawn<Asker>("/asker" + std::to_string(i), Address(b.node.name(), "/echo"), kQuestions,
                        size_t{i % 4 == 0 ? 200'000u : 10u}, &right, &failed);
  await(right, failed, kAskers * kQuestions);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(right, kAskers * kQuestions);
}

TEST(SocketLinks, EveryAskIsAnsweredThoughLinksAreCutAgainAndAgain) {
  SocketNode a, b;
  b.node.spawn<Answering>("/echo");
  const auto reached = a.node.wait(pinged(a.node, b.node.name()));
  ASSERT_TRUE(reached.isOK()) << reached.status().toString();
  std::atomic<int> right{0}, failed{0};
  constexpr int kAskers = 8, kQuestions = 500;
  for (int i = 0; i < kAskers; ++i)
    a.node.spawn<Asker>("/asker" + std::to_string(i), Address(b.node.name(), "/echo"), kQuestions, size_t{1000}, &right,
                        &failed);
  for (int last = 0; right + failed < kAskers * kQuestions;) {
    if (right + failed >= last + 500) {
      last = right + failed;
      for (const auto& row : b.node.registry().rows({.type = "IncomingLink"}))
        b.node.requestStop(b.node.address(row.path));
    }
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GT(right, 0);
  EXPECT_EQ(right + failed, kAskers * kQuestions);
}

TEST(Connector, NamesOfNoNodeAndOfOtherMachinesAreRefused) {
  Node node({.name = "a:1", .threads = 1});
  const auto connect = *makeConnector(node.io(), {}, true);
  const auto outcome = [&](const std::string& peer) {
    auto connecting = connect(peer);
    while (!connecting.outcome.isReady()) std::this_thread::sleep_for(1ms);
    return connecting.outcome.take().status();
  };
  EXPECT_EQ(outcome("nonsense").code(), ErrorCode::kBadValue);
  EXPECT_EQ(outcome("192.0.2.1:27017").code(), ErrorCode::kHostUnreachable);
  EXPECT_EQ(outcome("127.0.0.1:1").code(), ErrorCode::kHostUnreachable);
}

TEST(Connector, ATryCanBeGivenUp) {
  Node node({.name = "a:1", .threads = 1});
  boost::asio::io_context io;
  tcp::acceptor full(io, {boost::asio::ip::address_v4::loopback(), 0}, false);
  full.listen(0);  // nobody accepts: connections beyond the backlog hang
  const auto connect = *makeConnector(node.io(), {}, true);
  std::vector<Connecting> tries;
  for (int i = 0; i < 4; ++i) tries.push_back(connect("127.0.0.1:" + std::to_string(full.local_endpoint().port())));
  for (auto& each : tries) each.abandon();
  for (auto& each : tries) EXPECT_TRUE(each.outcome.isReady());
}

}  // namespace
}  // namespace troupe::link
