// Commands that ask all members of a set, or one of them: two nodes with commands and a third that is away, over links
// on virtual time. The topology is told what the set is, for no election matters here.
#include "actors/commands/set_members.hpp"

#include "actors/commands/set_picture.hpp"
#include "actors/replication/replica_view.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/transport/link_fixture.hpp"

namespace troupe::commands {
namespace {

constexpr const char* kKeeper = "/node/storage/transition-keeper";

class SetMembersTest : public link::LinkTest {
 protected:
  explicit SetMembersTest(bool authentication = false)
      : a({.authentication = authentication, .name = "a:1", .replicaSet = "rs", .time = time}),
        b({.authentication = authentication, .name = "b:2", .time = time}) {
    for (CommandNode* one : {&a, &b}) {
      guests[one->node.name()] = &one->node;
      one->node.spawn<link::LinkManager>(link::kLinksPath, std::make_shared<link::Links>(one->node, settings()));
    }
    replication::ReplicaView view;
    view.topology.document.self = "a:1";
    view.topology.document.setName = "rs";
    auto& config = view.topology.document.config.emplace();
    config.id = "rs";
    for (const char* host : {"a:1", "b:2", "c:3"}) {
      auto& member = config.members.emplace_back();
      member.id = static_cast<int32_t>(config.members.size()) - 1;
      member.host = host;
    }
    a.server->membership->publish(std::move(view));
    link::ConnectPeer peer{"b:2"};
    a.node.tell(a.node.address(link::kLinksPath), local(std::move(peer)));
    settle();
  }
  void TearDown() override {
    for (CommandNode* one : {&a, &b}) one->node.shutdown();
    guests.clear();
    LinkTest::TearDown();
  }

  std::shared_ptr<Exchange> begin(const std::string& json) {
    auto exchange = a.begin(*bson::fromJson(json), "admin");
    settle();
    return exchange;
  }
  /// The reply of a to a command on `admin`, within five seconds of virtual time.
  bson::Document run(const std::string& json) {
    const auto exchange = begin(json);
    for (int steps = 0; !exchange->done && steps < 500; ++steps) advance(10ms);
    return exchange->done ? exchange->takeReply() : bson::doc("ok", 0.0, "errmsg", "the command did not end");
  }
  int64_t code(const std::string& json) {
    const auto reply = run(json);
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  static std::vector<bson::Document> rowsOf(const bson::Document& reply) {
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::vector<bson::Document> rows;
    const auto batch = reply.view().at("cursor.firstBatch");
    if (!batch.is(bson::Type::kArray)) return rows;
    for (const bson::Element& row : batch.asArray()) rows.emplace_back(row.asDocument());
    return rows;
  }
  static std::vector<bson::Document> rowsOf(const bson::Document& reply, std::string_view node) {
    std::vector<bson::Document> rows;
    for (auto& row : rowsOf(reply))
      if (row["node"].toStringOr() == node) rows.push_back(std::move(row));
    return rows;
  }
  static bool has(const std::vector<bson::Document>& rows, std::string_view path) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row["path"].toStringOr() == path; });
  }
  bson::Document tree() { return run(R"({"actorTree": 1, "members": true, "cursor": {"batchSize": 100000}})"); }
  /// From now on b treats the trees that it is asked for as `data` says.
  void failOnB(const char* data) {
    const auto set =
        b.run(*bson::fromJson(std::string(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": )") +
                              data + "}"),
              "admin");
    ASSERT_TRUE(set["ok"].truthy()) << bson::toRelaxedJson(set);
  }
  static int64_t incarnation(CommandNode& of) { return of.node.registry().row(kKeeper)->incarnation; }
  static void step(CommandNode& on, const char* event, int64_t at) {
    TransitionRecord record;
    record.at = {at};
    record.path = "/node/errand";
    record.machine = "errand";
    record.event = event;
    record.to = event;
    on.node.transitions().add(std::move(record));
  }

  CommandNode a, b;
};

