#include "actors/transport/connection.hpp"

#include "actors/transport/links.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/transport/fake_transport.hpp"

namespace troupe::transport {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::holds;

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    server.node.spawn<Connection>("/conn", transport, server.connect(), *server.server);
    server.node.run();
  }
  void arrive(std::string_view bytes) {
    transport->arrive(bytes);
    server.node.run();
  }
  static std::string ping(int32_t id) { return wire::buildRequest(id, "admin", R"({"ping": 1})"_json); }
  static bson::Document body(const std::string& frame, int32_t answers) {
    const auto parsed = wire::parseReply(frame, answers);
    return parsed.isOK() ? bson::Document(*parsed) : bson::doc("unreadable", parsed.status().reason());
  }
  bool stands() const { return server.clients.current() == 2; }  // the node's own client is the other

  commands::CommandNode server;
  std::shared_ptr<FakeTransport> transport = std::make_shared<FakeTransport>();
};

TEST_F(ConnectionTest, AnswersRequestsInTheirOrder) {
  arrive(ping(7) + ping(8));
  const auto frames = transport->sent();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(holds(body(frames[0], 7), R"({"ok": 1})"_json));
  EXPECT_TRUE(holds(body(frames[1], 8), R"({"ok": 1})"_json));
}

TEST_F(ConnectionTest, TakesAFrameInAnyNumberOfPieces) {
  for (const char byte : ping(7)) arrive(std::string(1, byte));
  EXPECT_EQ(transport->sent().size(), 1u);
}

/// Stands where the node's links are.
class LinkTaker final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<link::IncomingConnection>([this](const link::IncomingConnection& connection) {
      bytes.push_back(connection.bytes);
      kept_.push_back(connection.transport);
    })};
  }
  std::vector<std::string> bytes;

 private:
  std::vector<std::shared_ptr<Transport>> kept_;
};

TEST_F(ConnectionTest, HandsOverALinkOfAnotherNodeWithWhatItHasRead) {
  auto taker = std::make_unique<LinkTaker>();
  const LinkTaker& seen = *taker;
  server.node.spawn(link::kLinksPath, std::move(taker), {});
  arrive("TROUPE");
  EXPECT_TRUE(seen.bytes.empty());
  arrive("LK and a hello");
  EXPECT_EQ(seen.bytes, std::vector<std::string>{"TROUPELK and a hello"});
  EXPECT_FALSE(transport->closed());
  EXPECT_FALSE(stands());  // it is no client's any more
}

TEST_F(ConnectionTest, ADriverCannotTurnIntoALink) {
  arrive(ping(7));
  arrive("TROUPELK and a hello");
  EXPECT_TRUE(transport->closed());
}

TEST_F(ConnectionTest, AnswersMalformedDocumentsAndGoesOn) {
  std::string bad = ping(7);
  bad[25] = '\x55';  // no such type: behind the header, the flags, the section's kind and the document's length
  arrive(bad);
  arrive(ping(8));
  const auto frames = transport->sent();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(holds(body(frames[0], 7), R"({"ok": 0})"_json));
  EXPECT_TRUE(holds(body(frames[1], 8), R"({"ok": 1})"_json));
}

TEST_F(ConnectionTest, ClosesWhenAFrameLiesAboutItsLength) {
  arrive(std::string("\x05\0\0\0garbage that is no message", 31));
  EXPECT_TRUE(transport->closed());
  EXPECT_FALSE(stands());
  EXPECT_TRUE(transport->sent().empty());
}

TEST_F(ConnectionTest, ClosesWhenAFrameIsTooLong) {
  arrive(std::string("\xff\xff\xff\x7f", 4) + std::string(12, '\0'));
  EXPECT_TRUE(transport->closed());
}

TEST_F(ConnectionTest, SendsNoAnswerToAClientThatWantsNone) {
  arrive(wire::buildRequest(7, "test", R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 0}})"_json,
                            {}, wire::kMoreToCome));
  EXPECT_TRUE(transport->sent().empty());
  EXPECT_TRUE(holds(server.run(R"({"count": "c"})"_json), R"({"n": 1})"_json));
  EXPECT_TRUE(stands());
}

TEST_F(ConnectionTest, WaitsForAClientThatReadsSlowly) {
  transport->accepts = 10;
  arrive(ping(7) + ping(8));
  EXPECT_EQ(transport->sent().size(), 2u);
}

