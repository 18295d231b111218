#include "supervisors/cli/free_port.hpp"

#include <gtest/gtest.h>

#include <boost/asio.hpp>

namespace troupe::supervisors {
namespace {

using boost::asio::ip::tcp;

TEST(FreePort, PassesOverOnesThatSomebodyListensOn) {
  boost::asio::io_context io;
  const tcp::acceptor taken(io, {boost::asio::ip::address_v4::loopback(), 0});
  const uint16_t port = taken.local_endpoint().port();
  EXPECT_FALSE(isFreePort(port));
  EXPECT_EQ(freePort(port, 1), 0);
  EXPECT_GT(freePort(port, 100), port);
  EXPECT_EQ(freePort(0, 0), 0);
}

}  // namespace
}  // namespace troupe::supervisors
