// Roles that users define: what they allow, what they inherit, and who may make them.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class RoleTest : public CommandTest {
 protected:
  RoleTest() : CommandTest({.authentication = true}) {
    EXPECT_EQ(code(R"({"createUser": "root", "pwd": "secret", "roles": ["root"]})", "admin"), 0);
    root = loggedIn("root", "admin");
  }

  std::shared_ptr<Client> loggedIn(std::string_view user, std::string_view db = "test") {
    auto client = server.connect();
    auto loaded = server.users->load(user, db);
    EXPECT_TRUE(loaded.isOK() && *loaded) << user;
    if (loaded.isOK() && *loaded) client->users.push_back(std::move(**loaded));
    return client;
  }
  bson::Document runAs(const std::shared_ptr<Client>& who, std::string_view json, std::string_view db = "test") {
    return server.run(parse(json), db, who);
  }
  int64_t codeAs(const std::shared_ptr<Client>& who, std::string_view json, std::string_view db = "test") {
    const bson::Document reply = runAs(who, json, db);
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  int64_t asRoot(std::string_view json, std::string_view db = "test") { return codeAs(root, json, db); }
  /// A user of the database test that holds the roles.
  std::shared_ptr<Client> userWith(std::string_view name, std::string_view roles) {
    EXPECT_EQ(
        asRoot(R"({"createUser": ")" + std::string(name) + R"(", "pwd": "x", "roles": )" + std::string(roles) + "}"),
        0);
    return loggedIn(name);
  }
  /// A role of the database test that may find in one collection.
  void makeReader(std::string_view name, std::string_view collection, std::string_view roles = "[]") {
    EXPECT_EQ(asRoot(R"({"createRole": ")" + std::string(name) +
                     R"(", "privileges": [{"resource": {"db": "test", "collection": ")" + std::string(collection) +
                     R"("}, "actions": ["find"]}], "roles": )" + std::string(roles) + "}"),
              0)
        << name;
  }
  bson::Document infoOf(std::string_view json, std::string_view db = "test") { return runAs(root, json, db); }

  std::shared_ptr<Client> root;
};

TEST_F(RoleTest, AllowsWhatItsPrivilegesSayAndNoMore) {
  makeReader("reader", "c");
  const auto ann = userWith("ann", R"(["reader"])");
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "d"})"), 13);
  EXPECT_EQ(codeAs(ann, R"({"insert": "c", "documents": [{}]})"), 13);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})", "other"), 13);
}

TEST_F(RoleTest, IsStoredAsOperatorsKnowIt) {
  makeReader("reader", "c", R"(["read"])");
  EXPECT_TRUE(holds(runAs(root, R"({"find": "system.roles"})", "admin"),
                    R"({"cursor": {"firstBatch": [{"_id": "test.reader", "role": "reader", "db": "test",
                        "privileges": [{"resource": {"db": "test", "collection": "c"}, "actions": ["find"]}],
                        "roles": [{"role": "read", "db": "test"}]}]}})"_json));
}

TEST_F(RoleTest, InheritsFromOtherRoles) {
  makeReader("a", "a");
  makeReader("b", "b", R"(["a"])");
  makeReader("c", "c", R"([{"role": "b", "db": "test"}])");
  const auto ann = userWith("ann", R"(["c"])");
  for (const auto find : {R"({"find": "a"})", R"({"find": "b"})", R"({"find": "c"})"}) EXPECT_EQ(codeAs(ann, find), 0);
  EXPECT_EQ(asRoot(R"({"revokeRolesFromRole": "c", "roles": ["b"]})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "a"})"), 13);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
  EXPECT_EQ(asRoot(R"({"grantRolesToRole": "c", "roles": ["a", "readWrite"]})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "a"})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"insert": "x", "documents": [{}]})"), 0) << "a built-in one";
}

