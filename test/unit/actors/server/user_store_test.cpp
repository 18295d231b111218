#include "actors/server/user_store.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/batch_in_progress.hpp"

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

/// A secondary, to which a user is connected.
class FollowedRightsTest : public CommandTest {
 protected:
  FollowedRightsTest() : CommandTest({.authentication = true, .name = "n1:1", .replicaSet = "rs"}) {
    AuthenticatedUser root{.name = "root", .database = "admin", .internal = true};
    root.privileges.add({.kind = auth::ResourcePattern::Kind::kAny}, ~auth::actions({}));
    server.client->users.push_back(std::move(root));
    becomePrimary(server);
    fill("c", 3);
    EXPECT_TRUE(succeeds(R"({"createUser": "ann", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})", "admin"));
    becomeSecondary(server);
    ann->users.push_back(std::move(**server.users->load("ann", "admin")));
    ann->usersChanged();
  }
  bson::Document asAnn(const bson::Document& command) { return server.run(command, "test", ann); }
  bson::Document find() {
    return asAnn(parse(R"({"find": "c", "batchSize": 1, "$readPreference": {"mode": "nearest"}})"));
  }
  int64_t codeOfFind() {
    const bson::Document reply = find();
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  static bson::Document withoutRoles(bson::View user) {
    bson::Builder out;
    for (const bson::Element& field : user) {
      if (field.name() == "roles") out.append("roles", std::vector<bson::Document>{});
      else out.append(field.name(), field);
    }
    return out.finish();
  }

  std::shared_ptr<Client> ann = server.connect();
  const bson::Value id = bson::Value("admin.ann");
};

/// Who asks within the batch reads the user of before, and must not take it for the newest.
TEST_F(FollowedRightsTest, AUserWhoIsDroppedIsLoggedOutAtTheEndOfTheBatch) {
  ASSERT_EQ(codeOfFind(), 0);
  BatchInProgress batch(server);
  batch.remove(kUsers, id);
  EXPECT_EQ(codeOfFind(), 0) << "the batch has not ended";
  batch.end();
  EXPECT_EQ(codeOfFind(), 13);
  EXPECT_FALSE(ann->authenticated());
}

TEST_F(FollowedRightsTest, RolesThatAreRevokedHoldToTheEndOfTheBatch) {
  BatchInProgress batch(server);
  batch.update(kUsers, id, withoutRoles);
  const bson::Document opened = find();
  ASSERT_TRUE(opened["ok"].truthy()) << bson::toRelaxedJson(opened);
  const auto more = bson::doc("getMore", opened.view().at("cursor.id").toInt64(), "collection", "c", "batchSize", 1);
  EXPECT_TRUE(asAnn(more)["ok"].truthy());
  batch.end();
  EXPECT_EQ(asAnn(more)["code"].toInt64(), 13) << "a cursor that was opened within the batch";
  EXPECT_EQ(codeOfFind(), 13);
  EXPECT_TRUE(ann->authenticated());
}

/// Whatever of it was noted by then.
TEST_F(FollowedRightsTest, EachChangeOfABatchCounts) {
  BatchInProgress batch(server);
  batch.update(kUsers, id, [](bson::View user) { return bson::Builder().appendAll(user).append("n", 1).finish(); });
  EXPECT_EQ(codeOfFind(), 0);
  batch.update(kUsers, id, withoutRoles);
  EXPECT_EQ(codeOfFind(), 0);
  batch.end();
  EXPECT_EQ(codeOfFind(), 13);
  BatchInProgress next(server);
  next.remove(kUsers, id);
  EXPECT_EQ(codeOfFind(), 13);
  next.end();
  EXPECT_EQ(codeOfFind(), 13);
  EXPECT_FALSE(ann->authenticated());
}

}  // namespace troupe::server
