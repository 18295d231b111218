// User commands, log-in by SCRAM, and what users may do.
#include <functional>

#include "messaging/auth/scram.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class UserTest : public CommandTest {
 protected:
  UserTest() : CommandTest({.authentication = true}) {}

  /// Makes the client a logged-in user with what the stored roles allow, as a SCRAM conversation would.
  std::shared_ptr<Client> loggedIn(std::string_view user, std::string_view db = "admin") {
    auto client = server.connect();
    auto loaded = server.users->load(user, db);
    EXPECT_TRUE(loaded.isOK() && *loaded) << user;
    if (loaded.isOK() && *loaded) client->users.push_back(std::move(**loaded));
    return client;
  }
  int64_t codeAs(const std::shared_ptr<Client>& who, std::string_view json, std::string_view db = "test") {
    const bson::Document reply = server.run(parse(json), db, who);
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  void makeRoot() { ASSERT_EQ(code(R"({"createUser": "root", "pwd": "secret", "roles": ["root"]})", "admin"), 0); }
};

TEST_F(UserTest, NobodyMayDoAnythingBeforeLoggingIn) {
  EXPECT_EQ(code(R"({"find": "c"})"), 13);
  EXPECT_EQ(code(R"({"ping": 1})"), 0);
  EXPECT_EQ(code(R"({"hello": 1})"), 0);
}

TEST_F(UserTest, ALocalClientMakesTheFirstUserAndOnlyTheFirst) {
  EXPECT_EQ(codeAs(server.connect(false), R"({"createUser": "a", "pwd": "x", "roles": []})", "admin"), 13);
  EXPECT_EQ(code(R"({"createUser": "a", "pwd": "x", "roles": []})", "test"), 13);
  makeRoot();
  EXPECT_EQ(code(R"({"createUser": "again", "pwd": "x", "roles": ["root"]})", "admin"), 13);
}

TEST_F(UserTest, TheLocalhostExceptionCanBeSwitchedOff) {
  server.parameters.enableLocalhostAuthBypass = false;
  EXPECT_EQ(code(R"({"createUser": "root", "pwd": "x", "roles": ["root"]})", "admin"), 13);
}

