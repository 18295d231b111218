#include "actors/transport/listener.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "actors/kernel/node.hpp"
#include "test/unit/actors/commands/command_node.hpp"
#include "test/unit/actors/transport/tcp_client.hpp"

namespace troupe::transport::test {
namespace {

using namespace std::chrono_literals;

/// How many connections the listener has of which it does not know yet whether they speak TLS.
int64_t undecided(Node& node) {
  const auto details = node.wait(node.inspect("/listener", 5s));
  return details ? details->state.view()["undecided"].toInt64() : -1;
}

/// Tries again for five seconds: the listener opens its port in a turn of its own.
bool connect(tcp::socket& client, uint16_t port) {
  boost::system::error_code error = boost::asio::error::not_connected;
  for (int tries = 0; error && tries < 500; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(10ms);
    client.close();
    client.connect(loopback(port), error);
  }
  return !error;
}

TEST(Listener, ClosesConnectionsThatHaveSaidNothingWhenItEnds) {
  const PemFile pem;
  commands::CommandNode server;
  boost::asio::io_context io;
  for (const bool crashes : {false, true}) {
    Node node({.name = "a:1", .threads = 2});  // outlives the listener
    ListenerOptions options;
    options.port = freePort();
    options.tls = {.mode = tls::TlsMode::kPrefer, .certificateKeyFile = pem.path()};
    const Address listener = node.spawn<Listener>("/listener", options, makeTcpNetwork(), server.server);
    tcp::socket client(io);
    ASSERT_TRUE(connect(client, options.port));
    for (int tries = 0; undecided(node) != 1 && tries < 500; ++tries) std::this_thread::sleep_for(10ms);
    ASSERT_EQ(undecided(node), 1);
    if (crashes) node.kill(listener, {ErrorCode::kInternalError, "it crashed"});
    else node.requestStop(listener);
    EXPECT_EQ(readFrom(client), boost::asio::error::eof) << (crashes ? "after a crash" : "after a stop");
    node.shutdown();
  }
  EXPECT_EQ(server.server->gate.open(), 0) << "their places are free";
}

}  // namespace
}  // namespace troupe::transport::test
