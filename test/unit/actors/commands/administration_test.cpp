// Commands of operators: currentOp, killOp, parameters, status, fsync, shutdown; and the handshake.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class AdministrationTest : public CommandTest {
 protected:
  /// A find that is held for a second.
  std::shared_ptr<Exchange> slowFind() {
    EXPECT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                             "data": {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 1000}})",
                         "admin"));
    return server.begin(R"({"find": "c", "comment": "slow one"})"_json, "test", server.connect());
  }
};

TEST_F(AdministrationTest, CurrentOpShowsWhatRuns) {
  const auto slow = slowFind();
  server.node.advance(300ms);
  EXPECT_TRUE(answers(R"({"currentOp": 1, "command.comment": "slow one"})",
                      R"({"inprog": [{"type": "op", "active": true, "connectionId": 2, "command": {"find": "c"},
                          "microsecs_running": 300000}]})",
                      "admin"));
  EXPECT_FALSE(server.locks.inUse()) << "nobody waits for what a fail point holds up";
  server.node.advance(1s);
  EXPECT_TRUE(slow->done);
  EXPECT_TRUE(answers(R"({"currentOp": 1, "command.comment": "slow one"})", R"({"inprog": []})", "admin"));
}

TEST_F(AdministrationTest, CurrentOpShowsIdleCursorsWhenAsked) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"find": "c", "batchSize": 1})"));
  EXPECT_TRUE(answers(R"({"currentOp": 1, "$all": true, "type": "idleCursor"})",
                      R"({"inprog": [{"ns": "test.c", "cursor": {"nDocsReturned": 1, "nBatchesReturned": 1}}]})",
                      "admin"));
}

TEST_F(AdministrationTest, CurrentOpShowsWhatOpenedTheCursorOfAGetMore) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 4096})"));
  fill("c", 1);
  const int64_t id =
      run(R"({"find": "c", "tailable": true, "awaitData": true, "comment": "mine"})").view().at("cursor.id").toInt64();
  const auto waiting = server.begin(bson::doc("getMore", id, "collection", "c", "maxTimeMS", 5000));
  ASSERT_FALSE(waiting->done);
  const auto other = server.connect();
  const auto shown = server.run(R"({"currentOp": 1, "op": "getmore"})"_json, "admin", other);
  EXPECT_TRUE(holds(
      shown, bson::doc("inprog", std::vector{bson::doc(
                                     "ns", "test.c", "cursor",
                                     bson::doc("cursorId", id, "nDocsReturned", 1, "nBatchesReturned", 1,
                                               "originatingCommand", bson::doc("find", "c", "comment", "mine")))})));
  server.node.advance(5s);
  EXPECT_TRUE(waiting->done);
}

TEST_F(AdministrationTest, KillOpEndsAnOperation) {
  fill("c", 3);
  const auto slow = slowFind();
  EXPECT_TRUE(holds(server.run(bson::doc("killOp", 1, "op", slow->operation.id()), "admin"), R"({"ok": 1})"_json));
  server.node.run();
  ASSERT_TRUE(slow->done) << "at once";
  EXPECT_TRUE(holds(slow->takeReply(), R"({"ok": 0, "code": 11601, "codeName": "Interrupted"})"_json));
}