TEST_F(UserTest, WhoIsLoggedInFeelsAChangeOfRolesAtOnce) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": []})", "admin"), 0);
  const auto ann = loggedIn("ann");
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
  ASSERT_EQ(codeAs(root, R"({"grantRolesToUser": "ann", "roles": [{"role": "read", "db": "test"}]})", "admin"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
  ASSERT_EQ(codeAs(root, R"({"dropUser": "ann"})", "admin"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": ["root"]})", "admin"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13) << "another user of the same name";
}

TEST_F(UserTest, WhoeverWritesTheUsersChangesWhatConnectionsMayDo) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})", "admin"),
            0);
  const auto ann = loggedIn("ann");
  ASSERT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
  ASSERT_EQ(
      codeAs(root,
             R"({"update": "system.users", "updates": [{"q": {"_id": "admin.ann"}, "u": {"$set": {"roles": []}}}]})",
             "admin"),
      0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
  ASSERT_EQ(codeAs(root, R"({"grantRolesToUser": "ann", "roles": [{"role": "read", "db": "test"}]})", "admin"), 0);
  ASSERT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
  ASSERT_EQ(
      codeAs(root, R"({"delete": "system.users", "deletes": [{"q": {"_id": "admin.ann"}, "limit": 1}]})", "admin"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
}

TEST_F(UserTest, UsersInfoFiltersWhatItShows) {
  makeRoot();
  const auto root = loggedIn("root");
  for (const auto* user : {R"({"createUser": "ann", "pwd": "x", "roles": [], "customData": {"team": 1}})",
                           R"({"createUser": "bob", "pwd": "x", "roles": [], "customData": {"team": 2}})"})
    ASSERT_EQ(codeAs(root, user), 0);
  const auto info = [&](std::string_view json) { return server.run(parse(json), "test", root); };
  EXPECT_TRUE(holds(info(R"({"usersInfo": 1, "filter": {"customData.team": 2}})"),
                    R"({"users": [{"user": "bob", "customData": {"team": 2}}]})"_json));
  EXPECT_TRUE(holds(info(R"({"usersInfo": {"forAllDBs": true}, "filter": {"user": "ann"}, "showCustomData": false})"),
                    R"({"users": [{"user": "ann"}]})"_json));
  EXPECT_FALSE(info(R"({"usersInfo": "ann", "showCustomData": false})").view().at("users.0.customData").ok());
  EXPECT_TRUE(info(R"({"usersInfo": "ann"})").view().at("users.0.customData").ok());
  EXPECT_TRUE(info(R"({"usersInfo": 1, "filter": {"credentials": {"$exists": true}}})")["users"].asArray().empty())
      << "it does not reach what is not shown";
  EXPECT_EQ(info(R"({"usersInfo": "ann", "filter": {"user": "ann"}})")["code"].toInt64(), 72);
}

TEST_F(UserTest, AChangeOfUsersThatIsUndoneChangesNothing) {
  makeRoot();
  const int64_t version = server.users->version();
  EXPECT_EQ(codeAs(loggedIn("root"), R"({"createUser": "root", "pwd": "secret", "roles": []})", "admin"), 51003);
  EXPECT_EQ(server.users->version(), version);
}

TEST_F(UserTest, CursorsBelongToWhoOpenedThem) {
  makeRoot();
  const auto root = loggedIn("root");
  for (const auto name : {"ann", "bob"}) {
    ASSERT_TRUE(server
                    .run(bson::doc("createUser", name, "pwd", "x", "roles",
                                   std::vector{bson::doc("role", "read", "db", "test")}),
                         "admin", root)["ok"]
                    .truthy());
  }
  const auto ann = loggedIn("ann"), bob = loggedIn("bob");
  ASSERT_EQ(codeAs(root, R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})"), 0);
  const auto open = [&](const std::shared_ptr<Client>& who) {
    return server.run(R"({"find": "c", "batchSize": 1})"_json, "test", who).view().at("cursor.id").toInt64();
  };
  const auto more = [&](int64_t id, const std::shared_ptr<Client>& who) {
    return server.run(bson::doc("getMore", id, "collection", "c", "batchSize", 1), "test", who)["code"].toInt64();
  };
  const auto kill = [&](std::vector<int64_t> ids, const std::shared_ptr<Client>& who) {
    return server.run(bson::doc("killCursors", "c", "cursors", ids), "test", who);
  };
  const int64_t mine = open(ann);
  EXPECT_EQ(more(mine, bob), 13);
  EXPECT_EQ(kill({open(bob), mine}, bob)["code"].toInt64(), 13);
  EXPECT_EQ(server.cursors.statistics().open, 2) << "all of them or none";
  EXPECT_EQ(more(mine, ann), 0);
  EXPECT_TRUE(holds(kill({mine, 77}, ann), bson::doc("ok", 1, "cursorsKilled", std::vector{mine})));
  EXPECT_EQ(more(mine, ann), 43);
  EXPECT_EQ(more(mine, bob), 43);
  const int64_t hers = open(ann);
  EXPECT_TRUE(holds(kill({hers}, root), bson::doc("ok", 1, "cursorsKilled", std::vector{hers}))) << "killAnyCursor";
}

TEST_F(UserTest, ACursorNeedsThePrivilegesThatOpenedItAlsoWhereOneOwnerStays) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})"), 0);
  ASSERT_EQ(codeAs(root, R"({"createUser": "stays", "pwd": "x", "roles": []})", "other"), 0);
  const auto both = loggedIn("root");
  both->users.push_back(loggedIn("stays", "other")->users.front());
  both->usersChanged();
  const int64_t id = server.run(R"({"find": "c", "batchSize": 1})"_json, "test", both).view().at("cursor.id").toInt64();
  ASSERT_EQ(codeAs(both, R"({"logout": 1})", "admin"), 0);
  EXPECT_EQ(server.run(bson::doc("getMore", id, "collection", "c"), "test", both)["code"].toInt64(), 13);
}

