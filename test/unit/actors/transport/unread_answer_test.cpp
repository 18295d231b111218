// Clients of one owner that read large answers over many connections at once.
#include "actors/transport/connection.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/transport/fake_transport.hpp"

namespace troupe::transport {
namespace {

using bson::operator""_json;

class ParallelReadersTest : public ::testing::Test {
 protected:
  static constexpr int kDocuments = 1000, kBytes = 4000;  // four megabytes

  ParallelReadersTest() {
    server.parameters.partialMessageMemoryMB = 8;
    std::vector<bson::Document> documents;
    for (int i = 0; i < kDocuments; ++i) documents.push_back(bson::doc("_id", i, "x", std::string(kBytes, 'x')));
    EXPECT_TRUE(server.run(bson::doc("insert", "c", "documents", documents))["ok"].truthy());
  }
  /// A client that asks for everything, and whose machine takes nothing of the answer yet.
  std::shared_ptr<FakeTransport> reader() {
    auto transport = std::make_shared<FakeTransport>();
    server.node.spawn<Connection>("/conn" + std::to_string(++connections), transport, server.connect(), *server.server);
    server.node.run();
    transport->accepts = transport->takes = 0;
    transport->arrive(wire::buildRequest(7, "test", R"({"find": "c", "batchSize": 1000})"_json));
    server.node.run();
    return transport;
  }
  /// The first batch once it is read.
  bson::Document firstBatchOf(FakeTransport& transport) {
    transport.take(SIZE_MAX);
    server.node.run();
    const auto frames = transport.sent();
    if (frames.size() != 1) return {};
    const auto body = wire::parseReply(frames[0], 7);
    return body.isOK() ? bson::Document(*body) : bson::Document();
  }
  commands::CommandNode server;
  int connections = 0;
};

TEST_F(ParallelReadersTest, GetSmallerBatchesInsteadOfLosingTheirConnections) {
  std::vector<std::shared_ptr<FakeTransport>> readers;
  for (int i = 0; i < 10; ++i) readers.push_back(reader());
  EXPECT_LE(server.server->messages.bytes(), 8 << 20);
  size_t first = 0, last = 0;
  for (const auto& transport : readers) {
    EXPECT_FALSE(transport->closed());
    const bson::Document reply = firstBatchOf(*transport);
    last = reply.view().at("cursor.firstBatch").asArray().count();
    if (transport == readers.front()) first = last;
    EXPECT_GT(last, 0u);
  }
  EXPECT_GT(first, 500u);
  EXPECT_LT(last, 10u);
  EXPECT_EQ(server.server->gate.refusals(server::ConnectionRefusal::kUnread), 0);
  EXPECT_EQ(server.server->messages.refusals(), 0);
  EXPECT_EQ(server.server->messages.bytes(), 0) << "all were read";
  EXPECT_EQ(firstBatchOf(*reader()).view().at("cursor.firstBatch").asArray().count(), static_cast<size_t>(kDocuments));
}

/// Its memory is counted under a digest, which no line of the log can hold.
TEST_F(ParallelReadersTest, TheLogNamesTheUserWhoseMessageFindsNoMemory) {
  auto client = server.connect();
  client->users.push_back({.name = "ann", .database = "admin"});
  client->usersChanged();
  auto transport = std::make_shared<FakeTransport>();
  server.node.spawn<Connection>("/conn" + std::to_string(++connections), transport, std::move(client), *server.server);
  server.node.run();
  std::string message(16, '\0');
  wire::writeHeader(message.data(), {32 << 20, 1, 0, wire::OpCode::kMsg});
  message.resize(size_t{16} << 20);
  transport->arrive(message);
  server.node.run();
  EXPECT_TRUE(transport->closed());
  std::string closing, all;
  for (const std::string& line : server.server->log.recentLines())
    if (all += line + "\n"; line.find("20001") != std::string::npos) closing = line;
  EXPECT_NE(closing.find("ann@admin"), std::string::npos) << all;
  EXPECT_EQ(closing.find("$notUtf8"), std::string::npos) << closing;
}

}  // namespace
}  // namespace troupe::transport