TEST_F(SetMembersTest, TheTreeOfAllHasEachMembersRowsUnderItsName) {
  const auto reply = tree();
  EXPECT_TRUE(has(rowsOf(reply, "a:1"), replication::kTopologyPath));
  EXPECT_TRUE(has(rowsOf(reply, "b:2"), "/node/front"));
  EXPECT_FALSE(has(rowsOf(reply, "b:2"), replication::kTopologyPath)) << "b stands alone: these rows would be a's";
  const auto all = rowsOf(reply);
  for (const auto& row : all) EXPECT_TRUE(row["node"].ok()) << bson::toRelaxedJson(row);
  EXPECT_EQ(all.size(), rowsOf(reply, "a:1").size() + rowsOf(reply, "b:2").size() + 1);
}

TEST_F(SetMembersTest, AMemberThatCannotBeReachedIsOneRowWithTheReason) {
  const auto lost = rowsOf(tree(), "c:3");
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0]["path"].toStringOr(), "/node");
  EXPECT_NE(lost[0]["unreachable"].toStringOr().find("HostUnreachable"), std::string_view::npos)
      << bson::toRelaxedJson(lost[0]);
}

TEST_F(SetMembersTest, AMemberThatDoesNotAnswerInTimeIsOneRow) {
  failOnB(R"({"failCommands": ["actorTree"], "blockConnection": true, "blockTimeMS": 60000,
              "failInternalCommands": true})");
  const auto exchange = begin(R"({"actorTree": 1, "members": true, "cursor": {"batchSize": 100000}})");
  advance(1990ms);
  EXPECT_FALSE(exchange->done);
  advance(10ms);
  ASSERT_TRUE(exchange->done);
  const auto reply = exchange->takeReply();
  const auto lost = rowsOf(reply, "b:2");
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_NE(lost[0]["unreachable"].toStringOr().find("MaxTimeMSExpired"), std::string_view::npos)
      << bson::toRelaxedJson(lost[0]);
  EXPECT_GT(rowsOf(reply, "a:1").size(), 1u);
}

TEST_F(SetMembersTest, AMemberThatRefusesIsOneRow) {
  failOnB(R"({"failCommands": ["actorTree"], "errorCode": 13, "failInternalCommands": true})");
  const auto lost = rowsOf(tree(), "b:2");
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_NE(lost[0]["unreachable"].toStringOr().find("Unauthorized"), std::string_view::npos)
      << bson::toRelaxedJson(lost[0]);
}

TEST_F(SetMembersTest, AMemberThatServesNoReadsGivesItsRowsToTheirEnd) {
  ASSERT_EQ(code(R"({"find": "c"})"), 13436) << "a is in STARTUP";
  const auto first = run(R"({"actorTree": 1, "cursor": {"batchSize": 2}})");
  const int64_t id = first.view().at("cursor.id").toInt64();
  ASSERT_NE(id, 0) << bson::toRelaxedJson(first);
  const auto rest =
      run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "$cmd.actorTree"})");
  ASSERT_TRUE(rest["ok"].truthy()) << bson::toRelaxedJson(rest);
  EXPECT_GT(rest.view().at("cursor.nextBatch").asArray().count(), 2);
}

TEST_F(SetMembersTest, TheFilterHoldsOnEveryMember) {
  const auto reply = run(R"({"actorTree": 1, "members": true, "filter": {"under": "/node/front"}})");
  const auto rows = rowsOf(reply, "b:2");
  EXPECT_FALSE(rows.empty());
  for (const auto& row : rows) EXPECT_TRUE(row["path"].toStringOr().starts_with("/node/front"));
}

TEST_F(SetMembersTest, ManyRowsComeInSeveralBatchesAndAreChargedToTheOperation) {
  for (int i = 0; i < 1500; ++i) b.node.spawn<Echo>("/node/many/echo" + std::to_string(i));
  settle();
  const std::string json = R"({"actorTree": 1, "members": true, "cursor": {"batchSize": 100000}})";
  EXPECT_GT(rowsOf(run(json), "b:2").size(), 1500u);
  a.parameters.operationMemoryLimitBytes = 100'000;  // enough for the rows of a, which are charged for together
  EXPECT_EQ(code(R"({"actorTree": 1})"), 0);
  EXPECT_EQ(code(json), 146);
}

