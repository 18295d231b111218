// Who kills which sessions, who sees which, and what operators see of them.
#include "actors/commands/session_inspection.hpp"
#include "actors/commands/session_listing.hpp"
#include "actors/server/session_access.hpp"
#include "actors/server/session_catalog.hpp"
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
    for (const auto& client : {ann_, bob_, both_}) {
      for (AuthenticatedUser& user : client->users) user.id = keyOf(user.name).id;
      client->usersChanged();
    }
  }
  UserKey keyOf(std::string_view user) { return *server.users->keyOf(user, "admin"); }
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
  bson::Document lsid(char byte, std::string_view user) {
    return SessionKey(std::string(16, byte), SessionKey::ownerOf(keyOf(user))).toDocument();
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
  /// Ids of sessions that nobody has.
  static std::vector<bson::Document> strange(int count) {
    std::vector<bson::Document> ids;
    for (int i = 0; i < count; ++i) {
      std::string id(16, 'z');
      std::memcpy(id.data(), &i, sizeof(i));
      ids.push_back(bson::doc("id", bson::Binary{bson::kBinaryUuid, id}));
    }
    return ids;
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
  kill("killAllSessionsByPattern", {bson::doc("lsid", lsid('b', "ann"))});
  EXPECT_EQ(left(), "abcr") << "that is no session of ann";
  kill("killAllSessionsByPattern", {bson::doc("lsid", lsid('b', "bob"))});
  EXPECT_EQ(left(), "acr");
  kill("killAllSessionsByPattern",
       {bson::doc("uid", bson::Binary{bson::kBinaryGeneric, SessionKey::ownerOf(keyOf("root"))})});
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

TEST_F(SessionKillTest, PatternsOfSeveralKindsEndWhatEachOfThemNames) {
  openAll();
  ASSERT_EQ(codeOf(as(root_, R"({"refreshLogicalSessionCacheNow": 1})", "admin")), 0);
  kill("killAllSessionsByPattern",
       {bson::doc("lsid", lsid('z', "bob")), bson::doc("lsid", lsid('r')),
        bson::doc("uid", bson::Binary{bson::kBinaryGeneric, SessionKey::ownerOf(keyOf("ann"))})});
  EXPECT_EQ(left(), "bc");
  EXPECT_EQ(server.sessions.ended(), 3u) << "z, too, of which only the collection may know";
}

TEST_F(SessionKillTest, ANamesakeHasNoPartInAUsersSessionsAndCursors) {
  ASSERT_EQ(codeOf(as(root_, R"({"createUser": "ann@x", "pwd": "x", "roles": ["root"]})", "admin")), 0);
  ASSERT_EQ(codeOf(as(root_, R"({"createUser": "ann", "pwd": "x", "roles": []})", "x@admin")), 0);
  const auto connect = [&](std::string_view user, std::string_view database) {
    auto client = server.connect(false);
    client->users.push_back(std::move(**server.users->load(user, database)));
    client->usersChanged();
    return client;
  };
  const auto victim = connect("ann@x", "admin"), namesake = connect("ann", "x@admin");
  ASSERT_EQ(victim->userNames(), namesake->userNames());
  open('v', victim);
  EXPECT_EQ(codeOf(as(namesake, R"({"killSessions": []})", "admin")), 0);
  EXPECT_EQ(left(), "v") << "it has ended its own sessions, none";
  const auto seen =
      as(namesake, R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listLocalSessions": {}}]})", "admin");
  EXPECT_TRUE(holds(seen, R"({"cursor": {"firstBatch": []}})"_json));
  int64_t cursor = 0;
  server.cursors.each([&](const ClientCursor& one) { cursor = one.id; });
  EXPECT_EQ(codeOf(as(namesake, bson::doc("killCursors", "c", "cursors", std::vector{cursor}), "test")), 13);
}

TEST_F(SessionKillTest, AUserMadeAgainInheritsNoSessions) {
  open('a', ann_);
  ASSERT_EQ(codeOf(as(root_, R"({"dropUser": "ann"})", "admin")), 0);
  ASSERT_EQ(codeOf(as(root_, R"({"createUser": "ann", "pwd": "x", "roles": ["readAnyDatabase"]})", "admin")), 0);
  const auto again = with({"ann"}, "readAnyDatabase");
  again->users.front().id = keyOf("ann").id;
  again->usersChanged();
  EXPECT_EQ(codeOf(as(again, R"({"killSessions": []})", "admin")), 0);
  EXPECT_EQ(left(), "a");
  EXPECT_EQ(codeOf(as(again, bson::doc("killSessions", std::vector{lsid('a')}))), 0) << "another session of that id";
  EXPECT_EQ(left(), "a");
  kill("killAllSessions", {bson::doc("user", "ann", "db", "admin")});
  EXPECT_EQ(left(), "") << "of all users who have had that name";
}

/// A session that gave its place in the cache to others is known by its cursors.
TEST_F(SessionKillTest, SessionsThatTheCacheHasForgottenEndWithTheirCursors) {
  openAll();
  server.parameters.maxSessions = 1;
  ASSERT_EQ(codeOf(as(root_, bson::doc("ping", 1, "lsid", lsid('y')))), 0);
  ASSERT_EQ(server.sessions.size(), 1u);
  ASSERT_EQ(server.cursors.statistics().open, 4);
  kill("killAllSessionsByPattern", {bson::doc("lsid", lsid('b'))});
  EXPECT_EQ(server.cursors.statistics().open, 3);
  kill("killAllSessions", {bson::doc("user", "ann", "db", "admin")});
  EXPECT_EQ(server.cursors.statistics().open, 1) << "her own, and the one she shares";
  kill("killAllSessions", {});
  EXPECT_EQ(server.cursors.statistics().open, 0);
}

/// Who has ended is known by the name alone: the cursors tell whose they are.
TEST_F(SessionKillTest, CursorsOfADroppedUserEndAlsoWhereTheCacheHasForgottenTheirSession) {
  open('a', ann_);
  ASSERT_EQ(codeOf(as(root_, R"({"dropUser": "ann"})", "admin")), 0);
  server.parameters.maxSessions = 1;
  ASSERT_EQ(codeOf(as(root_, bson::doc("ping", 1, "lsid", lsid('y')))), 0);
  ASSERT_EQ(server.cursors.statistics().open, 1);
  kill("killAllSessions", {bson::doc("user", "bob", "db", "admin")});
  EXPECT_EQ(server.cursors.statistics().open, 1);
  kill("killAllSessions", {bson::doc("user", "ann", "db", "admin")});
  EXPECT_EQ(server.cursors.statistics().open, 0);
}

TEST_F(SessionKillTest, SaysHowManySessionsItKnew) {
  openAll();
  const auto killed = [&](const std::vector<bson::Document>& patterns) {
    bson::Builder b;
    b.append("killAllSessionsByPattern", patterns);
    return as(root_, b.finish())["sessions"].toInt64(-1);
  };
  EXPECT_EQ(killed({bson::doc("lsid", lsid('x'))}), 0);
  EXPECT_EQ(killed({bson::doc("lsid", lsid('x', "ann"))}), 0);
  EXPECT_EQ(killed({bson::doc("lsid", lsid('a')), bson::doc("lsid", lsid('x', "ann"))}), 1);
  EXPECT_EQ(killed({bson::doc("lsid", lsid('a'))}), 0) << "it has ended";
  EXPECT_EQ(killed({}), 3);
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
  EXPECT_EQ(codeOf(as(ann_, bson::doc("killSessions", std::vector{lsid('b', "bob")}))), 13);
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

/// Each user of a list is looked for: who may not see them costs nothing, and others can be interrupted.
TEST_F(SessionKillTest, ListedUsersAreLookedForOnceTheClientMaySeeThem) {
  std::vector<bson::Document> users(1000, bson::doc("user", "bob", "db", "admin"));
  const auto options = bson::doc("users", users);
  int steps = 0;
  const std::function<Status()> third = [&]() -> Status {
    return ++steps < 3 ? Status::OK() : Status(ErrorCode::kMaxTimeMSExpired, "late");
  };
  SessionViewer viewer{SessionKey::ownerOf(keyOf("ann")), keyOf("ann"), false};
  const auto list = [&](bson::View given) {
    return ListedSessions::of("$listSessions", given, viewer, *server.users, third).status().code();
  };
  EXPECT_EQ(list(options), ErrorCode::kUnauthorized);
  EXPECT_EQ(list(bson::doc("users", std::vector(1000, bson::doc("user", "ann", "db", "admin")))), ErrorCode::kOK);
  EXPECT_EQ(steps, 0);
  viewer.mayListAny = true;
  EXPECT_EQ(list(options), ErrorCode::kMaxTimeMSExpired);
  EXPECT_EQ(steps, 3);
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
}

TEST_F(SessionKillTest, PagesGoOnWhenTheirLastSessionIsUsedOrEnds) {
  openAll();
  const auto page = as(root_, R"({"sessionInfo": 1, "limit": 2})", "admin");
  const auto rest = [&] {
    std::string letters;
    const auto reply = as(root_, bson::doc("sessionInfo", 1, "after", page["next"]));
    for (const bson::Element& e : reply["sessions"].asArray())
      letters += e.asDocument().at("_id.id").asBinary().bytes.front();
    return letters;
  };
  EXPECT_EQ(rest(), "ba");
  ASSERT_EQ(codeOf(as(both_, bson::doc("ping", 1, "lsid", lsid('c')))), 0);
  EXPECT_EQ(rest(), "ba");
  kill("killSessions", {lsid('c')});
  EXPECT_EQ(rest(), "ba");
  EXPECT_EQ(codeOf(as(root_, bson::doc("sessionInfo", 1, "after", lsid('x', "x")))), 14);
}

/// So many sessions take more than one turn, and are paid for.
TEST_F(SessionKillTest, WorkOnManySessionsGoesInPieces) {
  openAll();
  const auto yields = [&](const bson::Document& command) {
    const auto exchange = server.begin(command, "admin", root_);
    EXPECT_TRUE(exchange->done);
    EXPECT_EQ(codeOf(exchange->takeReply()), 0);
    return exchange->operation.metrics.yields.load();
  };
  const auto named = [&](std::string_view command) {
    bson::Builder b;
    b.append(command, strange(5000));
    return b.finish();
  };
  EXPECT_GE(yields(named("refreshSessions")), 5);
  EXPECT_GE(yields(named("endSessions")), 5);
  EXPECT_GE(yields(named("killSessions")), 10);
  bson::Builder users, all;
  std::vector<bson::Document> names;
  for (int i = 0; i < 5000; ++i) names.push_back(bson::doc("user", "u" + std::to_string(i), "db", "admin"));
  users.append("killAllSessionsByPattern", std::vector{bson::doc("users", names)});
  EXPECT_GE(yields(users.finish()), 10);
  as(root_, named("refreshSessions"));
  all.append("killAllSessions", std::vector<bson::Document>());
  EXPECT_GE(yields(all.finish()), 5);
  EXPECT_EQ(left(), "");
}

TEST_F(SessionKillTest, LongListsArePaidFor) {
  openAll();
  server.parameters.operationMemoryLimitBytes = 1 << 20;
  bson::Builder ids, names;
  ids.append("killSessions", strange(20'000));
  EXPECT_EQ(codeOf(as(root_, ids.finish())), 146);
  std::vector<bson::Document> users;
  for (int i = 0; i < 20'000; ++i) users.push_back(bson::doc("user", "u" + std::to_string(i), "db", "admin"));
  names.append("killAllSessions", users);
  EXPECT_EQ(codeOf(as(root_, names.finish())), 146);
  EXPECT_EQ(left(), "abcr") << "nothing was killed";
}

TEST_F(SessionKillTest, EndingSessionsThatNobodyHasEndsNothing) {
  openAll();
  bson::Builder b;
  b.append("endSessions", strange(2500));
  const bson::Document command = b.finish();
  EXPECT_EQ(codeOf(as(server.connect(), command)), 0) << "a stranger";
  EXPECT_EQ(codeOf(as(ann_, command)), 0);
  EXPECT_EQ(left(), "abcr");
}

/// Sessions that services of the node have: no client has an operation in them.
class KillOfWaitersTest : public CommandTest {
 protected:
  /// An operation that wants a session, has it, or was refused.
  struct Use {
    explicit Use(const ServerContext& server) : operation(server.operations, storage::OperationOrigin::kService) {}
    bool isInterrupted() { return operation.checkForInterrupt({}) == ErrorCode::kInterrupted; }
    storage::OperationContext operation;
    std::optional<StatusWith<SessionCatalog::CheckedOut>> outcome;
  };

  KillOfWaitersTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) { becomePrimary(server); }
  void begin(Use& use) {
    const auto work = [](SessionCatalog* catalog, Node* node, Use* wish) -> Task<void> {
      storage::SessionId session;
      session.id.fill('s');
      std::ranges::copy(SessionKey::nobody(), session.uid.begin());
      auto outcome = co_await catalog->checkOut(*node, wish->operation, session);
      wish->outcome.emplace(std::move(outcome));
    };
    server.node.start(work(server.server->sessionCatalog, &server.node, &use));
    server.node.run();
  }
  static bson::Document lsid() { return bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, 's')}); }
};

TEST_F(KillOfWaitersTest, WhatAwaitsASessionEndsWithIt) {
  for (const bool isNamed : {true, false}) {
    Use holder(*server.server), waiter(*server.server);
    begin(holder);
    ASSERT_TRUE(holder.outcome && holder.outcome->isOK());
    begin(waiter);
    const bson::Document one = bson::doc("_id", 1);
    const auto insert =
        server.begin(bson::doc("insert", "c", "documents", bson::array(one), "lsid", lsid(), "txnNumber", int64_t{1}),
                     "test", server.connect());
    ASSERT_FALSE(waiter.outcome || insert->done);
    const auto page = run(R"({"sessionInfo": 1})", "admin");
    EXPECT_TRUE(holds(page["sessions"].asArray().first().asDocument(),
                      R"({"waiters": 2, "operation": {"command": "insert"}})"_json))
        << bson::toRelaxedJson(page);
    bson::Builder kill;
    kill.append(isNamed ? "killSessions" : "killAllSessions",
                isNamed ? std::vector{lsid()} : std::vector<bson::Document>());
    ASSERT_TRUE(server.run(kill.finish(), "admin")["ok"].truthy());
    server.node.run();
    EXPECT_TRUE(holder.isInterrupted()) << isNamed;
    ASSERT_TRUE(waiter.outcome && insert->done) << isNamed;
    EXPECT_EQ(waiter.outcome->status(), ErrorCode::kInterrupted);
    EXPECT_EQ(insert->takeReply()["code"].toInt64(), 11601);
  }
}

TEST_F(KillOfWaitersTest, KillsAreShownUntilTheCommandHasAnswered) {  // SES-011
  Use holder(*server.server);
  begin(holder);
  ASSERT_TRUE(holder.outcome && holder.outcome->isOK());
  ASSERT_TRUE(server.run(bson::doc("ping", 1, "lsid", lsid()))["ok"].truthy());
  const auto kills = [&] {
    const bson::Document page = run(R"({"sessionInfo": 1})", "admin");
    return page["sessions"].asArray().first().asDocument()["kills"].toInt64(-1);
  };
  EXPECT_EQ(kills(), 0);
  const SessionKey key(std::string(16, 's'), {});
  server.server->sessionCatalog->kill(key);
  server.server->sessionCatalog->kill(key);
  EXPECT_EQ(kills(), 2);
  holder.outcome.reset();
  server.node.run();
  EXPECT_EQ(kills(), 0);
}

}  // namespace troupe::commands
