#include "actors/server/user_store.hpp"

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
  EXPECT_TRUE(users.anyUser()) << "in doubt the localhost exception does not apply";
  closing.releaseAll();
  EXPECT_EQ(users.list("")->size(), 1u);
  EXPECT_EQ(server.locks.inUse(), 0u) << "reads release what they hold";
}

}  // namespace troupe::server