TEST_F(AdministrationTest, FailPointsMakeAllTimeLimitsPassOrNone) {
  fill("c", 300);
  const auto set = [&](const std::string& point, const std::string& mode) {
    EXPECT_TRUE(succeeds(R"({"configureFailPoint": ")" + point + R"(", "mode": ")" + mode + R"(", "maxTimeMS": 1000})",
                         "admin"));
  };
  const auto limited = run(R"({"find": "c", "batchSize": 2, "maxTimeMS": 60000})");
  const auto getMore =
      bson::doc("getMore", limited.view().at("cursor.id").toInt64(), "collection", "c", "batchSize", 2);
  set("maxTimeAlwaysTimeOut", "alwaysOn");
  EXPECT_EQ(code(R"({"find": "c", "maxTimeMS": 60000})"), 50);
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{}], "maxTimeMS": 60000})"), 50);
  EXPECT_EQ(code(R"({"ping": 1, "maxTimeMS": 60000})"), 50);
  EXPECT_EQ(server.run(getMore)["code"].toInt64(), 50) << "the time that the find has left";
  EXPECT_TRUE(succeeds(R"({"find": "c"})")) << "which has no limit";
  EXPECT_TRUE(succeeds(R"({"find": "c", "maxTimeMS": 0})"));
  set("maxTimeAlwaysTimeOut", "off");
  EXPECT_TRUE(server.run(getMore)["ok"].truthy());

  const auto slowFindIsOver = [&] {
    EXPECT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                             "data": {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 1000}})",
                         "admin"));
    return code(R"({"find": "c", "maxTimeMS": 100})");
  };
  EXPECT_EQ(slowFindIsOver(), 50);
  set("maxTimeNeverTimeOut", "alwaysOn");
  EXPECT_EQ(slowFindIsOver(), 0);
  set("maxTimeNeverTimeOut", "off");
  EXPECT_EQ(slowFindIsOver(), 50);
}

TEST_F(AdministrationTest, ALogThatIsNoFileIsNotRotated) {
  EXPECT_EQ(code(R"({"logRotate": 1})", "admin"), 20);
  EXPECT_EQ(code(R"({"logRotate": "audit"})", "admin"), 4);
}

TEST_F(AdministrationTest, ServerStatusShowsTheGlobalLockAndTheProcess) {
  const auto idle = run(R"({"serverStatus": 1})", "admin");
  EXPECT_TRUE(holds(idle, R"({"globalLock": {"currentQueue": {"total": 0, "readers": 0, "writers": 0},
                              "activeClients": {"total": 0, "readers": 0, "writers": 0}}})"_json));
  EXPECT_GT(idle.view().at("extra_info.maximum_resident_set_kb").toInt64(), 1000);
  EXPECT_GT(idle.view().at("extra_info.user_time_us").toInt64(), 0);
  fill("c", 1);
  storage::OperationContext reader(server.server->operations);
  ASSERT_TRUE(reader.tryAdmit(false));
  EXPECT_TRUE(
      answers(R"({"serverStatus": 1})", R"({"globalLock": {"activeClients": {"total": 1, "readers": 1}}})", "admin"));
  server.node.advance(1s);
  const auto later = run(R"({"serverStatus": 1})", "admin");
  EXPECT_GE(later.view().at("globalLock.totalTime").toInt64(),
            idle.view().at("globalLock.totalTime").toInt64() + 1'000'000);
}

TEST_F(AdministrationTest, KillOpOfNothingSucceeds) {
  EXPECT_TRUE(succeeds(R"({"killOp": 1, "op": 4711})", "admin"));
  EXPECT_EQ(code(R"({"killOp": 1})", "admin"), 40414);
}

TEST_F(AdministrationTest, ParametersAreReadAndSet) {
  EXPECT_TRUE(answers(R"({"setParameter": 1, "notablescan": true})", R"({"ok": 1, "was": false})", "admin"));
  EXPECT_TRUE(answers(R"({"getParameter": 1, "notablescan": 1})", R"({"notablescan": true})", "admin"));
  EXPECT_EQ(code(R"({"setParameter": 1})", "admin"), 72);
  EXPECT_EQ(code(R"({"getParameter": 1, "noSuchParameter": 1})", "admin"), 72);
  EXPECT_TRUE(succeeds(R"({"getParameter": "*"})", "admin"));
}