TEST_F(RoleTest, WhatIsTooLargeCanBeMadeSmaller) {
  makeReader("r0", "c");
  for (int i = 1; i <= 20; ++i) makeReader("r" + std::to_string(i), "c", R"(["r)" + std::to_string(i - 1) + R"("])");
  makeReader("below", "c");
  ASSERT_EQ(asRoot(R"({"grantRolesToRole": "r0", "roles": ["below"]})"), 0) << "r0 itself inherits little";
  EXPECT_EQ(asRoot(R"({"grantRolesToRole": "r20", "roles": ["read"]})"), 2);
  EXPECT_EQ(asRoot(R"({"revokePrivilegesFromRole": "r20", "privileges": [
      {"resource": {"db": "test", "collection": "c"}, "actions": ["find"]}]})"),
            0);
  EXPECT_EQ(asRoot(R"({"revokeRolesFromRole": "r20", "roles": ["r19"]})"), 0);
  EXPECT_EQ(asRoot(R"({"grantRolesToRole": "r20", "roles": ["read"]})"), 0);
}

TEST_F(RoleTest, AChangeIsFeltByThoseWhoAreLoggedIn) {
  makeReader("reader", "c");
  const auto ann = userWith("ann", R"(["reader"])");
  const char* d = R"([{"resource": {"db": "test", "collection": "d"}, "actions": ["find", "insert"]}])";
  const auto change = [&](std::string_view command) {
    return asRoot(R"({")" + std::string(command) + R"(": "reader", "privileges": )" + d + "}");
  };
  EXPECT_EQ(codeAs(ann, R"({"find": "d"})"), 13);
  EXPECT_EQ(change("grantPrivilegesToRole"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "d"})"), 0);
  EXPECT_EQ(asRoot(R"({"revokePrivilegesFromRole": "reader", "privileges": [{"resource":
                       {"db": "test", "collection": "d"}, "actions": ["find"]}]})"),
            0);
  EXPECT_EQ(codeAs(ann, R"({"find": "d"})"), 13);
  EXPECT_EQ(codeAs(ann, R"({"insert": "d", "documents": [{}]})"), 0) << "the other action stays";
  EXPECT_EQ(change("updateRole"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "d"})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13) << "what takes its place is all there is";
  EXPECT_EQ(asRoot(R"({"update": "system.roles", "updates": [{"q": {}, "u": {"$set": {"privileges": []}}}]})", "admin"),
            0);
  EXPECT_EQ(codeAs(ann, R"({"find": "d"})"), 13) << "a write past the commands";
}

TEST_F(RoleTest, ARevocationNeedsTheSameResource) {
  makeReader("reader", "c");
  const auto ann = userWith("ann", R"(["reader"])");
  EXPECT_EQ(asRoot(R"({"revokePrivilegesFromRole": "reader", "privileges": [{"resource":
                       {"db": "test", "collection": ""}, "actions": ["find"]}]})"),
            0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
}

