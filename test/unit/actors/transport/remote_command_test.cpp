// Commands of one node that run on another, over a link, on virtual time.
#include "test/unit/actors/transport/remote_command_fixture.hpp"

namespace troupe::transport {
namespace {

TEST_F(RemoteCommandTest, IsAnsweredAsAClientsWouldBe) {
  ASSERT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1, "x": 7}]})"_json), ErrorCode::kOK);
  const auto reply = run(R"({"find": "c", "filter": {"_id": 1}})"_json);
  ASSERT_TRUE(reply.isOK()) << reply.status().toString();
  EXPECT_EQ(reply->document().at("cursor.firstBatch.0.x").toInt64(), 7);
  EXPECT_EQ(remoteClients(), 0);
}

TEST_F(RemoteCommandTest, FailuresHaveTheirCodes) {
  EXPECT_EQ(code(R"({"insert": "c", "documents": 7})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(code(R"({"noSuchCommand": 1})"_json), ErrorCode::kCommandNotFound);
  EXPECT_EQ(code(bson::doc("ping", 1), {}, ""), ErrorCode::kInvalidNamespace);
  const auto lost = begin(runCommand(a->node, "z:9", "test", bson::doc("ping", 1)));
  EXPECT_EQ((**lost).status().code(), ErrorCode::kHostUnreachable);
  EXPECT_EQ(remoteClients(), 0);
}

TEST_F(RemoteCommandTest, MalformedOnesAreRefused) {
  const auto outcome = ask(*a, Address("b:2", kCommandsPath), build<schema::RunCommand>());
  EXPECT_EQ(codeOf(outcome), ErrorCode::kProtocolError);
  const auto damaged = ask(*a, Address("b:2", kCommandsPath),
                           build<schema::RunCommand>([](schema::RunCommand::Builder) {},
                                                     std::make_shared<const std::string>("\x20\0\0\0short", 9)));
  EXPECT_EQ(codeOf(damaged), ErrorCode::kInvalidBSON);
}

TEST_F(RemoteCommandTest, ItsDeadlineHoldsThereToo) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", blocked(), {.timeout = 300ms}));
  EXPECT_EQ(remoteClients(), 1);
  advance(299ms);
  EXPECT_FALSE(*outcome);
  EXPECT_EQ(remoteClients(), 1);
  advance(1ms);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kMaxTimeMSExpired);
  EXPECT_EQ(remoteClients(), 0) << "it ends by its deadline, without being killed";
}

TEST_F(RemoteCommandTest, OneThatWasKilledDoesNotGoOnAsACursor) {
  const Address cursor = server.node.address("/cursor");
  RemoteRun killed, running;
  killed.kill(ErrorCode::kInterrupted, server.node);
  EXPECT_EQ(killed.continueAs(cursor), ErrorCode::kInterrupted);
  EXPECT_TRUE(running.continueAs(cursor).isOK());
}

class Waiting : public RemoteCommandTest {
 protected:
  Waiting() {
    server.run(R"({"create": "capped", "capped": true, "size": 4096})"_json);
    server.run(R"({"insert": "capped", "documents": [{"_id": 1}]})"_json);
    const auto opened = run(R"({"find": "capped", "tailable": true, "awaitData": true})"_json);
    id = opened->document().at("cursor.id").toInt64();
  }
  /// A command that waits for news for a minute, unless it is killed.
  bson::Document waiting() const { return bson::doc("getMore", id, "collection", "capped", "maxTimeMS", 60'000); }
  void expectEndsOnBothSides(ErrorCode code, const std::function<void(storage::OperationContext&)>& end) {
    storage::OperationContext operation({.sessions = server.storageSessions});
    operation.setDeadline(a->node.environment().now() + 1s);
    CommandOptions options;
    options.operation = &operation;
    const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting(), options));
    EXPECT_EQ(remoteClients(), 1);
    EXPECT_FALSE(*outcome);
    end(operation);
    settle();
    ASSERT_TRUE(*outcome);
    EXPECT_EQ((**outcome).status().code(), code);
    EXPECT_EQ(remoteClients(), 0);
  }
  using Reply = StatusWith<CommandReply>;
  int64_t id = 0;
};