TEST_F(UserTest, TheLocalhostExceptionEndsWithItsCommand) {
  EXPECT_EQ(code(R"({"createUser": "a", "pwd": "x", "roles": ["nonesuch"]})", "admin"), 31);
  EXPECT_TRUE(server.client->localhostException);
  EXPECT_EQ(code(R"({"hello": 1})", "admin"), 0);
  EXPECT_FALSE(server.client->localhostException);
}

TEST_F(UserTest, ALocalClientMayMakeTheSetWhileThereIsNoUser) {
  constexpr const char* kInitiate = R"({"replSetInitiate": {}})";
  constexpr int64_t kNoReplication = 76, kUnauthorized = 13;
  EXPECT_EQ(code(kInitiate, "admin"), kNoReplication) << "it got as far as that";
  EXPECT_EQ(codeAs(server.connect(false), kInitiate, "admin"), kUnauthorized) << "from afar";
  server.parameters.enableLocalhostAuthBypass = false;
  EXPECT_EQ(codeAs(server.connect(), kInitiate, "admin"), kUnauthorized);
  server.parameters.enableLocalhostAuthBypass = true;
  makeRoot();
  EXPECT_EQ(codeAs(server.connect(), kInitiate, "admin"), kUnauthorized) << "there is somebody to log in as";
}

TEST_F(UserTest, RestrictionsThatNobodyWouldCheckAreRefused) {
  makeRoot();
  const auto root = loggedIn("root");
  const char* restricted = R"({"createUser": "r", "pwd": "x", "roles": [],
                               "authenticationRestrictions": [{"clientSource": ["10.0.0.1"]}]})";
  EXPECT_EQ(codeAs(root, restricted, "admin"), 238);
  EXPECT_EQ(codeAs(root, R"({"createUser": "r", "pwd": "x", "roles": [], "authenticationRestrictions": []})", "admin"),
            0);
  EXPECT_EQ(
      codeAs(root, R"({"updateUser": "r", "authenticationRestrictions": [{"clientSource": ["10.0.0.1"]}]})", "admin"),
      238);
}

TEST_F(UserTest, TheCatalogIsForThoseWhoMayInspectTheServer) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "reader", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})", "admin"),
            0);
  const auto all = R"({"aggregate": 1, "pipeline": [{"$listCatalog": {}}], "cursor": {}})";
  const auto one = R"({"aggregate": "c", "pipeline": [{"$listCatalog": {}}], "cursor": {}})";
  EXPECT_EQ(codeAs(loggedIn("reader"), all, "admin"), 13);
  EXPECT_EQ(codeAs(loggedIn("reader"), one), 13);
  EXPECT_EQ(codeAs(root, all, "admin"), 0);
  EXPECT_EQ(codeAs(root, one), 0);
}

TEST_F(UserTest, RolesDecideWhatAUserMayDo) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "reader", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})", "admin"),
            0);
  ASSERT_EQ(codeAs(root, R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
  const auto reader = loggedIn("reader");
  EXPECT_EQ(codeAs(reader, R"({"find": "c"})"), 0);
  EXPECT_EQ(codeAs(reader, R"({"insert": "c", "documents": [{"_id": 2}]})"), 13);
  EXPECT_EQ(codeAs(reader, R"({"find": "c"})", "other"), 13);
  EXPECT_EQ(codeAs(reader, R"({"serverStatus": 1})", "admin"), 13);
  EXPECT_EQ(codeAs(reader, R"({"createUser": "x", "pwd": "x", "roles": []})", "admin"), 13);
}

TEST_F(UserTest, APipelineNeedsTheRightToItsTarget) {
  makeRoot();
  ASSERT_EQ(codeAs(loggedIn("root"),
                   R"({"createUser": "reader", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})", "admin"),
            0);
  EXPECT_EQ(codeAs(loggedIn("reader"), R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "d"}]})"), 13);
}