TEST_F(RoleTest, OneThatIsDroppedIsHeldByNobody) {
  makeReader("reader", "c");
  makeReader("other", "d", R"(["reader", "read"])");
  const auto ann = userWith("ann", R"(["reader", "readWrite"])");
  ASSERT_EQ(asRoot(R"({"dropRole": "reader"})"), 0);
  EXPECT_TRUE(holds(infoOf(R"({"usersInfo": "ann"})"),
                    R"({"users": [{"roles": [{"role": "readWrite", "db": "test"}]}]})"_json));
  EXPECT_TRUE(
      holds(infoOf(R"({"rolesInfo": "other"})"), R"({"roles": [{"roles": [{"role": "read", "db": "test"}]}]})"_json));
  EXPECT_EQ(asRoot(R"({"dropRole": "reader"})"), 31);
  ASSERT_EQ(asRoot(R"({"revokeRolesFromUser": "ann", "roles": ["readWrite"]})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
  makeReader("reader", "c");
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13) << "a later role of the same name";
}

TEST_F(RoleTest, AllOfADatabaseGoTogether) {
  makeReader("a", "a");
  makeReader("b", "b", R"(["a"])");
  ASSERT_EQ(asRoot(R"({"createRole": "far", "privileges": [], "roles": []})", "other"), 0);
  const auto ann = userWith("ann", R"(["b", "read", {"role": "far", "db": "other"}])");
  EXPECT_TRUE(holds(runAs(root, R"({"dropAllRolesFromDatabase": 1})"), R"({"ok": 1, "n": 2})"_json));
  EXPECT_TRUE(holds(infoOf(R"({"usersInfo": "ann"})"),
                    R"({"users": [{"roles": [{"role": "read", "db": "test"}, {"role": "far", "db": "other"}]}]})"_json))
      << "built-in roles and those of other databases stay";
  EXPECT_TRUE(holds(runAs(root, R"({"dropAllRolesFromDatabase": 1})"), R"({"ok": 1, "n": 0})"_json));
}

TEST_F(RoleTest, NoneInheritsFromItself) {
  makeReader("a", "a");
  makeReader("b", "b", R"(["a"])");
  makeReader("c", "c", R"(["b"])");
  EXPECT_EQ(asRoot(R"({"grantRolesToRole": "a", "roles": ["c"]})"), 49);
  EXPECT_EQ(asRoot(R"({"grantRolesToRole": "a", "roles": ["a"]})"), 49);
  EXPECT_EQ(asRoot(R"({"updateRole": "a", "roles": ["b"]})"), 49);
  EXPECT_TRUE(holds(infoOf(R"({"rolesInfo": "a"})"), R"({"roles": [{"roles": []}]})"_json));
}

TEST_F(RoleTest, ACircleThatWasWrittenPastTheCommandsEnds) {
  makeReader("a", "a");
  makeReader("b", "b", R"(["a"])");
  ASSERT_EQ(asRoot(R"({"update": "system.roles", "updates": [{"q": {"role": "a"}, "u": {"$set": {"roles":
                       [{"role": "b", "db": "test"}, {"role": "nonesuch", "db": "test"}, 7]}}}]})",
                   "admin"),
            0);
  const auto ann = userWith("ann", R"(["a"])");
  EXPECT_EQ(codeAs(ann, R"({"find": "b"})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
}

TEST_F(RoleTest, OnesOfADatabaseReachNothingElse) {
  const auto withPrivilege = [&](std::string_view resource, std::string_view db) {
    return asRoot(R"({"createRole": "r", "privileges": [{"resource": )" + std::string(resource) +
                      R"(, "actions": ["find"]}], "roles": []})",
                  db);
  };
  for (const auto resource : {R"({"db": "other", "collection": ""})", R"({"db": "", "collection": ""})",
                              R"({"cluster": true})", R"({"anyResource": true})"}) {
    EXPECT_EQ(withPrivilege(resource, "test"), 49) << resource;
    EXPECT_EQ(withPrivilege(resource, "admin"), 0) << resource;
    EXPECT_EQ(asRoot(R"({"dropRole": "r"})", "admin"), 0);
  }
  makeReader("reader", "c");
  const char* inherits = R"({"createRole": "r", "privileges": [], "roles": [{"role": "reader", "db": "test"}]})";
  EXPECT_EQ(asRoot(inherits, "other"), 49);
  EXPECT_EQ(asRoot(inherits, "admin"), 0);
  EXPECT_EQ(asRoot(R"({"grantPrivilegesToRole": "reader", "privileges": [{"resource": {"cluster": true},
                       "actions": ["top"]}]})"),
            49);
  EXPECT_EQ(asRoot(R"({"grantRolesToRole": "reader", "roles": [{"role": "root", "db": "admin"}]})"), 49);
  const auto ann = userWith("ann", R"([{"role": "r", "db": "admin"}])");
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
}