TEST_F(Waiting, GivingItUpKillsItThere) {
  const auto outcome = std::make_shared<std::optional<Reply>>();
  holder()->start(keep(runCommand(a->node, "b:2", "test", waiting()), outcome));
  settle();
  EXPECT_EQ(remoteClients(), 1);
  endHolder();
  EXPECT_EQ(remoteClients(), 0);
  EXPECT_FALSE(*outcome);
}

TEST_F(Waiting, TheEndOfTheLinkKillsItThere) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting()));
  EXPECT_EQ(remoteClients(), 1);
  pipes.at(0)->cut();
  settle();
  EXPECT_EQ(remoteClients(), 0);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kHostUnreachable);
}

TEST_F(Waiting, KillOpEndsItAndItsAskerHearsOfIt) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting()));
  server.clients.each([](server::Client& client) {
    if (client.connectionId < 0)
      client.withOperation([](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterrupted); });
  });
  settle();
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kInterrupted);
}

TEST_F(Waiting, AKillOfTheOperationThatItIsPartOfEndsItOnBothSides) {
  expectEndsOnBothSides(ErrorCode::kInterrupted, [](auto& operation) { operation.kill(ErrorCode::kInterrupted); });
}

TEST_F(Waiting, TheDeadlineOfTheOperationThatItIsPartOfEndsItOnBothSides) {
  expectEndsOnBothSides(ErrorCode::kMaxTimeMSExpired, [this](auto&) { advance(2s); });
}

TEST_F(Waiting, AnOrderlyStopInterruptsItAndWaitsForIt) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting()));
  server.node.requestStop(server.node.address(kCommandsPath));
  settle();
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kInterruptedAtShutdown);
  EXPECT_EQ(remoteClients(), 0);
  EXPECT_FALSE(server.node.postOffice().exists(server.node.address(kCommandsPath)));
}

class Guarded : public RemoteCommandTest {
 protected:
  explicit Guarded(const std::string& key = "secret") : RemoteCommandTest(true, key) {
    const auto made =
        server.run(R"({"createUser": "reader", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})"_json, "admin");
    EXPECT_TRUE(made["ok"].truthy()) << bson::toRelaxedJson(made);
  }
};

TEST_F(Guarded, TheClusterItselfMayDoEverything) {
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}]})"_json), ErrorCode::kOK);
  EXPECT_EQ(code(R"({"usersInfo": 1})"_json, {}, "admin"), ErrorCode::kOK);
}

TEST_F(Guarded, AUserMayDoWhatItsRolesAllowOnTheExecutingNode) {
  const auto reader = ActAs::theUser("reader", "admin");
  EXPECT_EQ(code(R"({"find": "c"})"_json, reader), ErrorCode::kOK);
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}]})"_json, reader), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"find": "c"})"_json, ActAs::theUser("stranger", "admin")), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"find": "c"})"_json, ActAs::nobody()), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"hello": 1})"_json, ActAs::nobody()), ErrorCode::kOK);
  EXPECT_EQ(remoteClients(), 0);
}

class Anyone : public Guarded {
 protected:
  Anyone() : Guarded("") {}
};

TEST_F(Anyone, ANodeThatHasNotProvenTheKeyActsForNobody) {
  EXPECT_EQ(code(R"({"find": "c"})"_json), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"find": "c"})"_json, ActAs::theUser("reader", "admin")), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"hello": 1})"_json, ActAs::nobody()), ErrorCode::kOK);
}

/// Nor has a message that awaits no answer an origin: it is not this node's own for that.
TEST_F(Anyone, AMessageThatAwaitsNoAnswerRunsNothing) {
  const bson::Document command = R"({"insert": "c", "documents": [{"_id": 1}]})"_json;
  const auto fill = [](schema::RunCommand::Builder out) {
    out.setId(1);
    out.setDatabase("test");
    out.setIdentity(schema::RunCommand::Identity::CLUSTER);
  };
  a->node.tell(Address("b:2", kCommandsPath),
               build<schema::RunCommand>(fill, std::make_shared<const std::string>(command.bytes())));
  advance(100ms);
  EXPECT_EQ(remoteClients(), 0);
  EXPECT_FALSE(server.catalog->find({"test", "c"}));
}

}  // namespace
}  // namespace troupe::transport