TEST_F(UserTest, AreStoredWithCredentialsThatNobodySees) {
  makeRoot();
  const bson::Document info = server.run(R"({"usersInfo": "root"})"_json, "admin", loggedIn("root"));
  EXPECT_TRUE(holds(info, R"({"ok": 1, "users": [{"_id": "admin.root", "user": "root", "db": "admin",
                              "roles": [{"role": "root", "db": "admin"}], "mechanisms": ["SCRAM-SHA-1", "SCRAM-SHA-256"]}]})"_json));
  EXPECT_FALSE(info.view().at("users.0.credentials").ok());
}

TEST_F(UserTest, AreRefusedTwiceOrWithUnknownRoles) {
  makeRoot();
  const auto root = loggedIn("root");
  EXPECT_EQ(codeAs(root, R"({"createUser": "root", "pwd": "x", "roles": []})", "admin"), 51003);
  EXPECT_EQ(codeAs(root, R"({"createUser": "a", "pwd": "x", "roles": ["noSuchRole"]})", "admin"), 31);
  EXPECT_EQ(codeAs(root, R"({"createUser": "a", "roles": []})", "admin"), 2);
  EXPECT_EQ(codeAs(root, R"({"updateUser": "nobody", "customData": {}})", "admin"), 11);
  EXPECT_EQ(codeAs(root, R"({"dropUser": "nobody"})", "admin"), 11);
}

TEST_F(UserTest, GainAndLoseRoles) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "a", "pwd": "x", "roles": []})", "test"), 0);
  EXPECT_EQ(codeAs(root, R"({"grantRolesToUser": "a", "roles": ["readWrite"]})", "test"), 0);
  EXPECT_EQ(codeAs(loggedIn("a", "test"), R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
  EXPECT_EQ(codeAs(root, R"({"revokeRolesFromUser": "a", "roles": ["readWrite"]})", "test"), 0);
  EXPECT_EQ(codeAs(loggedIn("a", "test"), R"({"insert": "c", "documents": [{"_id": 2}]})"), 13);
  EXPECT_EQ(codeAs(root, R"({"dropUser": "a"})", "test"), 0);
  EXPECT_TRUE(holds(server.run(R"({"usersInfo": 1})"_json, "test", root), R"({"users": []})"_json));
}

TEST_F(UserTest, RolesThatGoAreRevokedHoweverTheyGo) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "boss", "pwd": "x", "roles": [{"role": "dbOwner", "db": "other"}]})"), 0);
  ASSERT_EQ(codeAs(root, R"({"createUser": "clerk", "pwd": "x", "roles": [{"role": "userAdmin", "db": "test"}]})"), 0);
  const auto clerk = loggedIn("clerk", "test");
  EXPECT_EQ(codeAs(clerk, R"({"revokeRolesFromUser": "boss", "roles": [{"role": "dbOwner", "db": "other"}]})"), 13);
  EXPECT_EQ(codeAs(clerk, R"({"updateUser": "boss", "roles": []})"), 13);
  EXPECT_EQ(codeAs(clerk, R"({"updateUser": "boss", "roles": ["read"]})"), 13) << "the other one would go";
  EXPECT_EQ(codeAs(clerk, R"({"updateUser": "boss", "roles": ["read", {"role": "dbOwner", "db": "other"}]})"), 0);
  EXPECT_EQ(codeAs(clerk, R"({"updateUser": "boss", "roles": [{"role": "dbOwner", "db": "other"}]})"), 0);
  EXPECT_EQ(codeAs(clerk, R"({"grantRolesToUser": "boss", "roles": []})"), 2);
}