TEST_F(RoleTest, WhatIsWrongIsRefused) {
  makeReader("reader", "c");
  const std::pair<const char*, int64_t> refused[] = {
      {R"({"createRole": "reader", "privileges": [], "roles": []})", 51002},
      {R"({"createRole": "read", "privileges": [], "roles": []})", 2},
      {R"({"createRole": "", "privileges": [], "roles": []})", 2},
      {R"({"createRole": "r", "roles": []})", 40414},
      {R"({"createRole": "r", "privileges": []})", 40414},
      {R"({"createRole": "r", "privileges": [], "roles": ["nonesuch"]})", 31},
      {R"({"createRole": "r", "privileges": [7], "roles": []})", 14},
      {R"({"createRole": "r", "privileges": [{"resource": {"db": "test"}, "actions": ["find"]}], "roles": []})", 9},
      {R"({"createRole": "r", "privileges": [{"resource": {"cluster": false}, "actions": ["top"]}], "roles": []})", 9},
      {R"({"createRole": "r", "privileges": [{"resource": {"db": "test", "collection": ""}}], "roles": []})", 9},
      {R"({"createRole": "r", "privileges": [{"resource": {"db": "test", "collection": ""}, "actions": []}],
           "roles": []})",
       2},
      {R"({"createRole": "r", "privileges": [{"resource": {"db": "test", "collection": ""}, "actions": ["fnd"]}],
           "roles": []})",
       2},
      {R"({"createRole": "r", "privileges": [], "roles": [], "authenticationRestrictions":
           [{"clientSource": ["10.0.0.1"]}]})",
       238},
      {R"({"updateRole": "reader"})", 2},
      {R"({"updateRole": "nonesuch", "roles": []})", 31},
      {R"({"updateRole": "read", "roles": []})", 49},
      {R"({"updateRole": "reader", "authenticationRestrictions": [{"clientSource": ["10.0.0.1"]}]})", 238},
      {R"({"dropRole": "read"})", 49},
      {R"({"dropRole": "nonesuch"})", 31},
      {R"({"grantPrivilegesToRole": "reader", "privileges": []})", 2},
      {R"({"grantRolesToRole": "reader", "roles": []})", 2},
      {R"({"grantRolesToRole": "nonesuch", "roles": ["read"]})", 31},
      {R"({"revokeRolesFromRole": "reader", "roles": ["nonesuch"]})", 31},
  };
  for (const auto& [command, expected] : refused) EXPECT_EQ(asRoot(command), expected) << command;
  EXPECT_EQ(asRoot(R"({"createRole": "r", "privileges": [], "roles": []})", "local"), 2);
}

TEST_F(RoleTest, HoldsAThousandPrivilegesAndNoMore) {
  const auto privileges = [](int from, int count) {
    bson::Builder list;
    for (int i = from; i < from + count; ++i)
      list.push(bson::doc("resource", bson::doc("db", "test", "collection", "c" + std::to_string(i)), "actions",
                          bson::array("find")));
    return list.finishArray();
  };
  const auto run = [&](const bson::Document& command) { return server.run(command, "test", root)["code"].toInt64(); };
  const bson::Value none = bson::array();
  EXPECT_EQ(run(bson::doc("createRole", "r", "privileges", privileges(0, 1001), "roles", none)), 2);
  EXPECT_EQ(run(bson::doc("createRole", "r", "privileges", privileges(0, 1000), "roles", none)), 0);
  EXPECT_EQ(run(bson::doc("grantPrivilegesToRole", "r", "privileges", privileges(1000, 1))), 2);
  EXPECT_EQ(run(bson::doc("grantPrivilegesToRole", "r", "privileges", privileges(0, 1))), 0) << "the same resource";
  for (int i = 1; i < 4; ++i)
    EXPECT_EQ(
        run(bson::doc("createRole", "r" + std::to_string(i), "privileges", privileges(1000 * i, 1000), "roles", none)),
        0);
  EXPECT_EQ(run(bson::doc("createRole", "four", "privileges", none, "roles", bson::array("r", "r1", "r2", "r3"))), 0);
  EXPECT_EQ(run(bson::doc("createRole", "more", "privileges", privileges(4000, 1), "roles", bson::array("four"))), 2);
  EXPECT_EQ(run(bson::doc("createRole", "one", "privileges", privileges(4000, 1), "roles", none)), 0);
  EXPECT_EQ(run(bson::doc("createUser", "u", "pwd", "x", "roles", bson::array("four", "one"))), 2);
}

TEST_F(RoleTest, InheritsTwentyDeepAndNoDeeper) {
  makeReader("r0", "c");
  for (int i = 1; i <= 20; ++i) {
    const std::string before = R"(["r)" + std::to_string(i - 1) + R"("])";
    makeReader("r" + std::to_string(i), "c" + std::to_string(i), before);
  }
  EXPECT_EQ(asRoot(R"({"createRole": "r21", "privileges": [], "roles": ["r20"]})"), 2);
  EXPECT_EQ(codeAs(userWith("ann", R"(["r20"])"), R"({"find": "c"})"), 0);
}

