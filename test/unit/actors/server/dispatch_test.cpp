// The steps of every command before and after its body.
#include "actors/commands/builtin.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

class DispatchTest : public CommandTest {
 protected:
  Status armFailCommand(std::string_view mode, std::string_view data) {
    return run(R"({"configureFailPoint": "failCommand", "mode": )" + std::string(mode) + R"(, "data": )" +
                   std::string(data) + "}",
               "admin")["ok"]
                   .truthy()
               ? Status::OK()
               : Status(ErrorCode::kInternalError, "not armed");
  }
};

TEST_F(DispatchTest, AnUnknownCommandIsNotFound) {
  EXPECT_TRUE(answers(R"({"noSuchCommand": 1})", R"({"ok": 0, "code": 59, "codeName": "CommandNotFound",
                                                     "errmsg": "no such command: 'noSuchCommand'"})"));
}

TEST_F(DispatchTest, CommandsAreFoundByTheirOlderNamesToo) {
  EXPECT_TRUE(answers(R"({"ismaster": 1})", R"({"ok": 1, "ismaster": true})"));
  EXPECT_TRUE(succeeds(R"({"buildinfo": 1})"));
}

TEST_F(DispatchTest, UnknownArgumentsAreRefused) { EXPECT_EQ(code(R"({"ping": 1, "bogus": 1})"), 40415); }

TEST_F(DispatchTest, AdminCommandsNeedTheAdminDatabase) {
  EXPECT_TRUE(answers(R"({"listDatabases": 1})",
                      R"({"code": 13, "errmsg": "listDatabases may only be run against the admin database."})"));
  EXPECT_TRUE(succeeds(R"({"listDatabases": 1})", "admin"));
}

TEST_F(DispatchTest, DatabaseNamesAreChecked) {
  EXPECT_EQ(code(R"({"ping": 1})", "a b"), 73);
  EXPECT_EQ(code(R"({"ping": 1})", "a/b"), 73);
  EXPECT_EQ(code(R"({"ping": 1})", ""), 73);
}

TEST_F(DispatchTest, EveryReplyCountsAnErrorOnce) {
  run(R"({"noSuchCommand": 1})");
  run(R"({"ping": 1})");
  EXPECT_EQ(server.server->counters.userAsserts, 1);
}

TEST_F(DispatchTest, OnlyVersionOneOfTheApiExists) {
  EXPECT_TRUE(succeeds(R"({"ping": 1, "apiVersion": "1", "apiStrict": true})"));
  EXPECT_EQ(code(R"({"ping": 1, "apiVersion": "2"})"), 322);
  EXPECT_EQ(code(R"({"ping": 1, "apiStrict": true})"), 72);
}

TEST_F(DispatchTest, StrictUseOfTheApiRefusesCommandsOutsideIt) {
  EXPECT_TRUE(answers(R"({"distinct": "c", "key": "a", "apiVersion": "1", "apiStrict": true})",
                      R"({"code": 323, "codeName": "APIStrictError"})"));
  EXPECT_TRUE(succeeds(R"({"distinct": "c", "key": "a", "apiVersion": "1"})"));
}

TEST_F(DispatchTest, AnApiVersionCanBeRequired) {
  server.parameters.requireApiVersion = true;
  EXPECT_EQ(code(R"({"ping": 1})"), 498870);
  EXPECT_TRUE(succeeds(R"({"hello": 1})"));
  EXPECT_TRUE(succeeds(R"({"ping": 1, "apiVersion": "1"})"));
}

TEST_F(DispatchTest, ReadConcernsOfReplicaSetsAreRefused) {
  EXPECT_TRUE(succeeds(R"({"find": "c", "readConcern": {"level": "majority"}})"));
  EXPECT_EQ(code(R"({"find": "c", "readConcern": {"level": "snapshot"}})"), 123);
  EXPECT_EQ(code(R"({"find": "c", "readConcern": {"level": "linearizable"}})"), 123);
  EXPECT_EQ(code(R"({"find": "c", "readConcern": {"level": "nearby"}})"), 2);
  EXPECT_EQ(code(R"({"listCollections": 1, "readConcern": {"level": "majority"}})"), 72) << "it reads what is there";
  EXPECT_EQ(code(R"({"listCollections": 1, "writeConcern": {}})"), 72) << "it writes nothing";
}

TEST_F(DispatchTest, TransactionsNeedAReplicaSet) {
  EXPECT_EQ(code(R"({"find": "c", "lsid": {"id": {"$uuid": "11111111-1111-4111-8111-111111111111"}},
                     "txnNumber": {"$numberLong": "1"}})"),
            20);
  EXPECT_EQ(code(R"({"find": "c", "txnNumber": {"$numberLong": "1"}})"), 72) << "and a session";
  EXPECT_EQ(code(R"({"find": "c", "autocommit": false})"), 72);
}

TEST_F(DispatchTest, MaxTimeEndsAnOperationThatWaits) {
  EXPECT_EQ(code(R"({"find": "c", "maxTimeMS": -1})"), 2);
  EXPECT_EQ(code(R"({"find": "c", "maxTimeMS": 1.5})"), 9);
  EXPECT_EQ(code(R"({"find": "c", "maxTimeMS": {"$numberDouble": "NaN"}})"), 9);
  ASSERT_TRUE(
      armFailCommand(R"("alwaysOn")", R"({"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 80})")
          .isOK());
  EXPECT_TRUE(succeeds(R"({"find": "c", "maxTimeMS": 200})"));
  EXPECT_TRUE(answers(R"({"find": "c", "maxTimeMS": 50})", R"({"code": 50, "codeName": "MaxTimeMSExpired"})"));
}

