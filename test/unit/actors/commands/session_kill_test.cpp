// Who kills which sessions, who sees which, and what operators see of them.
#include "actors/commands/session_inspection.hpp"
#include "actors/server/session_access.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
using namespace server;

class SessionKillTest : public CommandTest {
 protected:
  SessionKillTest() : SessionKillTest(CommandNode::Options{.authentication = true}) {}
  explicit SessionKillTest(CommandNode::Options options) : CommandTest(std::move(options)) {
    EXPECT_TRUE(as(root_, R"({"insert": "c", "documents": [{}, {}, {}]})")["ok"].truthy());
    for (const char* user : {"ann", "bob"})
      EXPECT_TRUE(
          server
              .run(bson::doc("createUser", user, "pwd", "x", "roles",
                             std::vector{bson::doc("role", user == std::string("ann") ? "readAnyDatabase" : "dbOwner",
                                                   "db", "admin")}),
                   "admin", root_)["ok"]
              .truthy());
  }
  std::shared_ptr<Client> with(std::vector<std::string> names, std::string_view role) {
    auto client = server.connect(false);
    for (const auto& name : names) {
      AuthenticatedUser user{.name = name, .database = "admin", .internal = true};
      EXPECT_TRUE(user.privileges.addRole(role, "admin").isOK());
      client->users.push_back(std::move(user));
    }
    client->usersChanged();
    return client;
  }
  bson::Document as(const std::shared_ptr<Client>& client, std::string_view json, std::string_view db = "test") {
    return server.run(parse(json), db, client);
  }
  bson::Document as(const std::shared_ptr<Client>& client, const bson::Document& command,
                    std::string_view db = "admin") {
    return server.run(command, db, client);
  }
  static bson::Document lsid(char byte) {
    return bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, byte)});
  }
  static bson::Document lsid(char byte, std::string_view user) {
    return SessionKey(std::string(16, byte), SessionKey::ownerOf(user)).toDocument();
  }
  /// A session with a cursor.
  void open(char byte, const std::shared_ptr<Client>& client) {
    const auto reply = as(client, bson::doc("find", "c", "batchSize", 1, "lsid", lsid(byte)), "test");
    ASSERT_NE(reply.view().at("cursor.id").toInt64(), 0) << bson::toRelaxedJson(reply);
  }
  /// The sessions that still have their cursors, as letters.
  std::string left() {
    std::string letters;
    server.cursors.each([&](const ClientCursor& cursor) {
      letters += cursor.session["id"].asBinary().bytes.front();
      EXPECT_TRUE(server.sessions.contains(*cursor.sessionKey));
    });
    std::ranges::sort(letters);
    EXPECT_EQ(server.sessions.size(), letters.size());
    return letters;
  }
  void openAll() {
    open('a', ann_);
    open('b', bob_);
    open('c', both_);
    open('r', root_);
  }
  void kill(std::string_view command, const std::vector<bson::Document>& patterns) {
    bson::Builder b;
    b.append(command, patterns);
    const auto reply = as(root_, b.finish());
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  int64_t codeOf(const bson::Document& reply) { return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1); }

  const std::shared_ptr<Client> root_ = with({"root"}, "root");
  const std::shared_ptr<Client> ann_ = with({"ann"}, "readAnyDatabase"), bob_ = with({"bob"}, "readAnyDatabase");
  const std::shared_ptr<Client> both_ = with({"ann", "bob"}, "readAnyDatabase");
};

TEST_F(SessionKillTest, UsersAreNamed) {
  openAll();
  kill("killAllSessions", {bson::doc("user", "ann", "db", "shop")});
  EXPECT_EQ(left(), "abcr") << "another ann";
  kill("killAllSessions", {bson::doc("user", "ann", "db", "admin")});
  EXPECT_EQ(left(), "br") << "her own, and the one she shares";
  kill("killAllSessions", {});
  EXPECT_EQ(left(), "");
}

TEST_F(SessionKillTest, PatternsNameSessionsOwnersUsersAndRoles) {
  openAll();
  kill("killAllSessionsByPattern", {bson::doc("lsid", lsid('b', "ann@admin"))});
  EXPECT_EQ(left(), "abcr") << "that is no session of ann";
  kill("killAllSessionsByPattern", {bson::doc("lsid", lsid('b', "bob@admin"))});
  EXPECT_EQ(left(), "acr");
  kill("killAllSessionsByPattern",
       {bson::doc("uid", bson::Binary{bson::kBinaryGeneric, SessionKey::ownerOf("root@admin")})});
  EXPECT_EQ(left(), "ac");
  kill("killAllSessionsByPattern", {bson::doc("lsid", lsid('c'))});
  EXPECT_EQ(left(), "a") << "whoever owns it";
  kill("killAllSessionsByPattern", {bson::doc("users", std::vector{bson::doc("user", "ann", "db", "admin")})});
  EXPECT_EQ(left(), "");
}