TEST_F(RoleTest, UsersAreGivenRolesThatExist) {
  makeReader("reader", "c");
  EXPECT_EQ(asRoot(R"({"createUser": "bob", "pwd": "x", "roles": ["nonesuch"]})"), 31);
  const auto ann = userWith("ann", "[]");
  EXPECT_EQ(asRoot(R"({"grantRolesToUser": "ann", "roles": ["nonesuch"]})"), 31);
  EXPECT_EQ(asRoot(R"({"grantRolesToUser": "ann", "roles": ["reader"]})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
  EXPECT_EQ(asRoot(R"({"updateUser": "ann", "roles": []})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 13);
  EXPECT_EQ(asRoot(R"({"updateUser": "ann", "roles": [{"role": "reader", "db": "test"}]})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"find": "c"})"), 0);
}

TEST_F(RoleTest, ARightIsGrantedByThoseWhoMayGrantWhereItReaches) {
  const auto clerk = userWith("clerk", R"([{"role": "userAdmin", "db": "test"}])");
  const char* own = R"({"createRole": "own", "privileges": [{"resource": {"db": "test", "collection": ""},
                        "actions": ["find"]}], "roles": ["readWrite"]})";
  EXPECT_EQ(codeAs(clerk, own), 0);
  EXPECT_EQ(codeAs(clerk, own, "other"), 13);
  const char* far = R"({"createRole": "far", "privileges": [{"resource": {"db": "other", "collection": ""},
                        "actions": ["find"]}], "roles": []})";
  EXPECT_EQ(codeAs(clerk, far), 13);
  EXPECT_EQ(codeAs(clerk, R"({"createRole": "far", "privileges": [{"resource": {"cluster": true},
                              "actions": ["top"]}], "roles": []})"),
            13);
  EXPECT_EQ(codeAs(clerk, R"({"createRole": "far", "privileges": [], "roles": [{"role": "root", "db": "admin"}]})"),
            13);
  EXPECT_EQ(codeAs(clerk, R"({"updateRole": "own", "roles": []})"), 13) << "needs the right to revoke everywhere";
  EXPECT_EQ(codeAs(clerk, R"({"grantRolesToRole": "own", "roles": [{"role": "read", "db": "other"}]})"), 13);
  const auto creator = userWith("creator", R"(["own"])");
  EXPECT_EQ(codeAs(creator, own), 13);
}

TEST_F(RoleTest, RolesInfoShowsThem) {
  makeReader("a", "a", R"(["read"])");
  makeReader("b", "b", R"(["a"])");
  EXPECT_TRUE(holds(infoOf(R"({"rolesInfo": "b", "showPrivileges": true, "showAuthenticationRestrictions": true})"),
                    R"({"roles": [{"_id": "test.b", "role": "b", "db": "test", "isBuiltin": false,
                        "roles": [{"role": "a", "db": "test"}],
                        "inheritedRoles": [{"role": "a", "db": "test"}, {"role": "read", "db": "test"}],
                        "privileges": [{"resource": {"db": "test", "collection": "b"}, "actions": ["find"]}],
                        "authenticationRestrictions": [], "inheritedAuthenticationRestrictions": []}]})"_json));
  const auto all = infoOf(R"({"rolesInfo": {"role": "b", "db": "test"}, "showPrivileges": true})", "admin");
  const auto inherited = all.view().at("roles.0.inheritedPrivileges");
  ASSERT_TRUE(inherited.is(bson::Type::kArray)) << bson::toRelaxedJson(all);
  EXPECT_EQ(inherited.asArray().count(), 4) << "b, a, and those of read: the database, and system.js";
  const auto shown = infoOf(R"({"rolesInfo": "b"})");
  EXPECT_FALSE(shown.view().at("roles.0.privileges").ok());
  EXPECT_TRUE(holds(infoOf(R"({"rolesInfo": 1})"), R"({"roles": [{"role": "a"}, {"role": "b"}]})"_json));
  EXPECT_GT(infoOf(R"({"rolesInfo": 1, "showBuiltinRoles": true})")["roles"].asArray().count(), 2);
}

