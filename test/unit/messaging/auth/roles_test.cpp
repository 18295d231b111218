#include "messaging/auth/roles.hpp"

#include <gtest/gtest.h>

#include <array>

namespace troupe::auth {
namespace {

PrivilegeSet holding(std::string_view role, std::string_view database) {
  PrivilegeSet set;
  EXPECT_TRUE(set.addRole(role, database).isOK()) << role << "@" << database;
  return set;
}

/// One line of the table: whether a role, held on a database, allows an action on a resource.
struct Row {
  std::string_view role, database;
  Action action;
  Resource resource;
  bool allowed;
};

const auto kRows = std::to_array<Row>({
    {"read", "test", Action::kFind, Resource::coll("test", "c"), true},
    {"read", "test", Action::kFind, Resource::coll("other", "c"), false},
    {"read", "test", Action::kFind, Resource::coll("test", "system.js"), true},
    {"read", "test", Action::kFind, Resource::coll("test", "system.profile"), false},
    {"read", "test", Action::kListCollections, Resource::db("test"), true},
    {"read", "test", Action::kListDatabases, Resource::cluster(), false},
    {"read", "test", Action::kInsert, Resource::coll("test", "c"), false},
    {"read", "local", Action::kFind, Resource::coll("local", "c"), true},
    {"read", "admin", Action::kFind, Resource::coll("admin", "system.users"), false},
    {"readWrite", "test", Action::kFind, Resource::coll("test", "c"), true},
    {"readWrite", "test", Action::kInsert, Resource::coll("test", "c"), true},
    {"readWrite", "test", Action::kCreateIndex, Resource::coll("test", "c"), true},
    {"readWrite", "test", Action::kDropCollection, Resource::coll("test", "c"), true},
    {"readWrite", "test", Action::kDropDatabase, Resource::db("test"), false},
    {"readWrite", "test", Action::kCollMod, Resource::coll("test", "c"), false},
    {"readWrite", "admin", Action::kInsert, Resource::coll("admin", "system.users"), false},
    {"dbAdmin", "test", Action::kDropDatabase, Resource::db("test"), true},
    {"dbAdmin", "test", Action::kCollMod, Resource::coll("test", "c"), true},
    {"dbAdmin", "test", Action::kValidate, Resource::coll("test", "c"), true},
    {"dbAdmin", "test", Action::kFind, Resource::coll("test", "c"), false},
    {"dbAdmin", "test", Action::kFind, Resource::coll("test", "system.profile"), true},
    {"userAdmin", "test", Action::kCreateUser, Resource::db("test"), true},
    {"userAdmin", "test", Action::kCreateUser, Resource::db("admin"), false},
    {"userAdmin", "test", Action::kFind, Resource::coll("test", "c"), false},
    {"dbOwner", "test", Action::kInsert, Resource::coll("test", "c"), true},
    {"dbOwner", "test", Action::kDropDatabase, Resource::db("test"), true},
    {"dbOwner", "test", Action::kGrantRole, Resource::db("test"), true},
    {"dbOwner", "test", Action::kInsert, Resource::coll("other", "c"), false},
    {"readAnyDatabase", "admin", Action::kFind, Resource::coll("test", "c"), true},
    {"readAnyDatabase", "admin", Action::kFind, Resource::coll("config", "c"), false},
    {"readAnyDatabase", "admin", Action::kFind, Resource::coll("local", "c"), false},
    {"readAnyDatabase", "admin", Action::kListDatabases, Resource::cluster(), true},
    {"readAnyDatabase", "admin", Action::kInsert, Resource::coll("test", "c"), false},
    {"readWriteAnyDatabase", "admin", Action::kInsert, Resource::coll("test", "c"), true},
    {"dbAdminAnyDatabase", "admin", Action::kDropDatabase, Resource::db("test"), true},
    {"userAdminAnyDatabase", "admin", Action::kCreateUser, Resource::db("test"), true},
    {"userAdminAnyDatabase", "admin", Action::kFind, Resource::coll("admin", "system.users"), true},
    {"userAdminAnyDatabase", "admin", Action::kInsert, Resource::coll("admin", "system.users"), false},
    {"clusterMonitor", "admin", Action::kServerStatus, Resource::cluster(), true},
    {"clusterMonitor", "admin", Action::kInprog, Resource::cluster(), true},
    {"clusterMonitor", "admin", Action::kViewActors, Resource::cluster(), true},
    {"clusterMonitor", "admin", Action::kManageActors, Resource::cluster(), false},
    {"clusterMonitor", "admin", Action::kKillop, Resource::cluster(), false},
    {"clusterMonitor", "admin", Action::kCollStats, Resource::coll("test", "c"), true},
    {"clusterMonitor", "admin", Action::kFind, Resource::coll("test", "c"), false},
    {"clusterMonitor", "admin", Action::kFind, Resource::coll("config", "c"), true},
    {"clusterManager", "admin", Action::kReplSetConfigure, Resource::cluster(), true},
    {"clusterManager", "admin", Action::kManageActors, Resource::cluster(), true},
    {"clusterManager", "admin", Action::kShutdown, Resource::cluster(), false},
    {"hostManager", "admin", Action::kShutdown, Resource::cluster(), true},
    {"hostManager", "admin", Action::kKillop, Resource::cluster(), true},
    {"hostManager", "admin", Action::kServerStatus, Resource::cluster(), false},
    {"clusterAdmin", "admin", Action::kShutdown, Resource::cluster(), true},
    {"clusterAdmin", "admin", Action::kServerStatus, Resource::cluster(), true},
    {"clusterAdmin", "admin", Action::kDropDatabase, Resource::db("test"), true},
    {"clusterAdmin", "admin", Action::kInsert, Resource::coll("test", "c"), false},
    {"backup", "admin", Action::kFind, Resource::coll("test", "c"), true},
    {"backup", "admin", Action::kFind, Resource::coll("admin", "system.users"), true},
    {"backup", "admin", Action::kInsert, Resource::coll("test", "c"), false},
    {"restore", "admin", Action::kInsert, Resource::coll("test", "c"), true},
    {"restore", "admin", Action::kInsert, Resource::coll("admin", "system.users"), true},
    {"restore", "admin", Action::kFind, Resource::coll("test", "c"), false},
    {"root", "admin", Action::kInsert, Resource::coll("test", "c"), true},
    {"root", "admin", Action::kShutdown, Resource::cluster(), true},
    {"root", "admin", Action::kCreateUser, Resource::db("test"), true},
    {"root", "admin", Action::kValidate, Resource::coll("test", "system.views"), true},
    {"root", "admin", Action::kInternal, Resource::cluster(), false},
    {"__system", "admin", Action::kInternal, Resource::cluster(), true},
    {"__system", "admin", Action::kApplyOps, Resource::coll("local", "system.replset"), true},
});

TEST(BuiltinRoles, AllowWhatTheTableSays) {
  for (const auto& row : kRows)
    EXPECT_EQ(holding(row.role, row.database).allows(row.action, row.resource), row.allowed)
        << row.role << "@" << row.database << " " << actionName(row.action) << " on " << row.resource.database << "."
        << row.resource.collection;
}

TEST(BuiltinRoles, ForTheWholeClusterExistInAdminOnly) {
  for (const auto* role : {"root", "readAnyDatabase", "clusterMonitor", "backup", "__system"}) {
    EXPECT_TRUE(isBuiltinRole(role, "admin")) << role;
    EXPECT_FALSE(isBuiltinRole(role, "test")) << role;
    PrivilegeSet set;
    EXPECT_EQ(set.addRole(role, "test"), ErrorCode::kRoleNotFound) << role;
    EXPECT_TRUE(set.empty());
  }
  EXPECT_TRUE(isBuiltinRole("readWrite", "test"));
  EXPECT_FALSE(isBuiltinRole("emperor", "admin"));
  EXPECT_EQ(builtinRoleNames("test").size() + 12, builtinRoleNames("admin").size());
}

TEST(BuiltinRoles, OfTheClusterUserAllowEverything) {
  const auto system = holding("__system", "admin");
  for (size_t i = 0; i < kActionCount; ++i) EXPECT_TRUE(system.allows(static_cast<Action>(i), Resource::cluster()));
}

TEST(PrivilegeSet, WithoutRolesAllowsNothing) {
  PrivilegeSet nobody;
  for (size_t i = 0; i < kActionCount; ++i) {
    EXPECT_FALSE(nobody.allows(static_cast<Action>(i), Resource::cluster()));
    EXPECT_FALSE(nobody.allows(static_cast<Action>(i), Resource::coll("test", "c")));
  }
  EXPECT_FALSE(nobody.allowsAnythingIn("test"));
}

TEST(PrivilegeSet, IsTheUnionOfItsRoles) {
  auto set = holding("read", "a");
  ASSERT_TRUE(set.addRole("readWrite", "b").isOK());
  EXPECT_TRUE(set.allows(Action::kFind, Resource::coll("a", "c")));
  EXPECT_FALSE(set.allows(Action::kInsert, Resource::coll("a", "c")));
  EXPECT_TRUE(set.allows(Action::kInsert, Resource::coll("b", "c")));
  EXPECT_TRUE(set.allowsAnythingIn("a"));
  EXPECT_FALSE(set.allowsAnythingIn("c"));
}

TEST(PrivilegeSet, TheRoleForShardingOfOneDatabaseOpensNoOther) {
  const auto one = holding("enableSharding", "a");
  EXPECT_TRUE(one.allows(Action::kEnableSharding, Resource::db("a")));
  EXPECT_FALSE(one.allows(Action::kEnableSharding, Resource::db("b")));
  EXPECT_FALSE(one.allowsAnythingIn("b"));
  EXPECT_TRUE(holding("enableSharding", "admin").allows(Action::kEnableSharding, Resource::db("b")));
}

TEST(PrivilegeSet, CoversOneCollectionExactly) {
  PrivilegeSet set;
  set.add({ResourcePattern::Kind::kNamespace, "test", "c"}, actions({Action::kFind}));
  EXPECT_TRUE(set.allows(Action::kFind, Resource::coll("test", "c")));
  EXPECT_FALSE(set.allows(Action::kFind, Resource::coll("test", "cc")));
  EXPECT_FALSE(set.allows(Action::kFind, Resource::db("test")));
  EXPECT_FALSE(set.allows(Action::kFind, Resource::cluster()));
}

TEST(PrivilegeSet, ShowsItselfAsDocuments) {
  PrivilegeSet set;
  set.add({ResourcePattern::Kind::kNamespace, "test", ""}, actions({Action::kInsert, Action::kFind}));
  set.add({ResourcePattern::Kind::kCluster, "", ""}, actions({Action::kTop}));
  EXPECT_EQ(
      bson::doc("p", set.toArray()),
      bson::doc("p", bson::array(bson::doc("resource", bson::doc("db", "test", "collection", ""), "actions",
                                           bson::array("find", "insert")),
                                 bson::doc("resource", bson::doc("cluster", true), "actions", bson::array("top")))));
}

TEST(Actions, AreKnownByTheirNames) {
  for (size_t i = 0; i < kActionCount; ++i) {
    const auto action = static_cast<Action>(i);
    EXPECT_EQ(actionByName(actionName(action)), action);
  }
  EXPECT_EQ(actionByName("fly"), std::nullopt);
}

TEST(Unauthorized, ShowsTheCommandWithoutItsArguments) {
  const auto status = unauthorized("test", bson::doc("createUser", "ann", "pwd", "secret"));
  EXPECT_EQ(status, ErrorCode::kUnauthorized);
  EXPECT_EQ(status.reason(), "not authorized on test to execute command { createUser: \"ann\" }");
  EXPECT_LT(unauthorized("test", bson::doc("find", std::string(5000, 'x'))).reason().size(), 300u);
}

}  // namespace
}  // namespace troupe::auth
