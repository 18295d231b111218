#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/transport/name_resolver.hpp"
#include "actors/transport/network.hpp"
#include "test/unit/actors/transport/tcp_client.hpp"

namespace troupe::transport::test {
namespace {

using namespace std::chrono_literals;

/// A node of two threads that listens, as a server does that takes clients with TLS and without.
class TcpArrivals : public ::testing::TestWithParam<tls::TlsMode> {
 protected:
  TcpArrivals() {
    ports_ =
        makeTcpNetwork()->listen(node, {"127.0.0.1"}, port_, {.mode = GetParam(), .certificateKeyFile = pem_.path()});
  }
  void TearDown() override { node.shutdown(); }

  std::shared_ptr<Arrival> arrivalOf(tcp::socket& client) {
    client.connect(loopback(port_));
    return node.wait(acceptFrom(ports_.at(0).get()));
  }
  static Task<std::shared_ptr<Arrival>> acceptFrom(Port* port) {
    auto arrival = co_await port->accept();
    co_return arrival.isOK() ? *arrival : nullptr;
  }
  static Task<bool> valueOf(Future<bool> value) { co_return co_await value; }

  Node node{{.name = "a:1", .threads = 2}};
  boost::asio::io_context io;

 private:
  const PemFile pem_;
  const uint16_t port_ = freePort();
  std::vector<std::unique_ptr<Port>> ports_;
};

/// The wait for its first bytes ends on another thread than that which closes it. In two rounds of three the client
/// begins to speak just then.
TEST_P(TcpArrivals, OneThatIsGivenUpIsClosedAndKeepsNoThread) {
  for (int round = 0; round < 300; ++round) {
    tcp::socket client(io);
    const auto arrival = arrivalOf(client);
    ASSERT_TRUE(arrival);
    auto encrypted = arrival->encryption();
    const std::string greeting("\x16\x03", round % 3);
    const auto pause = std::chrono::microseconds(round % 7 * 20);
    std::jthread speaker([&] {
      std::this_thread::sleep_for(pause);
      if (!greeting.empty()) sendTo(client, greeting);
    });
    std::this_thread::sleep_for(std::chrono::microseconds(round % 5 * 30));
    arrival->giveUp();
    const auto end = readFrom(client);
    ASSERT_TRUE(end == boost::asio::error::eof || end == boost::asio::error::connection_reset)
        << "round " << round << ": " << end.message();
    const bool isTls = node.wait(valueOf(std::move(encrypted)));
    ASSERT_TRUE(!isTls || greeting.size() == 2) << "round " << round;
  }
}

/// The byte may be noticed when nobody looks yet, or as if it came during the look.
TEST_P(TcpArrivals, AHelloIsRecognisedWhoseFirstByteComesBeforeAnybodyLooks) {
  const std::string hello("\x16\x03", 2), message("\x16\x00", 2);  // of the wire protocol: its length is 22
  for (int round = 0; round < 200; ++round) {
    const std::string& greeting = round % 2 ? hello : message;
    tcp::socket client(io);
    const auto arrival = arrivalOf(client);
    ASSERT_TRUE(arrival);
    sendTo(client, greeting.substr(0, 1));
    if (round % 5 == 0) std::this_thread::sleep_for(2ms);
    auto encrypted = arrival->encryption();
    std::this_thread::sleep_for(1ms);
    ASSERT_FALSE(encrypted.isReady()) << "round " << round << ": one byte says nothing";
    sendTo(client, greeting.substr(1));
    ASSERT_EQ(node.wait(valueOf(std::move(encrypted))), greeting == hello) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(BothModes, TcpArrivals, ::testing::Values(tls::TlsMode::kPrefer, tls::TlsMode::kAllow),
                         [](const auto& mode) { return mode.param == tls::TlsMode::kPrefer ? "prefer" : "allow"; });

TEST(TcpNetwork, ListensOnEveryAddressOfAName) {
  Node node({.name = "a:1", .threads = 1});
  boost::asio::io_context io;
  const uint16_t port = freePort();
  const auto ports = makeTcpNetwork()->listen(node, {"localhost", "127.0.0.1"}, port, {});
  EXPECT_FALSE(ports.empty());
  const auto addresses = link::lookUpHost("localhost");
  ASSERT_TRUE(addresses.isOK()) << addresses.status().toString();
  for (const auto& address : *addresses) {
    boost::system::error_code error;
    tcp::socket(io).connect({address, port}, error);
    EXPECT_NE(error, boost::asio::error::connection_refused) << address.to_string();
  }
  EXPECT_THROW((void)makeTcpNetwork()->listen(node, {"127.0.0.1"}, port, {}), std::runtime_error);
}

}  // namespace
}  // namespace troupe::transport::test