TEST_F(RoleTest, RolesInfoIsForThoseWhoHoldARoleOrMayViewIt) {
  makeReader("a", "a");
  makeReader("b", "b", R"(["a"])");
  makeReader("c", "c");
  const auto ann = userWith("ann", R"(["b"])");
  EXPECT_EQ(codeAs(ann, R"({"rolesInfo": "b"})"), 0);
  EXPECT_EQ(codeAs(ann, R"({"rolesInfo": ["a", "b"]})"), 0) << "what it inherits from as well";
  for (const auto asked :
       {R"({"rolesInfo": "c"})", R"({"rolesInfo": "nonesuch"})", R"({"rolesInfo": ["b", "c"]})", R"({"rolesInfo": 1})"})
    EXPECT_EQ(codeAs(ann, asked), 13) << asked << ": whether there is such a role is not told";
  const auto viewer = userWith("viewer", R"(["userAdmin"])");
  EXPECT_EQ(codeAs(viewer, R"({"rolesInfo": ["b", "c"]})"), 0);
  EXPECT_EQ(codeAs(viewer, R"({"rolesInfo": 1})", "other"), 13);
}

TEST_F(RoleTest, WhatAUserMayDoIsShownWithWhatItsRolesInherit) {
  makeReader("a", "a");
  makeReader("b", "b", R"(["a"])");
  const auto ann = userWith("ann", R"(["b"])");
  const auto expected = R"([{"resource": {"db": "test", "collection": "b"}, "actions": ["find"]},
                            {"resource": {"db": "test", "collection": "a"}, "actions": ["find"]}])";
  const auto roles = R"([{"role": "b", "db": "test"}, {"role": "a", "db": "test"}])";
  EXPECT_TRUE(holds(infoOf(R"({"usersInfo": "ann", "showPrivileges": true})"),
                    parse(R"({"users": [{"roles": [{"role": "b", "db": "test"}], "inheritedRoles": )" +
                          std::string(roles) + R"(, "inheritedPrivileges": )" + expected + "}]}")));
  EXPECT_TRUE(holds(runAs(ann, R"({"connectionStatus": 1, "showPrivileges": true})"),
                    parse(R"({"authInfo": {"authenticatedUserRoles": )" + std::string(roles) +
                          R"(, "authenticatedUserPrivileges": )" + expected + "}}")));
}

TEST_F(RoleTest, TheirCollectionIsTheServersOwn) {
  makeReader("reader", "c");
  EXPECT_EQ(asRoot(R"({"drop": "system.roles"})", "admin"), 20);
  const auto writer = userWith("writer", R"([{"role": "readWrite", "db": "admin"}])");
  EXPECT_EQ(codeAs(writer, R"({"find": "system.roles"})", "admin"), 13);
  EXPECT_EQ(codeAs(writer, R"({"insert": "system.roles", "documents": [{}]})", "admin"), 13);
}

TEST_F(RoleTest, AnyActionIsAllOfThem) {
  EXPECT_EQ(asRoot(R"({"createRole": "god", "privileges": [{"resource": {"anyResource": true},
                       "actions": ["anyAction"]}], "roles": []})",
                   "admin"),
            0);
  const auto ann = userWith("ann", R"([{"role": "god", "db": "admin"}])");
  EXPECT_EQ(codeAs(ann, R"({"serverStatus": 1})", "admin"), 0);
  EXPECT_TRUE(holds(infoOf(R"({"rolesInfo": "god", "showPrivileges": true})", "admin"),
                    R"({"roles": [{"privileges": [{"resource": {"anyResource": true},
                        "actions": ["anyAction"]}]}]})"_json));
}

/// Without authentication nothing but the name decides.
class OpenRoleTest : public CommandTest {};

TEST_F(OpenRoleTest, UsersAndRolesAreKeptInAdminAlone) {
  for (const auto name : {"system.users", "system.roles"}) {
    const std::string insert = R"({"insert": ")" + std::string(name) + R"(", "documents": [{"_id": 1}]})";
    EXPECT_EQ(code(insert, "admin"), 0) << name;
    EXPECT_EQ(code(insert, "test"), 73) << name;
  }
}

}  // namespace troupe::commands