TEST_F(UserTest, OneselfIsChangedWithTheRightToThat) {
  makeRoot();
  ASSERT_EQ(codeAs(loggedIn("root"), R"({"createUser": "ann", "pwd": "x", "roles": ["readWrite"]})"), 0);
  const auto ann = loggedIn("ann", "test");
  EXPECT_EQ(codeAs(ann, R"({"updateUser": "ann", "pwd": "y"})"), 13);
  ann->users.front().version = server.users->version();
  ann->users.front().privileges.add({.database = "test"}, auth::actions({auth::Action::kChangeOwnPassword}));
  EXPECT_EQ(codeAs(ann, R"({"updateUser": "ann", "pwd": "y", "customData": {}})"), 13) << "the password alone";
  EXPECT_EQ(codeAs(ann, R"({"updateUser": "ann", "pwd": "y"})"), 0);
}

TEST_F(UserTest, OthersAreShownToThoseWhoMayViewThem) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": ["readWrite"]})"), 0);
  ASSERT_EQ(codeAs(root, R"({"createUser": "bob", "pwd": "x", "roles": [{"role": "userAdmin", "db": "admin"}]})"), 0);
  const auto ann = loggedIn("ann", "test"), bob = loggedIn("bob", "test");
  EXPECT_EQ(codeAs(ann, R"({"usersInfo": "ann"})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"usersInfo": "ann", "showCredentials": true})"), 13);
  for (const auto asked : {R"({"usersInfo": "bob"})", R"({"usersInfo": "nobody"})", R"({"usersInfo": 1})",
                           R"({"usersInfo": ["ann", "bob"]})", R"({"usersInfo": {"forAllDBs": true}})"})
    EXPECT_EQ(codeAs(ann, asked), 13) << asked << ": whether there is such a user is not told";
  const auto seen = server.run(R"({"usersInfo": {"forAllDBs": true}})"_json, "admin", bob);
  EXPECT_EQ(seen["users"].asArray().count(), 1) << "root: those of the database admin";
  EXPECT_EQ(server.run(R"({"usersInfo": {"forAllDBs": true}})"_json, "admin", root)["users"].asArray().count(), 3);
}

/// Log-ins by SCRAM, step by step as a driver takes them.
class LoginTest : public UserTest {
 protected:
  /// The reply to the last step. `meanwhile`: what happens once the password is proven, before that step.
  bson::Document logIn(const std::shared_ptr<Client>& client, const char* user, const char* password,
                       const std::function<void()>& meanwhile = nullptr) {
    auth::ScramClient scram(auth::Mechanism::kScramSha256, user, password, "clientnonce1234567890abc");
    const auto send = [&](const char* command, std::string payload) {
      return server.run(bson::doc(command, 1, "conversationId", 1, "payload", binary(payload)), "admin", client);
    };
    const auto begun = server.run(
        bson::doc("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload", binary(scram.first())), "admin", client);
    EXPECT_TRUE(holds(begun, R"({"ok": 1, "done": false})"_json));
    if (!begun["ok"].truthy()) return begun;
    const auto proof = scram.final(begun["payload"].asBinary().bytes);
    EXPECT_TRUE(proof.isOK()) << proof.status().toString();
    auto answer = send("saslContinue", *proof);
    if (!answer["ok"].truthy()) return answer;
    EXPECT_TRUE(scram.verify(answer["payload"].asBinary().bytes).isOK());
    if (meanwhile) meanwhile();
    return answer["done"].truthy() ? answer : send("saslContinue", "");
  }
  static bson::Binary binary(std::string_view bytes) { return {bson::kBinaryGeneric, bytes}; }
};

TEST_F(LoginTest, TheRightPasswordOpensTheDoor) {
  makeRoot();
  const auto client = server.connect(false);
  EXPECT_EQ(codeAs(client, R"({"find": "c"})"), 13);
  EXPECT_TRUE(holds(logIn(client, "root", "secret"), R"({"ok": 1, "done": true})"_json));
  EXPECT_EQ(codeAs(client, R"({"find": "c"})"), 0);
  EXPECT_TRUE(holds(server.run(R"({"connectionStatus": 1})"_json, "admin", client),
                    R"({"authInfo": {"authenticatedUsers": [{"user": "root", "db": "admin"}]}})"_json));
}

