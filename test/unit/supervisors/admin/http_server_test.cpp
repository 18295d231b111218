#include "supervisors/admin/http_server.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "messaging/schemas/testing.capnp.h"

namespace troupe::supervisors {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

struct Idle final : Actor {
  Behaviour behaviour() override { return {}; }
};

/// A client that says exactly what it is told to.
class Client {
 public:
  explicit Client(uint16_t port) { socket_.connect(tcp::endpoint(boost::asio::ip::address_v4::loopback(), port)); }
  void send(const std::string& bytes) {
    boost::system::error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  void get(const std::string& path, const std::string& more = "") {
    send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n");
  }
  /// Up to and with `end`; what there was before if the connection closes.
  std::string readUntil(const std::string& end) {
    boost::system::error_code error;
    const size_t size = boost::asio::read_until(socket_, boost::asio::dynamic_buffer(buffer_), end, error);
    const std::string out = buffer_.substr(0, error ? buffer_.size() : size);
    buffer_.erase(0, out.size());
    return out;
  }
  /// Head and body of one response.
  std::string response() {
    std::string head = readUntil("\r\n\r\n");
    const auto at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    const size_t size = std::stoul(head.substr(at + 16));
    boost::system::error_code error;
    if (buffer_.size() < size)
      boost::asio::read(socket_, boost::asio::dynamic_buffer(buffer_),
                        boost::asio::transfer_exactly(size - buffer_.size()), error);
    head += buffer_.substr(0, size);
    buffer_.erase(0, std::min(size, buffer_.size()));
    return head;
  }
  /// Waits for the end of the connection; everything that came before it.
  std::string readToEnd() { return readUntil(std::string(1, '\0')); }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_{io_};
  std::string buffer_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  Node node{{.name = "n1", .threads = 2}};
  std::unique_ptr<HttpServer> server;

  uint16_t start(HttpServerOptions options = {}, std::shared_ptr<Access> access = std::make_shared<OpenAccess>()) {
    auto api = std::make_shared<AdminApi>(node, AdminSources{.metrics = [] { return "m 1\n"; }}, access, true);
    server = std::make_unique<HttpServer>(api, options);
    return server->port();
  }
  void TearDown() override {
    server.reset();
    node.shutdown();
  }
  int64_t figure(const char* name) { return server->describe()[name].toInt64(); }
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  Client client(start());
  for (int i = 0; i < 3; ++i) {
    client.get("/healthz");
    const std::string response = client.response();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
    EXPECT_NE(response.find("{\"status\":\"alive\"}"), std::string::npos);
  }
  EXPECT_EQ(figure("accepted"), 1);
  EXPECT_EQ(figure("requests"), 3);
}

TEST_F(HttpServerTest, AnswersRequestsThatWereSentAtOnce) {
  Client client(start());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(client.response().find("alive"), std::string::npos);
  EXPECT_NE(client.response().find("m 1\n"), std::string::npos);
}

TEST_F(HttpServerTest, ClosesWhenAskedTo) {
  Client client(start());
  client.get("/healthz", "Connection: close\r\n");
  EXPECT_NE(client.readToEnd().find("alive"), std::string::npos);
}

TEST_F(HttpServerTest, AnswersHeadWithoutBody) {
  Client client(start());
  client.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string all = client.readToEnd();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
}

TEST_F(HttpServerTest, ForbidsForeignScriptsAndFrames) {
  Client client(start());
  client.get("/");
  const std::string response = client.response();
  EXPECT_NE(response.find("Content-Security-Policy: default-src 'none'; script-src 'self'"), std::string::npos);
  EXPECT_NE(response.find("X-Content-Type-Options: nosniff"), std::string::npos);
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  Client client(start());
  client.send("\x16\x03\x01 what is this?\r\n\r\n");
  EXPECT_TRUE(client.readToEnd().starts_with("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, RefusesMalformedAddresses) {
  Client client(start());
  client.get("/%zz");
  EXPECT_TRUE(client.response().starts_with("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, BoundsHeadersAndBodies) {
  const uint16_t port = start({.maxHeaderBytes = 1024, .maxBodyBytes = 100});
  Client wordy(port);
  wordy.get("/healthz", "X-Long: " + std::string(2000, 'x') + "\r\n");
  EXPECT_TRUE(wordy.readToEnd().starts_with("HTTP/1.1 431 "));
  Client heavy(port);
  heavy.send("POST /actors/a/restart HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_TRUE(heavy.readToEnd().starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, ClosesOnClientsThatDoNotFinishTheirRequest) {
  Client client(start({.requestTime = 50ms}));
  client.send("GET /healthz HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(client.readToEnd(), "");
}

TEST_F(HttpServerTest, BoundsWhatAChunksSizeLineTakes) {
  Client client(start());
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
              std::string(100'000, 'a'));
  EXPECT_TRUE(client.readToEnd().starts_with("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, ClosesConnectionsThatAskForNothing) {
  Client client(start({.firstByteTime = 50ms}));
  EXPECT_EQ(client.readToEnd(), "");
}

TEST_F(HttpServerTest, ClosesIdleConnections) {
  Client client(start({.idleTime = 50ms}));
  client.get("/healthz");
  client.response();
  EXPECT_EQ(client.readToEnd(), "");
}

TEST_F(HttpServerTest, TellsWhoFindsNoRoom) {
  const uint16_t port = start({.maxConnections = 1});
  Client first(port);
  first.get("/events");
  first.readUntil("\"}\n\n");
  Client second(port);
  EXPECT_TRUE(second.readToEnd().starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(figure("refused"), 1);
}

TEST_F(HttpServerTest, ANewConnectionTakesThePlaceOfOneThatAwaitsARequest) {
  const uint16_t port = start({.maxConnections = 2});
  Client busy(port), silent(port);
  busy.get("/events");
  busy.readUntil("\"}\n\n");
  while (figure("accepted") < 2) std::this_thread::yield();
  Client late(port);
  late.get("/healthz");
  EXPECT_TRUE(late.response().starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(silent.readToEnd(), "");
  EXPECT_EQ(figure("open"), 2);
  EXPECT_EQ(figure("refused"), 1);
}

TEST_F(HttpServerTest, StreamsWhatHappensToActors) {
  Client client(start());
  client.get("/events");
  const std::string hello = client.readUntil("\"}\n\n");
  EXPECT_NE(hello.find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_NE(hello.find("event: hello"), std::string::npos);
  node.spawn<Idle>("/new");
  const std::string event = client.readUntil("\n\n");
  EXPECT_NE(event.find("event: started\ndata: {\"path\":\"/new\""), std::string::npos) << event;
  EXPECT_EQ(figure("eventStreams"), 1);
}

/// A client whose rights change.
struct ChangingAccess final : Access {
  std::atomic<bool> mayLook = true, isReadable = true;
  std::atomic<int64_t> changes = 1;
  Duration lasts = 1h;
  TimePoint begun{};
  Task<Identity> identify(HttpRequest) override {
    Identity who = again({});
    who.logIn = {.user = "ann", .ends = begun + lasts};
    co_return who;
  }
  Identity again(const LogIn& logIn) override {
    if (logIn.user == "ann") isAskedByLogIn = true;
    Identity who{.outcome = isReadable ? Identity::Outcome::kKnown : Identity::Outcome::kUnreadable};
    if (mayLook)
      who.privileges.add({.kind = auth::ResourcePattern::Kind::kCluster}, auth::actions({auth::Action::kViewActors}));
    return who;
  }
  int64_t version() const override { return changes; }
  std::atomic<bool> isAskedByLogIn = false;
};

TEST_F(HttpServerTest, EndsAStreamWhenItsUserMayNotSeeTheEventsAnyMore) {
  const auto access = std::make_shared<ChangingAccess>();
  access->begun = node.environment().now();
  Client client(start({.heartbeat = 20ms}, access));
  client.get("/events");
  client.readUntil("\"}\n\n");
  ++access->changes;
  node.spawn<Idle>("/new");
  EXPECT_NE(client.readUntil("/new").find("/new"), std::string::npos) << "others have lost rights";
  access->isReadable = false;
  ++access->changes;
  node.spawn<Idle>("/late");
  client.readUntil(": quiet\n\n");
  access->isReadable = true;
  EXPECT_NE(client.readUntil("/late").find("/late"), std::string::npos) << "it is known again that the user may";
  access->mayLook = false;
  ++access->changes;
  node.spawn<Idle>("/hidden");
  EXPECT_EQ(client.readUntil("/hidden").find("/hidden"), std::string::npos);
  EXPECT_TRUE(access->isAskedByLogIn) << "by the log-in, not by the headers of the request";
}

TEST_F(HttpServerTest, EndsAStreamWithTheSessionOfItsUser) {
  const auto access = std::make_shared<ChangingAccess>();
  access->begun = node.environment().now();
  access->lasts = 300ms;
  Client client(start({.heartbeat = 20ms}, access));
  client.get("/events");
  client.readUntil("\"}\n\n");
  const std::string rest = client.readToEnd();
  EXPECT_TRUE(rest.ends_with(": quiet\n\n")) << rest;
  EXPECT_EQ(figure("eventStreams"), 0);
}

TEST_F(HttpServerTest, KeepsAQuietStreamAlive) {
  Client client(start({.heartbeat = 20ms}));
  client.get("/events");
  client.readUntil("\"}\n\n");
  EXPECT_EQ(client.readUntil("\n\n"), ": quiet\n\n");
  EXPECT_EQ(client.readUntil("\n\n"), ": quiet\n\n");
}

TEST_F(HttpServerTest, BoundsEventStreams) {
  const uint16_t port = start({.maxEventStreams = 1});
  Client first(port);
  first.get("/events");
  first.readUntil("\"}\n\n");
  Client second(port);
  second.get("/events");
  EXPECT_TRUE(second.response().starts_with("HTTP/1.1 503 "));
}

TEST_F(HttpServerTest, StopsStreamsAndIdleConnectionsAndFreesThePort) {
  const uint16_t port = start();
  Client idle(port), stream(port);
  idle.get("/healthz");
  idle.response();
  stream.get("/events");
  stream.readUntil("\"}\n\n");
  server->stop();
  EXPECT_EQ(idle.readToEnd(), "");
  EXPECT_EQ(stream.readToEnd(), "");
  EXPECT_EQ(start({.port = port}), port) << "the next life takes the same port at once";
}

TEST_F(HttpServerTest, SaysWhatIsWrongWithItsAddress) {
  const uint16_t port = start();
  auto api = std::make_shared<AdminApi>(node, AdminSources{}, std::make_shared<OpenAccess>(), true);
  EXPECT_THROW(HttpServer(api, {.port = port}), std::runtime_error);
  EXPECT_THROW(HttpServer(api, {.address = "no address"}), std::runtime_error);
}

TEST_F(HttpServerTest, OneAddressGetsSoManyConnections) {
  const std::atomic<int64_t> most{2};
  const uint16_t port = start({.maxConnectionsPerAddress = &most});
  auto first = std::make_unique<Client>(port);
  Client second(port);
  for (Client* client : {first.get(), &second}) {
    client->get("/healthz");
    EXPECT_TRUE(client->response().starts_with("HTTP/1.1 200 "));
  }
  Client third(port);
  EXPECT_NE(third.readToEnd().find("too many connections from this address"), std::string::npos);
  EXPECT_EQ(figure("refused"), 1);
  first.reset();
  while (figure("open") > 1) std::this_thread::yield();
  Client fourth(port);
  fourth.get("/healthz");
  EXPECT_TRUE(fourth.response().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, SilentConnectionsOfAnAddressKeepNoneOfItsOthersOut) {
  const std::atomic<int64_t> most{2};
  const uint16_t port = start({.maxConnectionsPerAddress = &most});
  Client first(port), second(port);
  while (figure("accepted") < 2) std::this_thread::yield();
  Client third(port);
  third.get("/healthz");
  const std::string response = third.response();
  EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
  EXPECT_EQ(first.readToEnd(), "") << "the oldest";
  EXPECT_EQ(figure("open"), 2);
}

TEST_F(HttpServerTest, OneAddressGetsSoManyRequestsASecond) {
  const std::atomic<int64_t> rate{1};
  std::atomic<int> heard{0};
  Client client(start({.requestsPerSecondPerAddress = &rate, .onRefused = [&](const std::string&, auto) { ++heard; }}));
  std::string last;
  int served = 0;
  for (int i = 0; i < 10; ++i) {
    client.get("/healthz");
    last = client.response();
    served += last.starts_with("HTTP/1.1 200 ");
  }
  EXPECT_GE(served, 4) << "four seconds' worth may come at once";
  EXPECT_LT(served, 8);
  EXPECT_TRUE(last.starts_with("HTTP/1.1 429 ")) << last;
  EXPECT_NE(last.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(heard, 10 - served);
}

}  // namespace
}  // namespace troupe::supervisors