TEST_F(DispatchTest, FailCommandFailsTheCommandsItNames) {
  ASSERT_TRUE(armFailCommand(R"({"times": 1})", R"({"failCommands": ["insert", "ping"], "errorCode": 91,
                                                    "errorLabels": ["RetryableWriteError"]})")
                  .isOK());
  EXPECT_TRUE(succeeds(R"({"count": "c"})"));
  EXPECT_TRUE(answers(R"({"ping": 1})", R"({"ok": 0, "code": 91, "errorLabels": ["RetryableWriteError"]})"));
  EXPECT_TRUE(succeeds(R"({"ping": 1})"));
}

TEST_F(DispatchTest, FailCommandCanNameAnApplication) {
  ASSERT_TRUE(
      armFailCommand(R"("alwaysOn")", R"({"failCommands": ["ping"], "errorCode": 8, "appName": "shop"})").isOK());
  EXPECT_TRUE(succeeds(R"({"ping": 1})"));
  const auto shop = server.connect();
  ASSERT_TRUE(
      server.run(R"({"hello": 1, "client": {"application": {"name": "shop"}}})"_json, "admin", shop)["ok"].truthy());
  EXPECT_EQ(server.run(R"({"ping": 1})"_json, "admin", shop)["code"].toInt64(), 8);
}

TEST_F(DispatchTest, FailCommandKnowsTheApplicationOfTheHelloItself) {
  ASSERT_TRUE(
      armFailCommand(R"("alwaysOn")", R"({"failCommands": ["hello"], "errorCode": 8, "appName": "shop"})").isOK());
  EXPECT_TRUE(succeeds(R"({"hello": 1, "client": {"application": {"name": "other"}}})", "admin"));
  const auto shop = server.connect();
  const auto hello = R"({"hello": 1, "client": {"application": {"name": "shop"}}})"_json;
  EXPECT_EQ(server.run(hello, "admin", shop)["code"].toInt64(), 8);
}

/// Else a test that makes commands fail would stop the replication that it looks at.
TEST_F(DispatchTest, FailCommandLeavesTheClusterAloneUnlessTold) {
  const auto member = server.connect();
  member->users.push_back({.name = "__system", .database = "local", .internal = true});
  member->usersChanged();
  const auto ping = [&](const std::shared_ptr<Client>& from) {
    return server.run(R"({"ping": 1})"_json, "admin", from)["code"].toInt64();
  };
  ASSERT_TRUE(armFailCommand(R"("alwaysOn")", R"({"failCommands": ["ping"], "errorCode": 8})").isOK());
  EXPECT_EQ(ping(server.client), 8);
  EXPECT_EQ(ping(member), 0);
  ASSERT_TRUE(
      armFailCommand(R"("alwaysOn")", R"({"failCommands": ["ping"], "errorCode": 8, "failInternalCommands": true})")
          .isOK());
  EXPECT_EQ(ping(member), 8);
  EXPECT_EQ(ping(server.client), 8);
}

TEST_F(DispatchTest, FailCommandCanCloseTheConnection) {
  ASSERT_TRUE(armFailCommand(R"({"times": 1})", R"({"failCommands": ["ping"], "closeConnection": true})").isOK());
  const auto client = server.connect();
  const auto exchange = server.begin(R"({"ping": 1})"_json, "admin", client);
  EXPECT_TRUE(exchange->request.dropReply);
  EXPECT_TRUE(client->closing);
}

TEST_F(DispatchTest, FailCommandCanReportAWriteConcernErrorOfACommandThatRan) {
  ASSERT_TRUE(armFailCommand(R"({"times": 1})", R"({"failCommands": ["insert"],
                             "writeConcernError": {"code": 100, "errmsg": "not enough members"}})")
                  .isOK());
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 1}]})",
                      R"({"ok": 1, "n": 1, "writeConcernError": {"code": 100}})"));
}

TEST_F(DispatchTest, FailGetMoreAfterCursorCheckoutEndsTheCursor) {
  fill("c", 5);
  const auto id = run(R"({"find": "c", "batchSize": 2})").view().at("cursor.id").toInt64();
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failGetMoreAfterCursorCheckout", "mode": {"times": 1},
                           "data": {"errorCode": 280}})",
                       "admin"));
  const auto getMore = bson::doc("getMore", id, "collection", "c");
  EXPECT_EQ(server.run(getMore)["code"].toInt64(), 280);
  EXPECT_EQ(server.run(getMore)["code"].toInt64(), 43);
}

class WithoutTestCommands : public CommandTest {
 protected:
  WithoutTestCommands() : CommandTest({.testCommands = false}) {}
};

TEST_F(WithoutTestCommands, FailPointsDoNotExist) {
  EXPECT_EQ(code(R"({"configureFailPoint": "failCommand", "mode": "off"})", "admin"), 59);
}

TEST(CommandTable, HoldsEachNameOnceAndAllAreDescribed) {
  const CommandTable table = makeCommandTable();
  std::string last;
  for (const Command* command : table.all()) {
    EXPECT_LT(last, command->name);
    last = command->name;
    EXPECT_FALSE(command->summary.empty()) << command->name;
    EXPECT_EQ(table.find(command->name), command);
  }
  EXPECT_EQ(table.find("no"), nullptr);
}

TEST(CommandTable, AnExtensionAddsCommandsAndReplacesNone) {
  static constexpr Command kMore[] = {{.name = "more", .summary = "one more"}, {.name = "ping", .summary = "another"}};
  const CommandTable table = makeCommandTable(kMore);
  EXPECT_EQ(table.find("more"), &kMore[0]);
  EXPECT_NE(table.find("ping"), &kMore[1]);
  EXPECT_EQ(makeCommandTable().find("more"), nullptr);
}

}  // namespace troupe::server