TEST_F(LoginTest, AWrongPasswordAndAnUnknownUserLookTheSame) {
  makeRoot();
  const auto client = server.connect();
  const auto refused =
      R"({"ok": 0, "code": 18, "codeName": "AuthenticationFailed", "errmsg": "Authentication failed."})"_json;
  EXPECT_TRUE(holds(logIn(client, "root", "wrong"), refused));
  EXPECT_TRUE(holds(logIn(client, "nobody", "secret"), refused));
  EXPECT_FALSE(client->authenticated());
}

TEST_F(LoginTest, ANewPasswordReplacesTheOld) {
  makeRoot();
  ASSERT_EQ(codeAs(loggedIn("root"), R"({"updateUser": "root", "pwd": "changed"})", "admin"), 0);
  EXPECT_FALSE(logIn(server.connect(), "root", "secret")["ok"].truthy());
  EXPECT_TRUE(logIn(server.connect(), "root", "changed")["ok"].truthy());
}

TEST_F(LoginTest, APasswordThatIsReplacedMeanwhileProvesNothing) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": []})", "admin"), 0);
  for (const char* change : {R"({"updateUser": "ann", "pwd": "x"})", R"({"updateUser": "ann", "pwd": "y"})"}) {
    const auto client = server.connect();
    const auto refused = logIn(client, "ann", "x", [&] { EXPECT_EQ(codeAs(root, change, "admin"), 0); });
    EXPECT_EQ(refused["code"].toInt64(), 18) << change;
    EXPECT_FALSE(client->authenticated()) << change;
  }
}

TEST_F(LoginTest, AUserWhoIsDroppedMeanwhileIsNotAdmitted) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": []})", "admin"), 0);
  const auto client = server.connect();
  const auto refused =
      logIn(client, "ann", "x", [&] { EXPECT_EQ(codeAs(root, R"({"dropUser": "ann"})", "admin"), 0); });
  EXPECT_EQ(refused["code"].toInt64(), 18);
  EXPECT_FALSE(client->authenticated());
}

TEST_F(LoginTest, AUserWhoIsMadeAgainMeanwhileIsAnotherOne) {
  makeRoot();
  const auto root = loggedIn("root");
  const auto make = [&] {
    EXPECT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": ["root"]})", "admin"), 0);
  };
  make();
  const auto client = server.connect();
  const auto refused = logIn(client, "ann", "x", [&] {
    EXPECT_EQ(codeAs(root, R"({"dropUser": "ann"})", "admin"), 0);
    make();
  });
  EXPECT_EQ(refused["code"].toInt64(), 18);
  EXPECT_FALSE(client->authenticated());
}

TEST_F(LoginTest, RolesThatAreGrantedMeanwhileAreTheUsers) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "ann", "pwd": "x", "roles": []})", "admin"), 0);
  const auto client = server.connect();
  const auto admitted = logIn(client, "ann", "x", [&] {
    EXPECT_EQ(codeAs(root, R"({"grantRolesToUser": "ann", "roles": ["root"]})", "admin"), 0);
  });
  EXPECT_TRUE(admitted["done"].truthy());
  EXPECT_EQ(codeAs(client, R"({"find": "c"})"), 0);
}

TEST_F(LoginTest, FewerMechanismsTakeTheirCredentialsAway) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"updateUser": "root", "mechanisms": ["SCRAM-SHA-1"]})", "admin"), 0);
  EXPECT_FALSE(logIn(server.connect(), "root", "secret")["ok"].truthy());
  EXPECT_EQ(codeAs(root, R"({"updateUser": "root", "mechanisms": ["SCRAM-SHA-256"]})", "admin"), 2) << "it needs pwd";
}

TEST_F(LoginTest, ContinuingWithoutABeginningIsRefused) {
  EXPECT_EQ(code(R"({"saslContinue": 1, "conversationId": 1, "payload": ""})", "admin"), 17);
}