TEST_F(SetMembersTest, StepsOfAllAreMergedNewestFirstAndLimitedTogether) {
  step(a, "first", 1000);
  step(b, "second", 2000);
  step(a, "third", 3000);
  step(b, "fourth", 4000);
  const auto rows = rowsOf(run(R"({"transitionLog": 1, "members": true, "machine": "errand", "limit": 3})"));
  ASSERT_EQ(rows.size(), 4u) << "three steps, and the member that cannot be asked";
  EXPECT_EQ(rows[0]["node"].toStringOr(), "c:3");
  EXPECT_TRUE(rows[0]["unreachable"].ok());
  std::vector<std::string> seen;
  for (size_t i = 1; i < rows.size(); ++i)
    seen.push_back(std::string(rows[i]["event"].toStringOr()) + "@" + std::string(rows[i]["node"].toStringOr()));
  EXPECT_EQ(seen, (std::vector<std::string>{"fourth@b:2", "third@a:1", "second@b:2"}));
}

TEST_F(SetMembersTest, AnActorOfAnotherMemberIsShown) {
  const auto reply = run(R"({"actorDetails": "/node/front", "node": "b:2"})");
  ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  EXPECT_EQ(reply.view().at("row.node").toStringOr(), "b:2");
  EXPECT_EQ(run(R"({"actorDetails": "/node/front", "node": "a:1"})").view().at("row.node").toStringOr(), "a:1");
  EXPECT_EQ(code(R"({"actorDetails": "/nowhere", "node": "b:2"})"), 4);
}