TEST_F(AdministrationTest, ServerStatusHasItsSections) {
  fill("c", 3);
  EXPECT_TRUE(answers(R"({"serverStatus": 1})",
                      R"({"ok": 1, "process": "trouped", "version": "7.0.0", "opcounters": {"insert": 3},
                          "connections": {"current": 1}, "storageEngine": {"persistent": true}})",
                      "admin"));
  EXPECT_FALSE(run(R"({"serverStatus": 1, "opcounters": 0})", "admin")["opcounters"].ok());
}

TEST_F(AdministrationTest, FsyncTakesACheckpoint) {
  fill("c", 1);
  EXPECT_TRUE(succeeds(R"({"fsync": 1})", "admin"));
  CommandNode after({.disk = server.engine->disk()});
  EXPECT_TRUE(holds(after.run(R"({"count": "c"})"_json), R"({"n": 1})"_json));
}

TEST_F(AdministrationTest, ShutdownAsksForItAndSendsNoAnswer) {
  const auto exchange = server.begin(R"({"shutdown": 1})"_json, "admin");
  EXPECT_TRUE(exchange->request.dropReply);
  EXPECT_EQ(server.shutdowns, 1);
}

TEST_F(AdministrationTest, InformationForShellsAndDrivers) {
  EXPECT_TRUE(answers(R"({"buildInfo": 1})", R"({"version": "7.0.0", "maxBsonObjectSize": 16777216})"));
  EXPECT_TRUE(succeeds(R"({"hostInfo": 1})", "admin"));
  EXPECT_TRUE(answers(R"({"connectionStatus": 1})", R"({"authInfo": {"authenticatedUsers": []}})"));
  EXPECT_TRUE(succeeds(R"({"getLog": "global"})", "admin"));
  EXPECT_TRUE(answers(R"({"getLog": "*"})", R"({"names": ["global", "startupWarnings"]})", "admin"));
  EXPECT_TRUE(answers(R"({"getCmdLineOpts": 1})", R"({"argv": ["trouped"]})", "admin"));
  EXPECT_TRUE(succeeds(R"({"listCommands": 1})"));
}

TEST_F(AdministrationTest, HelloTellsDriversWhatTheServerCan) {
  EXPECT_TRUE(answers(R"({"hello": 1, "helloOk": true})",
                      R"({"ok": 1, "helloOk": true, "isWritablePrimary": true, "maxWireVersion": 21,
                          "maxBsonObjectSize": 16777216, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
                          "logicalSessionTimeoutMinutes": 30, "connectionId": 1, "topologyVersion": {"counter": 0}})",
                      "admin"));
}

TEST_F(AdministrationTest, ClientMetadataComesOnce) {
  EXPECT_TRUE(succeeds(R"({"hello": 1, "client": {"application": {"name": "a"}}})", "admin"));
  EXPECT_EQ(code(R"({"hello": 1, "client": {"application": {"name": "b"}}})", "admin"), 186);
}

/// Hellos that wait for the topology to change.
class AwaitableHello : public CommandTest {
 protected:
  std::shared_ptr<Exchange> hello(uint32_t flags = 0) {
    return server.begin(bson::doc("hello", 1, "maxAwaitTimeMS", 1000, "topologyVersion",
                                  bson::doc("processId", server.hello.processId(), "counter", server.hello.counter())),
                        "admin", server.connect(), flags);
  }
};

TEST_F(AwaitableHello, AnswersWhenItsTimeIsOver) {
  const auto waiting = hello();
  server.node.advance(999ms);
  EXPECT_FALSE(waiting->done);
  server.node.advance(2ms);
  EXPECT_TRUE(waiting->done);
}

TEST_F(AwaitableHello, AnswersAtOnceWhenTheTopologyChanges) {
  const auto waiting = hello();
  EXPECT_FALSE(waiting->done);
  server.hello.bump();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), R"({"ok": 1, "topologyVersion": {"counter": 1}})"_json));
}

TEST_F(AwaitableHello, AnswersShutdownInProgressWhenTheNodeDrains) {
  const auto waiting = hello();
  server.hello.beginShutdown();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), R"({"ok": 0, "code": 91, "codeName": "ShutdownInProgress"})"_json));
}