TEST_F(SessionKillTest, PatternsOfRolesLookAtTheStoredUsers) {
  openAll();
  const auto role = [](const char* name) { return std::vector{bson::doc("role", name, "db", "admin")}; };
  kill("killAllSessionsByPattern", {bson::doc("roles", role("backup"))});
  EXPECT_EQ(left(), "abcr");
  kill("killAllSessionsByPattern",
       {bson::doc("roles", role("dbOwner"), "users", std::vector{bson::doc("user", "ann", "db", "admin")})});
  EXPECT_EQ(left(), "abr") << "the users of c are ann and one with that role";
  kill("killAllSessionsByPattern", {bson::doc("roles", role("readAnyDatabase"))});
  EXPECT_EQ(left(), "br");
}

TEST_F(SessionKillTest, MalformedPatternsKillNothing) {
  openAll();
  const auto refused = [&](std::string_view command, const bson::Document& pattern) {
    bson::Builder b;
    b.append(command, std::vector{pattern});
    return codeOf(as(root_, b.finish()));
  };
  EXPECT_EQ(refused("killAllSessionsByPattern", bson::doc("user", "ann")), 40415);
  EXPECT_EQ(refused("killAllSessionsByPattern", {}), 2);
  EXPECT_EQ(refused("killAllSessionsByPattern", bson::doc("lsid", lsid('a'), "uid", 1)), 2);
  EXPECT_EQ(refused("killAllSessionsByPattern", bson::doc("uid", 1)), 14);
  EXPECT_EQ(refused("killAllSessionsByPattern", bson::doc("users", 1)), 14);
  EXPECT_EQ(refused("killAllSessions", bson::doc("user", "ann")), 14);
  EXPECT_EQ(refused("killSessions", bson::doc("id", 1)), 14);
  EXPECT_EQ(left(), "abcr");
  EXPECT_EQ(codeOf(as(ann_, bson::doc("killSessions", std::vector{lsid('b', "bob@admin")}))), 13);
  EXPECT_EQ(codeOf(as(ann_, bson::doc("killAllSessionsByPattern", std::vector<bson::Document>()))), 13);
  EXPECT_EQ(left(), "abcr");
}

TEST_F(SessionKillTest, OthersSessionsAreSeenWithThePrivilegeOnly) {
  openAll();
  ASSERT_EQ(codeOf(as(root_, R"({"refreshLogicalSessionCacheNow": 1})", "admin")), 0);
  const auto seen = [&](const std::shared_ptr<Client>& client, std::string_view stage, std::string_view options) {
    const bool stored = stage == "$listSessions";
    const auto reply =
        as(client,
           std::string(R"({"aggregate": )") + (stored ? "\"system.sessions\"" : "1") +
               R"(, "cursor": {}, "pipeline": [{")" + std::string(stage) + "\": " + std::string(options) + "}]}",
           stored ? "config" : "admin");
    if (!reply["ok"].truthy()) return std::to_string(reply["code"].toInt64());
    std::string letters;
    for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray())
      letters += e.asDocument().at("_id.id").asBinary().bytes.front();
    std::ranges::sort(letters);
    return letters;
  };
  for (const char* stage : {"$listSessions", "$listLocalSessions"}) {
    EXPECT_EQ(seen(ann_, stage, "{}"), "a") << stage;
    EXPECT_EQ(seen(ann_, stage, R"({"users": [{"user": "ann", "db": "admin"}]})"), "a") << stage;
    EXPECT_EQ(seen(ann_, stage, R"({"users": [{"user": "bob", "db": "admin"}]})"), "13") << stage;
    EXPECT_EQ(seen(ann_, stage, R"({"users": [{"user": "ann", "db": "admin"}, {"user": "bob", "db": "admin"}]})"),
              "13");
    EXPECT_EQ(seen(ann_, stage, R"({"allUsers": true})"), "13") << stage;
    EXPECT_EQ(seen(root_, stage, R"({"allUsers": true})"), "abcr") << stage;
    EXPECT_EQ(seen(root_, stage, R"({"users": [{"user": "bob", "db": "admin"}]})"), "b") << stage;
    EXPECT_EQ(seen(root_, stage, R"({"everybody": true})"), "40415") << stage;
    EXPECT_EQ(seen(root_, stage, R"({"allUsers": 1})"), "14") << stage;
  }
}

