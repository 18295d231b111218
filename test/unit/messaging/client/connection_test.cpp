#include "messaging/client/connection.hpp"

#include <gtest/gtest.h>

#include "test/unit/messaging/client/scripted_server.hpp"

namespace troupe::client {
namespace {

using bson::doc;

TEST(ClientConnection, SaysHelloFirstAndGivesAnswers) {
  ScriptedServer server({doc("ok", 1, "maxWireVersion", 21), doc("n", 3, "ok", 1)});
  {
    auto connection = Connection::open(server.target());
    ASSERT_TRUE(connection.isOK()) << connection.status().toString();
    EXPECT_EQ(connection->hello()["maxWireVersion"].asInt32(), 21);
    const auto reply = connection->run("shop", doc("count", "things"));
    ASSERT_TRUE(reply.isOK());
    EXPECT_EQ((*reply)["n"].asInt32(), 3);
  }
  ASSERT_EQ(server.asked().size(), 2u);
  EXPECT_EQ(server.asked()[0]["hello"].toInt64(), 1);
  EXPECT_EQ(server.asked()[1], doc("count", "things", "$db", "shop"));
}

TEST(ClientConnection, SendsItsReadPreferenceWithEveryCommand) {
  ScriptedServer server({doc("ok", 1), doc("n", 3, "ok", 1)});
  {
    Target target = server.target();
    target.readPreference = "secondary";
    auto connection = Connection::open(target);
    ASSERT_TRUE(connection.isOK()) << connection.status().toString();
    ASSERT_TRUE(connection->run("shop", doc("count", "things")).isOK());
  }
  ASSERT_EQ(server.asked().size(), 2u);
  EXPECT_FALSE(server.asked()[0]["$readPreference"]) << "hello is answered by everyone";
  EXPECT_EQ(server.asked()[1]["$readPreference"].asDocument(), doc("mode", "secondary"));
}

TEST(ClientConnection, TurnsARefusalIntoItsStatusAndGoesOn) {
  ScriptedServer server({doc("ok", 1), doc("ok", 0, "code", 13, "errmsg", "not allowed"), doc("ok", 1)});
  auto connection = Connection::open(server.target());
  ASSERT_TRUE(connection.isOK());
  EXPECT_EQ(connection->run("admin", doc("shutdown", 1)).status(), ErrorCode::kUnauthorized);
  EXPECT_TRUE(connection->run("admin", doc("ping", 1)).isOK());
}

TEST(ClientConnection, IsClosedOnceTheServerHangsUp) {
  ScriptedServer server({doc("ok", 1)});
  auto connection = Connection::open(server.target());
  ASSERT_TRUE(connection.isOK());
  EXPECT_EQ(connection->run("admin", doc("ping", 1)).status(), ErrorCode::kHostUnreachable);
  EXPECT_FALSE(connection->isOpen());
  EXPECT_EQ(connection->run("admin", doc("ping", 1)).status(), ErrorCode::kHostUnreachable);
}

TEST(ClientConnection, NamesTheAddressThatDoesNotAnswer) {
  Target target;
  {
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor closedSoon(io, {boost::asio::ip::address_v4::loopback(), 0});
    target.port = closedSoon.local_endpoint().port();
  }
  const auto refused = Connection::open(target).status();
  EXPECT_EQ(refused, ErrorCode::kHostUnreachable);
  EXPECT_NE(refused.reason().find(target.address()), std::string::npos) << refused.reason();
}

TEST(ClientConnection, GivesUpOnAServerThatIsSilent) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor silent(io, {boost::asio::ip::address_v4::loopback(), 0});
  Target target;
  target.port = silent.local_endpoint().port();
  target.socketTimeoutMs = 20;
  EXPECT_EQ(Connection::open(target).status(), ErrorCode::kNetworkTimeout);
}

}  // namespace
}  // namespace troupe::client