TEST_F(LoginTest, LogoutForgetsTheUserOfTheDatabase) {
  makeRoot();
  const auto root = loggedIn("root");
  EXPECT_EQ(codeAs(root, R"({"logout": 1})", "admin"), 0);
  EXPECT_EQ(codeAs(root, R"({"find": "c"})"), 13);
}

TEST_F(UserTest, RolesInfoFindsRolesByNameByDatabaseAndInLists) {
  makeRoot();
  const auto root = loggedIn("root");
  const auto roles = [&](std::string_view json) {
    std::string found;
    const bson::Document reply = server.run(parse(json), "test", root);
    for (const bson::Element& e : reply["roles"].asArray())
      found +=
          std::string(e.asDocument()["role"].toStringOr()) + "@" + std::string(e.asDocument()["db"].toStringOr()) + " ";
    return found;
  };
  EXPECT_EQ(roles(R"({"rolesInfo": "read"})"), "read@test ");
  EXPECT_EQ(roles(R"({"rolesInfo": {"role": "root", "db": "admin"}})"), "root@admin ");
  EXPECT_EQ(roles(R"({"rolesInfo": ["read", {"role": "readWrite", "db": "other"}, "nonesuch"]})"),
            "read@test readWrite@other ");
  EXPECT_EQ(roles(R"({"rolesInfo": 1})"), "");
  EXPECT_EQ(roles(R"({"rolesInfo": 1, "showBuiltinRoles": true})"),
            "read@test readWrite@test dbAdmin@test userAdmin@test dbOwner@test enableSharding@test ");
  EXPECT_EQ(codeAs(root, R"({"rolesInfo": {"role": "read"}})"), 2);
}

TEST_F(LoginTest, AGuessedMechanismThatTheUserLacksIsNotAnsweredSpeculatively) {
  makeRoot();
  const auto root = loggedIn("root");
  ASSERT_EQ(codeAs(root, R"({"createUser": "old", "pwd": "x", "roles": [], "mechanisms": ["SCRAM-SHA-1"]})"), 0);
  const auto greet = [&](std::string_view user, std::string_view mechanism) {
    auth::ScramClient scram(auth::mechanismByName(mechanism).value(), user, "x", "clientnonce1234567890abc");
    const auto guess =
        bson::doc("saslStart", 1, "mechanism", mechanism, "payload", binary(scram.first()), "db", "test");
    return server.run(
        bson::doc("hello", 1, "saslSupportedMechs", "test." + std::string(user), "speculativeAuthenticate", guess),
        "admin", server.connect());
  };
  const bson::Document wrong = greet("old", "SCRAM-SHA-256");
  EXPECT_FALSE(wrong.view().has("speculativeAuthenticate"));
  EXPECT_TRUE(holds(wrong, R"({"saslSupportedMechs": ["SCRAM-SHA-1"]})"_json));
  EXPECT_TRUE(greet("old", "SCRAM-SHA-1").view().has("speculativeAuthenticate"));
  EXPECT_TRUE(greet("nobody", "SCRAM-SHA-256").view().has("speculativeAuthenticate"));
}

TEST_F(LoginTest, RightsThatHaveToBeReadAgainAreAwaited) {
  makeRoot();
  const auto client = server.connect(false);
  ASSERT_TRUE(holds(logIn(client, "root", "secret"), R"({"ok": 1, "done": true})"_json));
  ASSERT_EQ(codeAs(client, R"({"createUser": "other", "pwd": "x", "roles": []})"), 0);  // what is known is out of date
  storage::Locker closing(server.locks);
  ASSERT_TRUE(closing.tryAcquire(storage::ResourceId::global(), storage::LockMode::kX));
  const auto waiting = server.begin(R"({"rolesInfo": 1})"_json, "test", client);
  EXPECT_FALSE(waiting->done);
  closing.releaseAll();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(waiting->takeReply()["ok"].truthy());
}

}  // namespace troupe::commands