TEST_F(SessionKillTest, OperatorsSeeWhatSessionsDo) {
  openAll();
  EXPECT_EQ(codeOf(as(ann_, R"({"sessionInfo": 1})", "admin")), 13);
  const auto page = as(root_, R"({"sessionInfo": 1, "limit": 3})", "admin");
  const auto rows = page["sessions"].asArray();
  ASSERT_EQ(rows.count(), 3) << bson::toRelaxedJson(page);
  EXPECT_TRUE(holds(page, R"({"total": 4})"_json));
  EXPECT_TRUE(holds(rows.first().asDocument(),
                    R"({"session": "72727272-7272-7272-7272-727272727272", "user": "root@admin", "openCursors": 1,
                        "waiters": 0, "kills": 0})"_json));
  const auto rest = as(root_, bson::doc("sessionInfo", 1, "after", page["next"]));
  ASSERT_EQ(rest["sessions"].asArray().count(), 1) << bson::toRelaxedJson(rest);
  EXPECT_FALSE(rest["next"].ok());
  EXPECT_EQ(codeOf(as(root_, R"({"sessionInfo": 1, "limit": 0})", "admin")), 2);
  EXPECT_EQ(codeOf(as(root_, bson::doc("sessionInfo", 1, "after", lsid('x', "x@x")))), 4);
}

TEST_F(SessionKillTest, EndingSessionsThatNobodyHasEndsNothing) {
  openAll();
  std::vector<bson::Document> strange;
  for (int i = 0; i < 2500; ++i) {
    std::string id(16, 'z');
    std::memcpy(id.data(), &i, sizeof(i));
    strange.push_back(bson::doc("id", bson::Binary{bson::kBinaryUuid, id}));
  }
  bson::Builder b;
  b.append("endSessions", strange);
  const bson::Document command = b.finish();
  EXPECT_EQ(codeOf(as(server.connect(), command)), 0) << "a stranger";
  EXPECT_EQ(codeOf(as(ann_, command)), 0);
  EXPECT_EQ(left(), "abcr");
}

class KillOfWaitersTest : public CommandTest {
 protected:
  KillOfWaitersTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) { becomePrimary(server); }
};

TEST_F(KillOfWaitersTest, WhatAwaitsASessionEndsWithIt) {
  const char* fields = R"("lsid": {"id": {"$binary": {"base64": "y8oFy8jlSZqQT3Dl9CUG7Q==", "subType": "04"}}},
                          "txnNumber": {"$numberLong": "1"})";
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                           "data": {"failCommands": ["insert"], "blockConnection": true, "blockTimeMS": 60000}})",
                       "admin"));
  const auto insert = parse(std::string(R"({"insert": "c", "documents": [{"_id": 1}], )") + fields + "}");
  const auto slow = server.begin(insert, "test", server.connect()),
             waiter = server.begin(insert, "test", server.connect());
  ASSERT_FALSE(slow->done || waiter->done);
  const auto page = run(R"({"sessionInfo": 1})", "admin");
  EXPECT_TRUE(holds(page["sessions"].asArray().first().asDocument(),
                    R"({"waiters": 1, "operation": {"command": "insert", "ns": "test.$cmd"}})"_json))
      << bson::toRelaxedJson(page);
  const auto kills = [&] { return sessionRows(*server.server, nullptr, 1).front()["kills"].toInt64(); };
  EXPECT_EQ(kills(), 0);
  SessionChoice all;
  all.addAll();
  killWorkOf(*server.server, all, nullptr);
  killWorkOf(*server.server, all, nullptr);
  EXPECT_EQ(kills(), 2) << "its command has not answered yet";  // SES-011
  server.node.advance(1s);
  ASSERT_TRUE(slow->done && waiter->done);
  EXPECT_EQ(kills(), 0);
  EXPECT_EQ(slow->takeReply()["code"].toInt64(), 11601);
  EXPECT_EQ(waiter->takeReply()["code"].toInt64(), 11601);
}

}  // namespace troupe::commands