/// A client that does not read its answer at once.
class UnreadAnswer : public ConnectionTest {
 protected:
  UnreadAnswer() {
    server.parameters.stalledMessageTimeoutMillis = 10'000;
    transport->accepts = transport->takes = 0;
    EXPECT_TRUE(holds(server.run(bson::doc("insert", "c", "documents",
                                           std::vector<bson::Document>{bson::doc("x", std::string(100'000, 'x'))})),
                      R"({"ok": 1})"_json));
    arrive(wire::buildRequest(7, "test", R"({"find": "c"})"_json));
  }
  int64_t unread() const { return server.server->gate.refusals(server::ConnectionRefusal::kUnread); }
};

TEST_F(UnreadAnswer, IsNotKeptForEver) {
  server.node.advance(9s);
  EXPECT_TRUE(stands());
  server.node.advance(2s);
  EXPECT_FALSE(stands());
  EXPECT_EQ(unread(), 1);
}

TEST_F(UnreadAnswer, IsKeptWhileItGoesOnSlowly) {
  for (int i = 0; i < 11; ++i) {
    server.node.advance(9s);
    transport->take(10'000);
  }
  server.node.run();
  EXPECT_EQ(transport->sent().size(), 1u);
  EXPECT_TRUE(stands());
}

TEST_F(UnreadAnswer, EndsSoonWhenItsConnectionIsToClose) {
  server.node.requestStop(server.node.address("/conn"));
  server.node.advance(500ms);
  EXPECT_TRUE(stands());
  server.node.advance(1500ms);
  EXPECT_FALSE(stands());
}

TEST_F(UnreadAnswer, IsSentToItsEndByAStopIfItGoesOn) {
  server.node.requestStop(server.node.address("/conn"));
  server.node.advance(500ms);
  transport->take(200'000);
  server.node.run();
  EXPECT_EQ(transport->sent().size(), 1u);
  EXPECT_FALSE(stands());
}

TEST_F(ConnectionTest, AMessageThatHasBegunHasToGoOn) {
  server.parameters.stalledMessageTimeoutMillis = 10'000;
  arrive(ping(7));
  const auto message = wire::buildRequest(8, "admin", bson::doc("ping", 1, "text", std::string(50'000, 'x')));
  const auto until = [&] {
    auto soonest = server::Client::kNotAwaited;
    server.clients.each([&](server::Client& client) { soonest = std::min(soonest, client.awaitedUntil.load()); });
    return soonest;
  };
  EXPECT_EQ(until(), server::Client::kNotAwaited);
  arrive(message.substr(0, 100));
  const auto first = until();
  EXPECT_EQ(first, server.time->now() + 10s);
  server.node.advance(5s);
  arrive(message.substr(100, 5'000));
  EXPECT_EQ(until(), first) << "less than a kilobyte a second";
  arrive(message.substr(5'100, 10'000));
  EXPECT_EQ(until(), server.time->now() + 10s);
  arrive(message.substr(15'100));
  EXPECT_EQ(until(), server::Client::kNotAwaited);
  EXPECT_EQ(transport->sent().size(), 2u);
}

TEST_F(ConnectionTest, EndsWhenTheClientHangsUp) {
  EXPECT_TRUE(stands());
  transport->hangUp();
  server.node.run();
  EXPECT_FALSE(stands());
}

TEST_F(ConnectionTest, AClientThatIsGoneEndsAfterItsRequest) {
  LockHolder other(server.locks, "test.c", storage::LockMode::kX);
  arrive(wire::buildRequest(7, "test", R"({"insert": "c", "documents": [{"_id": 1}]})"_json));
  transport->hangUp();
  server.node.advance(1s);
  EXPECT_TRUE(stands());
  other.release();
  server.node.run();
  EXPECT_FALSE(stands());
  EXPECT_TRUE(holds(server.run(R"({"count": "c"})"_json), R"({"n": 1})"_json));
}

TEST_F(ConnectionTest, ARequestThatAFailPointHoldsEndsWithItsClient) {
  ASSERT_TRUE(server
                  .run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn",
                             "data": {"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 3600000}})"_json,
                       "admin")["ok"]
                  .truthy());
  arrive(ping(7));
  server.node.advance(10s);
  EXPECT_TRUE(stands());
  transport->hangUp();
  server.node.advance(1s);
  EXPECT_FALSE(stands());
}

TEST_F(ConnectionTest, ALongRequestEndsWithItsClient) {
  ASSERT_TRUE(server.run(R"({"insert": "c", "documents": [{"_id": 1, "x": 1}]})"_json)["ok"].truthy());
  for (const auto& command :
       {R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"_json, R"({"validate": "c"})"_json}) {
    LockHolder other(server.locks, "test.c", storage::LockMode::kX);
    transport = std::make_shared<FakeTransport>();
    server.node.spawn<Connection>("/long", transport, server.connect(), *server.server);
    arrive(wire::buildRequest(7, "test", command));
    server.node.advance(1s);
    const auto waiting = [&] { return server.locks.inspect().back().pending.size(); };
    EXPECT_EQ(waiting(), 1u) << bson::toRelaxedJson(command);
    transport->hangUp();
    server.node.advance(1s);
    EXPECT_EQ(waiting(), 0u) << bson::toRelaxedJson(command);
    EXPECT_TRUE(stands()) << "its connection has ended, too";
    other.release();
    server.node.advance(1s);
  }
  EXPECT_EQ(server.catalog->find({"test", "c"})->findIndex("x"), nullptr);
}

TEST_F(ConnectionTest, AFailPointClosesItWithoutAnAnswer) {
  ASSERT_TRUE(server
                  .run(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                             "data": {"failCommands": ["ping"], "closeConnection": true}})"_json,
                       "admin")["ok"]
                  .truthy());
  arrive(ping(7));
  EXPECT_TRUE(transport->sent().empty());
  EXPECT_TRUE(transport->closed());
}

TEST_F(ConnectionTest, AStreamOfHellosAnswersEachChange) {
  const auto version = bson::doc("processId", server.hello.processId(), "counter", int64_t{0});
  arrive(wire::buildRequest(7, "admin", bson::doc("hello", 1, "maxAwaitTimeMS", 10'000, "topologyVersion", version), {},
                            wire::kExhaustAllowed));
  EXPECT_TRUE(transport->sent().empty());
  int32_t inReplyTo = 7;
  for (int64_t counter = 1; counter <= 3; ++counter) {
    server.hello.bump();
    server.node.run();
    const auto frames = transport->sent();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(body(frames[0], inReplyTo).view().at("topologyVersion.counter").toInt64(), counter);
    inReplyTo = bson::load<int32_t>(frames[0].data() + 4);
  }
}

/// One message, before any log-in, would else keep the server answering without a pause.
TEST_F(ConnectionTest, AStreamOfHellosPausesWhateverItAsksFor) {
  const auto version = bson::doc("processId", server.hello.processId(), "counter", server.hello.counter());
  const auto other = std::make_shared<FakeTransport>();
  server.node.spawn<Connection>("/other", other, server.connect(), *server.server);
  const auto stream = [&](FakeTransport& to, int64_t millis) {
    to.arrive(wire::buildRequest(7, "admin",
                                 bson::doc("hello", 1, "maxAwaitTimeMS", millis, "topologyVersion", version), {},
                                 wire::kExhaustAllowed));
  };
  stream(*transport, 1);
  server.node.advance(1s);
  ASSERT_LE(transport->sent().size(), 10u) << "or the next one would go on for ever within one turn";
  stream(*other, 0);
  server.node.advance(1s);
  for (const auto& connection : {transport, other}) {
    const size_t answers = connection->sent().size();
    EXPECT_TRUE(answers >= 5 && answers <= 10) << answers << " in a second";
  }
  server.hello.bump();
  server.node.run();
  EXPECT_EQ(other->sent().size(), 1u) << "a change is told at once";
}

TEST_F(ConnectionTest, AStreamOfGetMoresAnswersEachBatchOfACursor) {
  bson::Builder insert;
  insert.append("insert", "c").openArray("documents");
  for (int i = 0; i < 7; ++i) insert.push(bson::doc("_id", i));
  insert.close();
  ASSERT_TRUE(server.run(insert.finish())["ok"].truthy());
  const auto id = server.run(R"({"find": "c", "batchSize": 2})"_json).view().at("cursor.id").toInt64();
  arrive(wire::buildRequest(7, "test", bson::doc("getMore", id, "collection", "c", "batchSize", 2), {},
                            wire::kExhaustAllowed));
  const auto frames = transport->sent();
  ASSERT_EQ(frames.size(), 3u);
  int32_t inReplyTo = 7;
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool isLast = i + 1 == frames.size();
    const auto reply = body(frames[i], inReplyTo);
    EXPECT_EQ(reply.view().at("cursor.nextBatch").asArray().count(), isLast ? 1 : 2) << bson::toRelaxedJson(reply);
    EXPECT_EQ(bson::load<uint32_t>(frames[i].data() + 16) & wire::kMoreToCome, isLast ? 0u : wire::kMoreToCome);
    inReplyTo = bson::load<int32_t>(frames[i].data() + 4);
  }
}

TEST_F(ConnectionTest, AStreamOfGetMoresThatFindNothingEndsUnlessTheyWait) {
  ASSERT_TRUE(server.run(R"({"create": "c", "capped": true, "size": 4096})"_json)["ok"].truthy());
  ASSERT_TRUE(server.run(R"({"insert": "c", "documents": [{"_id": 1}]})"_json)["ok"].truthy());
  const auto id = server.run(R"({"find": "c", "tailable": true})"_json).view().at("cursor.id").toInt64();
  arrive(wire::buildRequest(7, "test", bson::doc("getMore", id, "collection", "c"), {}, wire::kExhaustAllowed));
  const auto frames = transport->sent();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(bson::load<uint32_t>(frames[0].data() + 16) & wire::kMoreToCome, 0u);
}

/// A hello that waits for the topology to change.
class AwaitingConnection : public ConnectionTest {
 protected:
  void await(int64_t millis) {
    const auto version = bson::doc("processId", server.hello.processId(), "counter", server.hello.counter());
    arrive(wire::buildRequest(7, "admin", bson::doc("hello", 1, "maxAwaitTimeMS", millis, "topologyVersion", version)));
    EXPECT_TRUE(transport->sent().empty());
  }
};

TEST_F(AwaitingConnection, EndsWithItsClient) {
  await(3'600'000);
  transport->hangUp();
  server.node.advance(3s);
  EXPECT_FALSE(stands());
}

TEST_F(ConnectionTest, AWholeMessageIsAccountedForByItsOperation) {
  const auto version = bson::doc("processId", server.hello.processId(), "counter", server.hello.counter());
  const std::string message =
      wire::buildRequest(7, "admin",
                         bson::doc("hello", 1, "maxAwaitTimeMS", int64_t{3'600'000}, "topologyVersion", version,
                                   "comment", std::string(3'000'000, 'x')));
  const auto& governor = *server.server->operations.memory;
  arrive(std::string_view(message).substr(0, 2'900'000));
  EXPECT_GT(server.server->messages.bytes(), 2'900'000);
  EXPECT_EQ(governor.reserved(), 0);
  arrive(std::string_view(message).substr(2'900'000));
  EXPECT_EQ(server.server->messages.bytes(), 0) << "its owner may send further ones while this one runs";
  EXPECT_GE(governor.reserved(), 3'000'000);
  transport->hangUp();
  server.node.advance(3s);
  EXPECT_EQ(governor.reserved(), 0);
}

TEST_F(AwaitingConnection, IsAnsweredAfterTenMinutesWhateverItAsksFor) {
  await(std::numeric_limits<int64_t>::max());
  server.node.advance(599s);
  EXPECT_TRUE(transport->sent().empty());
  server.node.advance(2s);
  EXPECT_EQ(transport->sent().size(), 1u);
}

TEST_F(AwaitingConnection, EndsWhenItIsKilled) {
  await(3'600'000);
  server.clients.each([](server::Client& client) {
    client.withOperation([](storage::OperationContext& operation) { operation.kill(ErrorCode::kHostUnreachable); });
  });
  server.node.run();
  EXPECT_EQ(transport->sent().size(), 1u);
}

TEST_F(ConnectionTest, LegacyClientsAreGreetedInTheirOwnWay) {
  arrive(wire::buildOpQuery(7, "admin", R"({"isMaster": 1, "helloOk": true})"_json));
  const auto frames = transport->sent();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_TRUE(holds(body(frames[0], 7), R"({"ok": 1, "helloOk": true, "ismaster": true})"_json));
}

TEST_F(ConnectionTest, StopsWhenAsked) {
  server.node.requestStop(server.node.address("/conn"));
  server.node.run();
  EXPECT_FALSE(stands());
}

/// With access control, and a client that has yet to authenticate.
class UnknownClientTest : public ::testing::Test {
 protected:
  UnknownClientTest() {
    server.parameters.preAuthMaximumMessageSizeBytes = 100'000;
    server.parameters.preAuthMessageMemoryMB = 1;
  }
  std::shared_ptr<FakeTransport> connect(server::ConnectionGate::Place place = {}) {
    auto transport = std::make_shared<FakeTransport>();
    auto client = server.connect();
    client->mustLink = place.isForLink();
    server.node.spawn<Connection>("/conn" + std::to_string(++connections), transport, std::move(client), *server.server,
                                  std::move(place));
    server.node.run();
    return transport;
  }
  void arrive(FakeTransport& transport, std::string_view bytes) {
    transport.arrive(bytes);
    server.node.run();
  }
  /// A message of that size, of which the header says so.
  static std::string messageOf(size_t size) {
    std::string frame = wire::buildRequest(1, "admin", bson::doc("ping", 1, "text", std::string(size, 'x')));
    frame.resize(size);
    wire::writeHeader(frame.data(), {static_cast<int32_t>(size), 1, 0, wire::OpCode::kMsg});
    return frame;
  }
  commands::CommandNode server{{.authentication = true}};
  int connections = 0;
};

TEST_F(UnknownClientTest, MaySendSmallMessagesOnly) {
  auto small = connect();
  arrive(*small, wire::buildRequest(7, "admin", R"({"ping": 1})"_json));
  EXPECT_EQ(small->sent().size(), 1u);
  EXPECT_FALSE(small->closed());
  arrive(*small, messageOf(100'001).substr(0, 16));
  EXPECT_TRUE(small->closed()) << "as soon as the size is known";
}

TEST_F(UnknownClientTest, MayUnpackSmallMessagesOnly) {
  auto transport = connect();
  const auto packed = wire::compress(messageOf(200'000), wire::Compressor::kZstd);
  ASSERT_TRUE(packed.isOK());
  ASSERT_LT(packed->size(), 10'000u);
  arrive(*transport, *packed);
  EXPECT_TRUE(transport->closed());
}

TEST_F(UnknownClientTest, SharesTheMemoryOfIncompleteMessagesWithAllOfItsKind) {
  std::vector<std::shared_ptr<FakeTransport>> waiting;
  int closed = 0;
  for (int i = 0; i < 30; ++i) {
    waiting.push_back(connect());
    arrive(*waiting.back(), messageOf(100'000).substr(0, 90'000));
    closed += waiting.back()->closed();
  }
  EXPECT_GT(closed, 10);
  EXPECT_LT(closed, 30);
  EXPECT_LE(server.server->messages.unknownBytes(), 1 << 20);
  EXPECT_EQ(server.server->messages.refusals(), closed);
  for (const auto& transport : waiting) transport->hangUp();
  server.node.run();
  EXPECT_EQ(server.server->messages.bytes(), 0);
}

TEST_F(UnknownClientTest, LeavesNoSessionBehind) {
  auto transport = connect();
  const auto lsid = bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, 'a')});
  arrive(*transport, wire::buildRequest(7, "admin", bson::doc("ping", 1, "lsid", lsid)));
  EXPECT_EQ(transport->sent().size(), 1u);
  arrive(*transport, wire::buildRequest(8, "admin", R"({"startSession": 1})"_json));
  EXPECT_EQ(server.sessions.size(), 0u);
}

TEST_F(UnknownClientTest, IsAwaitedUntilItsMessageIsWhole) {
  auto transport = connect();
  const auto isAwaited = [&] {
    bool awaited = false;
    server.clients.each([&](server::Client& client) {
      awaited = awaited || client.awaitedUntil.load() != server::Client::kNotAwaited;
    });
    return awaited;
  };
  EXPECT_TRUE(isAwaited()) << "for its first message";
  const auto ping = wire::buildRequest(7, "admin", R"({"ping": 1})"_json);
  arrive(*transport, ping);
  EXPECT_FALSE(isAwaited());
  arrive(*transport, ping.substr(0, 20));
  EXPECT_TRUE(isAwaited());
  arrive(*transport, ping.substr(20));
  EXPECT_FALSE(isAwaited());
}

TEST_F(UnknownClientTest, BeyondTheLimitOfConnectionsOnlyLinksAreServed) {
  server::ConnectionGate full(0);
  auto taker = std::make_unique<LinkTaker>();
  const LinkTaker& seen = *taker;
  server.node.spawn(link::kLinksPath, std::move(taker), {});
  auto client = connect(full.enter());
  arrive(*client, wire::buildRequest(7, "admin", R"({"ping": 1})"_json));
  EXPECT_TRUE(client->closed());
  EXPECT_TRUE(client->sent().empty());
  EXPECT_EQ(server.server->gate.refusals(server::ConnectionRefusal::kTooMany), 1);
  auto member = connect(full.enter());
  arrive(*member, "TROUPELK and a hello");
  EXPECT_EQ(seen.bytes.size(), 1u);
  EXPECT_FALSE(member->closed());
}

}  // namespace troupe::transport
