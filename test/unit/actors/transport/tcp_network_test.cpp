#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <stdexcept>

#include "actors/kernel/node.hpp"
#include "actors/transport/name_resolver.hpp"
#include "actors/transport/network.hpp"
#include "test/unit/messaging/tls/pem_file.hpp"

namespace troupe::transport {
namespace {

using boost::asio::ip::tcp;

Task<std::shared_ptr<Arrival>> acceptFrom(Port* port) {
  auto arrival = co_await port->accept();
  co_return arrival.isOK() ? *arrival : nullptr;
}

/// What a client reads that has said nothing; `timed_out` after five seconds.
boost::system::error_code readFrom(tcp::socket& client) {
  const timeval patience{5, 0};
  ::setsockopt(client.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte = 0;
  const ssize_t n = ::recv(client.native_handle(), &byte, 1, 0);
  if (n == 0) return boost::asio::error::eof;
  return n < 0 ? boost::asio::error::timed_out : boost::system::error_code();
}

/// The wait for its first bytes ends on another thread than that which closes it.
TEST(TcpNetwork, AnArrivalThatIsGivenUpIsClosedAndKeepsNoThread) {
  const auto pem = std::filesystem::temp_directory_path() / ("troupe-arrival-" + std::to_string(::getpid()) + ".pem");
  tls::writePem(pem);
  Node node({.name = "a:1", .threads = 2});
  boost::asio::io_context io;
  const tcp::endpoint loopback{boost::asio::ip::address_v4::loopback(), 0};
  const uint16_t port = tcp::acceptor(io, loopback).local_endpoint().port();
  const auto ports = makeTcpNetwork()->listen(node, {"127.0.0.1"}, port,
                                              {.mode = tls::TlsMode::kPrefer, .certificateKeyFile = pem.string()});
  ASSERT_EQ(ports.size(), 1u);
  for (int round = 0; round < 300; ++round) {
    tcp::socket client(io);
    client.connect({loopback.address(), port});
    const auto arrival = node.wait(acceptFrom(ports[0].get()));
    ASSERT_TRUE(arrival);
    auto encrypted = arrival->encryption();
    arrival->giveUp();
    ASSERT_EQ(readFrom(client), boost::asio::error::eof) << "round " << round;
  }
  node.shutdown();
  std::filesystem::remove(pem);
}

TEST(TcpNetwork, ListensOnEveryAddressOfAName) {
  Node node({.name = "a:1", .threads = 1});
  boost::asio::io_context io;
  const uint16_t port = tcp::acceptor(io, {boost::asio::ip::address_v4::loopback(), 0}).local_endpoint().port();
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
}  // namespace troupe::transport
