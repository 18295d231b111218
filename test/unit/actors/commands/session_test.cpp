#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class SessionTest : public CommandTest {
 protected:
  bson::Document list(std::string_view command, const bson::Document& id) {
    bson::Builder b;
    b.openArray(command).push(id).close();
    return server.run(b.finish());
  }
  bson::Document start() {
    const bson::Document reply = run(R"({"startSession": 1})");
    EXPECT_TRUE(holds(reply, R"({"ok": 1, "timeoutMinutes": 30})"_json));
    return bson::Document(reply["id"].asDocument());
  }
};

TEST_F(SessionTest, BeginAndEnd) {
  const auto id = start();
  EXPECT_EQ(server.sessions.size(), 1u);
  EXPECT_TRUE(list("refreshSessions", id)["ok"].truthy());
  EXPECT_TRUE(list("endSessions", id)["ok"].truthy());
  EXPECT_EQ(server.sessions.size(), 0u);
}

TEST_F(SessionTest, BeginWithTheFirstCommandThatNamesThem) {
  const auto id = start();
  ASSERT_TRUE(list("endSessions", id)["ok"].truthy());
  ASSERT_TRUE(server.run(bson::doc("ping", 1, "lsid", id))["ok"].truthy());
  EXPECT_EQ(server.sessions.size(), 1u);
}

TEST_F(SessionTest, WithMalformedIdsAreRefused) {
  EXPECT_EQ(code(R"({"ping": 1, "lsid": {"id": 5}})"), 14);
  EXPECT_EQ(code(R"({"endSessions": [{"x": 1}]})"), 40414);
  EXPECT_EQ(code(R"({"endSessions": 1})"), 14);
}

/// Whether the command has a transaction number or not.
TEST_F(SessionTest, WithFieldsThatNoClientMayGiveAreRefused) {
  const auto codeWith = [&](std::string_view field) {
    const std::string bytes(16, 'a');
    const bson::Binary uuid{bson::kBinaryUuid, bytes};
    const bson::Document id = bson::doc("id", uuid, field, uuid);
    return std::pair(server.run(bson::doc("ping", 1, "lsid", id))["code"].toInt64(),
                     list("refreshSessions", id)["code"].toInt64());
  };
  EXPECT_EQ(codeWith("color"), std::pair(40415L, 40415L));
  EXPECT_EQ(codeWith("txnUUID"), std::pair(72L, 72L));
  EXPECT_EQ(codeWith("txnNumber"), std::pair(14L, 14L)) << "it is a number";
  EXPECT_EQ(server.sessions.size(), 0u);
}

TEST_F(SessionTest, EndingOneEndsItsCursors) {
  fill("c", 5);
  const auto id = start();
  ASSERT_TRUE(server.run(bson::doc("find", "c", "batchSize", 1, "lsid", id))["ok"].truthy());
  ASSERT_TRUE(succeeds(R"({"find": "c", "batchSize": 1})"));
  EXPECT_EQ(server.cursors.statistics().open, 2);
  ASSERT_TRUE(list("endSessions", id)["ok"].truthy());
  EXPECT_EQ(server.cursors.statistics().open, 1);
}

TEST_F(SessionTest, KillingOneInterruptsItsOperations) {
  const auto id = start();
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                           "data": {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 1000}})",
                       "admin"));
  const auto other = server.connect();
  const auto slow = server.begin(bson::doc("find", "c", "lsid", id), "test", other);
  ASSERT_FALSE(slow->done);
  ASSERT_TRUE(list("killSessions", id)["ok"].truthy());
  EXPECT_TRUE(slow->operation.killed());
  server.node.advance(2s);
  EXPECT_TRUE(slow->done);
}

TEST_F(SessionTest, KillingAllEndsAll) {
  start();
  start();
  EXPECT_TRUE(succeeds(R"({"killAllSessions": []})"));
  EXPECT_EQ(server.sessions.size(), 0u);
}