TEST_F(SetMembersTest, AnActorOfAnotherMemberIsRestartedThere) {
  ASSERT_EQ(code(std::string(R"({"controlActor": ")") + kKeeper + R"(", "action": "restart", "node": "b:2"})"), 0);
  advance(1s);
  EXPECT_EQ(incarnation(b), 2);
  EXPECT_EQ(incarnation(a), 1) << "only the one that was named";
}

TEST_F(SetMembersTest, OnlyMembersOfTheSetAreAsked) {
  add("z:9");
  EXPECT_EQ(code(R"({"actorDetails": "/node", "node": "z:9"})"), 2);
  EXPECT_EQ(code(R"({"controlActor": "/node/x", "action": "restart", "node": "z:9"})"), 2);
  EXPECT_EQ(code(R"({"actorDetails": "/node", "node": "c:3"})"), 6) << "a member, but out of reach";
}

class GuardedSetTest : public SetMembersTest {
 protected:
  GuardedSetTest() : SetMembersTest(true) {
    const auto made =
        b.run(*bson::fromJson(R"({"createUser": "ann", "pwd": "x", "roles": ["clusterMonitor"]})"), "admin");
    EXPECT_TRUE(made["ok"].truthy()) << bson::toRelaxedJson(made);
  }
  /// A user with this role of admin on a.
  AuthenticatedUser userOf(const char* name, const char* role) {
    AuthenticatedUser user;
    user.name = name;
    user.database = "admin";
    user.version = a.users->version();
    EXPECT_TRUE(user.privileges.addRole(role, "admin").isOK());
    return user;
  }
  /// Logs the client of a in as ann, who has this role there.
  void logIn(const char* role) {
    a.client->users = {userOf("ann", role)};
    a.client->usersChanged();
  }
  /// Logs the client in as another user besides, who goes first and whom b does not know.
  void logInToo() {
    a.client->users.insert(a.client->users.begin(), userOf("bob", "readAnyDatabase"));
    a.client->usersChanged();
  }
};

TEST_F(GuardedSetTest, WithoutTheRightToSeeActorsNobodyIsAsked) {
  EXPECT_EQ(code(R"({"actorTree": 1, "members": true})"), 13);
  EXPECT_EQ(code(R"({"transitionLog": 1, "members": true})"), 13);
  logIn("readAnyDatabase");
  EXPECT_EQ(code(R"({"actorTree": 1, "members": true})"), 13);
  EXPECT_EQ(code(R"({"actorDetails": "/node", "node": "b:2"})"), 13);
}

TEST_F(GuardedSetTest, WhoMaySeeActorsSeesThoseOfAllMembers) {
  logIn("clusterMonitor");
  EXPECT_TRUE(has(rowsOf(tree(), "b:2"), "/node/front"));
}

TEST_F(GuardedSetTest, WhatAUserMayDoToAnActorIsDecidedWhereItIs) {
  logIn("clusterManager");
  const std::string restart = std::string(R"({"controlActor": ")") + kKeeper + R"(", "action": "restart")";
  EXPECT_EQ(code(restart + R"(, "node": "b:2"})"), 13) << "on b ann may only look";
  advance(1s);
  EXPECT_EQ(incarnation(b), 1);
  EXPECT_EQ(code(restart + "}"), 0);
}

TEST_F(GuardedSetTest, OfSeveralUsersTheOneWhoMayRunTheCommandActsElsewhere) {
  logIn("clusterMonitor");
  logInToo();
  EXPECT_EQ(code(R"({"actorDetails": "/node", "node": "b:2"})"), 0);
}

TEST_F(GuardedSetTest, AnyCommandIsRunElsewhereForOneUserOnly) {
  const auto ping = R"({"linkRun": "b:2", "command": {"ping": 1}})";
  logIn("clusterManager");
  EXPECT_EQ(code(ping), 0);
  logInToo();
  EXPECT_EQ(code(ping), 20) << "either may be meant";
}

class NodeAloneTest : public CommandTest {};

TEST_F(NodeAloneTest, IsAllMembersThatThereAre) {
  const auto rows = batch(R"({"actorTree": 1, "members": true, "cursor": {"batchSize": 100000}})", "admin");
  EXPECT_GT(rows.size(), 5u);
  for (const auto& row : rows) EXPECT_EQ(parse(row)["node"].toStringOr(), "n1") << row;
  EXPECT_EQ(code(R"({"actorDetails": "/node", "node": "n1"})", "admin"), 0);
  EXPECT_EQ(code(R"({"actorDetails": "/node", "node": "n2"})", "admin"), 2);
}

TEST_F(NodeAloneTest, IsNoSetToDraw) {
  EXPECT_EQ(server.node.wait(pictureOfSet(*server.server)), parse(R"({"set": "", "self": "n1", "members": []})"));
}

class SetPictureTest : public CommandTest {
 protected:
  SetPictureTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}
};

TEST_F(SetPictureTest, BeforeThereIsAConfigItHasNoMembers) {
  const auto picture = server.node.wait(pictureOfSet(*server.server));
  EXPECT_EQ(picture["set"].toStringOr(), "rs");
  EXPECT_EQ(picture["members"].asArray().count(), 0);
}

TEST_F(SetPictureTest, ShowsWhoLeadsAndHowFarItsLogReachesBack) {
  becomePrimary(server);
  server.node.advance(5s);
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": "majority"}})"));
  const auto picture = server.node.wait(pictureOfSet(*server.server));
  const std::string shown = bson::toRelaxedJson(picture);
  EXPECT_TRUE(holds(picture.view(), parse(R"({"set": "rs", "self": "n1:1"})"))) << shown;
  EXPECT_EQ(picture["term"].toInt64(), termOf(server)) << shown;
  EXPECT_EQ(picture.view().at("commitPoint.term").toInt64(), termOf(server)) << shown;
  const bson::View self = picture.view().at("members.0").asDocument();
  EXPECT_TRUE(holds(self, parse(R"({"name": "n1:1", "id": 0, "self": true, "state": "PRIMARY", "health": 1, "votes": 1,
                                    "priority": 1, "hidden": false, "arbiter": false, "delaySeconds": 0,
                                    "syncSource": "", "lagSeconds": 0, "pingMillis": null, "message": ""})")))
      << shown;
  EXPECT_GE(self["logWindowSeconds"].toInt64(-1), 5) << "from the first note of the primary to the insert: " << shown;
  EXPECT_GE(self["applied"].asDocument()["seconds"].toInt64(), picture.view().at("commitPoint.seconds").toInt64())
      << shown;
  EXPECT_GT(picture.view().at("commitPoint.seconds").toInt64(), 0) << shown;
}

}  // namespace
}  // namespace troupe::commands