TEST_F(AwaitableHello, StreamsOnWhenTheClientAllowsIt) {
  const auto waiting = hello(wire::kExhaustAllowed);
  server.hello.bump();
  server.node.run();
  ASSERT_TRUE(waiting->request.streamOn.has_value());
  EXPECT_EQ(waiting->request.streamOn->view().at("topologyVersion.counter").toInt64(), 1);
}

TEST_F(AwaitableHello, ChecksItsArguments) {
  EXPECT_EQ(code(R"({"hello": 1, "maxAwaitTimeMS": 5})", "admin"), 31368);
  EXPECT_EQ(code(R"({"hello": 1, "maxAwaitTimeMS": 5, "topologyVersion": {"counter": 1}})", "admin"), 40414);
}

TEST_F(AdministrationTest, HelpTellsOfACommandWithoutRunningIt) {
  fill("c", 3);
  EXPECT_TRUE(answers(R"({"drop": "c", "help": true})", R"({"help": "drops a collection or view", "ok": 1})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 3})"));
  EXPECT_TRUE(succeeds(R"({"drop": "c", "help": false})"));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 0})"));
}

TEST_F(AdministrationTest, AStandaloneNodeSaysThatItIsNotReplicated) {
  EXPECT_EQ(code(R"({"replSetGetStatus": 1})", "admin"), 76);
  EXPECT_EQ(code(R"({"replSetGetConfig": 1})", "admin"), 76);
  EXPECT_EQ(code(R"({"replSetGetRBID": 1})", "admin"), 76);
  EXPECT_EQ(code(R"({"replSetInitiate": {"_id": "rs"}})", "admin"), 76);
}

/// Users with access control, each with an idle cursor.
class OperationsOfUsersTest : public CommandTest {
 protected:
  OperationsOfUsersTest() : CommandTest({.authentication = true}) {
    EXPECT_TRUE(succeeds(R"({"createUser": "root", "pwd": "x", "roles": ["root"]})", "admin"));
    root = loggedIn("root");
    EXPECT_TRUE(as(root, R"({"createUser": "ann", "pwd": "x", "roles": ["root"]})")["ok"].truthy());
    EXPECT_TRUE(as(root, R"({"insert": "c", "documents": [{}, {}, {}]})")["ok"].truthy());
    ann = loggedIn("ann");
    for (const auto& client : {root, ann}) EXPECT_TRUE(as(client, R"({"find": "c", "batchSize": 1})")["ok"].truthy());
  }
  std::shared_ptr<Client> loggedIn(std::string_view user) {
    auto client = server.connect();
    client->users.push_back(std::move(**server.users->load(user, "admin")));
    client->usersChanged();
    return client;
  }
  bson::Document as(const std::shared_ptr<Client>& who, std::string_view json) {
    return server.run(parse(json), "admin", who);
  }
  int cursorsShown(std::string_view options) {
    const auto reply = as(ann, R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": )" + std::string(options) +
                                   R"(}, {"$match": {"type": "idleCursor"}}]})");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return reply.view().at("cursor.firstBatch").asArray().count();
  }
  std::shared_ptr<Client> root, ann;
};

TEST_F(OperationsOfUsersTest, CurrentOpShowsThoseOfOthersWhenAsked) {
  EXPECT_EQ(cursorsShown(R"({"allUsers": true, "idleCursors": true})"), 2);
  EXPECT_EQ(cursorsShown(R"({"idleCursors": true})"), 1);
  const auto shown = [&](std::string_view options) {
    return as(ann,
              R"({"currentOp": 1, "$all": true, "connectionId": {"$gt": 0})" + std::string(options) + "}")["inprog"]
        .asArray()
        .count();
  };
  EXPECT_EQ(shown(R"(, "$ownOps": true)"), 1);
  EXPECT_GT(shown(""), 1) << "the command shows all of them";
}

}  // namespace troupe::commands