/// Two users of the same server, and an operator.
class SessionOfUsersTest : public CommandTest {
 protected:
  SessionOfUsersTest() : CommandTest({.authentication = true}) {}
  std::shared_ptr<Client> with(std::string_view name, std::string_view role) {
    AuthenticatedUser user{.name = std::string(name), .database = "admin", .internal = true};
    EXPECT_TRUE(user.privileges.addRole(role, "admin").isOK());
    auto client = server.connect(false);
    client->users.push_back(std::move(user));
    client->usersChanged();
    return client;
  }
  /// Opens a cursor in a new session.
  bson::Document open(const std::shared_ptr<Client>& client) {
    const bson::Document id = bson::doc("id", bson::randomUuid([this] { return server.time->random(); }));
    const auto reply = server.run(bson::doc("find", "c", "batchSize", 1, "lsid", id), "test", client);
    EXPECT_NE(reply.view().at("cursor.id").toInt64(), 0);
    return id;
  }
  void end(std::string_view command, const std::vector<bson::Document>& ids, const std::shared_ptr<Client>& client) {
    bson::Builder b;
    b.append(command, ids);
    EXPECT_TRUE(server.run(b.finish(), "admin", client)["ok"].truthy());
  }
  size_t cursors() { return static_cast<size_t>(server.cursors.statistics().open); }

  const std::shared_ptr<Client> operator_ = with("operator", "root");
  const std::shared_ptr<Client> ann_ = with("ann", "readAnyDatabase"), bob_ = with("bob", "readAnyDatabase");
};

TEST_F(SessionOfUsersTest, AreEndedByTheirUserOrAnOperator) {
  ASSERT_TRUE(server.run(R"({"insert": "c", "documents": [{}, {}, {}]})"_json, "test", operator_)["ok"].truthy());
  for (const auto command : {"endSessions", "killSessions"}) {
    const auto anns = open(ann_), bobs = open(bob_);
    end(command, {anns}, bob_);
    EXPECT_EQ(cursors(), 2u) << command << " of another's session";
    end(command, {anns, bobs}, bob_);
    EXPECT_EQ(cursors(), 1u) << command;
    end("endSessions", {anns}, operator_);
    EXPECT_EQ(cursors(), 1u) << "an operator kills the sessions of others and does not end them";
    end("killSessions", {anns}, operator_);
    EXPECT_EQ(cursors(), 0u) << command;
  }
  const auto first = open(ann_), second = open(ann_), bobs = open(bob_);
  end("killSessions", {}, bob_);
  EXPECT_EQ(cursors(), 2u) << "all of bob's";
  end("killSessions", {}, operator_);
  EXPECT_EQ(cursors(), 2u) << "all of the operator's, who has none";
  end("killAllSessions", {}, operator_);
  EXPECT_EQ(cursors(), 0u) << "all there are";
  end("endSessions", {open(ann_)}, server.connect());
  EXPECT_EQ(cursors(), 1u) << "a client that has not logged in";
}

TEST_F(SessionOfUsersTest, OperationsOfOthersAreNotKilled) {
  ASSERT_TRUE(server
                  .run(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                           "data": {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 1000}})"_json,
                       "admin", operator_)["ok"]
                  .truthy());
  const bson::Document id = bson::doc("id", bson::randomUuid([this] { return server.time->random(); }));
  const auto slow = server.begin(bson::doc("find", "c", "lsid", id), "test", ann_);
  end("killSessions", {}, bob_);
  end("killSessions", {id}, bob_);
  EXPECT_FALSE(slow->operation.killed());
  end("killSessions", {id}, with("ann", "readAnyDatabase"));
  EXPECT_TRUE(slow->operation.killed());
  server.node.advance(2s);
}

TEST_F(SessionTest, LocalSessionsAreListedWithTheirLastUse) {
  const bson::Uuid id = bson::randomUuid([this] { return server.time->random(); });
  const auto used = server.wallMillis();
  ASSERT_TRUE(server.run(bson::doc("ping", 1, "lsid", bson::doc("id", id)))["ok"].truthy());
  server.node.advance(5s);
  const auto reply = run(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listLocalSessions": {}}]})", "admin");
  const auto rows = reply.view().at("cursor.firstBatch").asArray();
  ASSERT_EQ(rows.count(), 1) << bson::toRelaxedJson(reply);
  const bson::Document wanted = bson::doc("id", id);
  EXPECT_TRUE(holds(rows.first().asDocument().at("_id.id"), wanted.view().first()));
  EXPECT_NEAR(static_cast<double>(rows.first().asDocument()["lastUse"].asDate().millis), static_cast<double>(used),
              100);
}

}  // namespace troupe::commands
