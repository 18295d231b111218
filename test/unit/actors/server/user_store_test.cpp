#include "actors/server/user_store.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

class UserStoreTest : public CommandTest {
 protected:
  UserStoreTest() { EXPECT_TRUE(succeeds(R"({"createUser": "ann", "pwd": "secret", "roles": ["readWrite"]})")); }
  UserStore& users = *server.users;
};

TEST_F(UserStoreTest, UsersAreReadWhileAllTicketsAreOut) {
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "storageEngineConcurrentReadTransactions": 1})", "admin"));
  server.node.advance(200ms);
  const storage::Ticket taken = server.admission.read().tryTake(storage::AdmissionPriority::kNormal);
  ASSERT_EQ(server.admission.read().available(), 0);
  const auto found = users.find("ann", "test");
  ASSERT_TRUE(found.isOK()) << found.status().toString();
  EXPECT_TRUE(found->has_value());
}

TEST_F(UserStoreTest, UsersAreNotReadWhileTheDataIsAboutToBeClosed) {
  storage::Locker closing(server.locks);
  ASSERT_TRUE(closing.tryAcquire(storage::ResourceId::global(), storage::LockMode::kX));
  EXPECT_EQ(users.find("ann", "test").status().code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(users.list("").status().code(), ErrorCode::kLockTimeout);
  EXPECT_EQ(users.anyUser().status().code(), ErrorCode::kLockTimeout) << "in doubt there is no localhost exception";
  closing.releaseAll();
  EXPECT_EQ(users.list("")->size(), 1u);
  EXPECT_EQ(server.locks.inUse(), 0u) << "reads release what they hold";
}

TEST_F(UserStoreTest, UsersAreReadWhileTheRoleChanges) {
  storage::Locker transition(server.locks);
  ASSERT_TRUE(transition.tryAcquire(storage::ResourceId::stateTransition(), storage::LockMode::kX));
  const auto found = users.find("ann", "test");
  ASSERT_TRUE(found.isOK()) << found.status().toString();
  EXPECT_TRUE(found->has_value());
  EXPECT_TRUE(*users.anyUser());
}

TEST_F(UserStoreTest, WhatKeepsRightsIsMadeAsAPlainCollection) {
  EXPECT_EQ(server.run(parse(R"({"create": "system.roles", "viewOn": "c"})"), "admin")["code"].toInt64(), 73);
  EXPECT_EQ(server.run(parse(R"({"create": "system.views", "viewOn": "c"})"), "test")["code"].toInt64(), 73);
  for (const auto* options : {R"("capped": true, "size": 4096)", R"("collation": {"locale": "fr"})",
                              R"("clusteredIndex": {"key": {"_id": 1}, "unique": true})"})
    EXPECT_EQ(code(R"({"create": "system.roles", )" + std::string(options) + "}", "admin"), 72) << options;
  EXPECT_TRUE(succeeds(R"({"create": "system.roles"})", "admin"));
}

TEST_F(UserStoreTest, AViewInThePlaceOfRolesIsDamageAndCanBeDropped) {
  {
    storage::OperationContext operation({.sessions = server.storageSessions});
    storage::WriteUnitOfWork work(operation.recoveryUnit());
    storage::CollectionOptions options;
    options.viewOn = "c";
    ASSERT_TRUE(storage::createCollection(*server.catalog, operation.recoveryUnit(), kRoles, options).isOK());
    ASSERT_TRUE(work.commit().isOK());
    const bson::Document key = bson::doc("_id", "x");
    const auto view = server.catalog->find(kRoles);
    EXPECT_EQ(view->findById(operation.recoveryUnit(), key.view().first()).status().code(), ErrorCode(166));
  }
  EXPECT_EQ(users.roles().find({"r", "test"}).status().code(), ErrorCode::kDataCorruptionDetected);
  EXPECT_EQ(users.roles().names("test").status().code(), ErrorCode::kDataCorruptionDetected);
  EXPECT_EQ(code(R"({"drop": "system.users"})", "admin"), 20);
  EXPECT_TRUE(succeeds(R"({"drop": "system.roles"})", "admin"));
  EXPECT_TRUE(succeeds(R"({"createRole": "r", "privileges": [], "roles": []})"));
}

TEST_F(UserStoreTest, CommandsWaitUntilUsersCanBeRead) {
  const auto start = bson::doc("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload",
                               bson::Binary{bson::kBinaryGeneric, "n,,n=ann,r=clientnonce1234567890abc"});
  for (const bson::Document& command : {start, parse(R"({"usersInfo": "ann"})")}) {
    storage::Locker closing(server.locks);
    ASSERT_TRUE(closing.tryAcquire(storage::ResourceId::global(), storage::LockMode::kX));
    const auto waiting = server.begin(command);
    const auto killed = server.begin(command, "test", server.connect());
    EXPECT_FALSE(waiting->done);
    ASSERT_FALSE(killed->done);
    killed->operation.kill(ErrorCode::kInterruptedAtShutdown);
    server.node.run();
    ASSERT_TRUE(killed->done);
    EXPECT_EQ(killed->takeReply()["code"].toInt64(), 11600);
    closing.releaseAll();
    server.node.run();
    ASSERT_TRUE(waiting->done);
    EXPECT_TRUE(waiting->takeReply()["ok"].truthy());
  }
}

}  // namespace troupe::server
