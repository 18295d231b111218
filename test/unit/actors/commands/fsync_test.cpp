// fsync with a lock, fsyncUnlock: writes wait, reads go on.
#include "actors/maintenance/blocking_worker.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class FsyncTest : public CommandTest {
 protected:
  FsyncTest() = default;
  explicit FsyncTest(CommandNode::Options options) : CommandTest(std::move(options)) {}
  static constexpr const char* kLock = R"({"fsync": 1, "lock": true})";
  static constexpr const char* kUnlock = R"({"fsyncUnlock": 1})";
  std::shared_ptr<Exchange> begin(std::string_view json, std::string_view db = "test") {
    return server.begin(parse(json), db, server.connect());
  }
};

TEST_F(FsyncTest, WritesWaitForTheUnlockAndReadsGoOn) {
  fill("c", 3);
  EXPECT_TRUE(answers(kLock, R"({"ok": 1, "lockCount": 1})", "admin"));
  EXPECT_TRUE(answers(R"({"currentOp": 1})", R"({"fsyncLock": true})", "admin"));
  const std::vector<std::shared_ptr<Exchange>> writes = {
      begin(R"({"insert": "c", "documents": [{"_id": 10}]})"), begin(R"({"create": "made"})"),
      begin(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})")};
  server.node.advance(10s);
  for (const auto& write : writes) EXPECT_FALSE(write->done);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 3})"));
  EXPECT_TRUE(answers(R"({"find": "c", "filter": {"_id": 1}})", R"({"cursor": {"firstBatch": [{"_id": 1}]}})"));
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 11}], "maxTimeMS": 50})"), 50);
  EXPECT_TRUE(answers(kUnlock, R"({"ok": 1, "lockCount": 0})", "admin"));
  server.node.advance(1s);
  for (const auto& write : writes) {
    ASSERT_TRUE(write->done);
    EXPECT_TRUE(write->takeReply()["ok"].truthy());
  }
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 4})"));
  EXPECT_FALSE(run(R"({"currentOp": 1})", "admin")["fsyncLock"].ok());
}

TEST_F(FsyncTest, LocksAreCounted) {
  EXPECT_EQ(code(kUnlock, "admin"), 20);
  EXPECT_TRUE(answers(kLock, R"({"lockCount": 1})", "admin"));
  EXPECT_TRUE(answers(kLock, R"({"lockCount": 2})", "admin"));
  EXPECT_TRUE(answers(kUnlock, R"({"lockCount": 1})", "admin"));
  const auto write = begin(R"({"insert": "c", "documents": [{}]})");
  EXPECT_FALSE(write->done);
  EXPECT_TRUE(answers(kUnlock, R"({"lockCount": 0})", "admin"));
  server.node.advance(1s);
  EXPECT_TRUE(write->done);
  EXPECT_EQ(code(kUnlock, "admin"), 20);
}

TEST_F(FsyncTest, TheLockWaitsForWritesUnderWayAsLongAsItIsAskedTo) {
  fill("c", 1);
  LockHolder writer(server.locks, "test.c", storage::LockMode::kIX);
  EXPECT_EQ(code(R"({"fsync": 1, "lock": true, "fsyncLockAcquisitionTimeoutMillis": 200})", "admin"), 24);
  EXPECT_TRUE(succeeds(R"({"count": "c"})"));
  const auto lock = begin(kLock, "admin");
  EXPECT_FALSE(lock->done);
  lock->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(lock->done);
  EXPECT_EQ(lock->takeReply()["code"].toInt64(), 11601);
  const auto again = begin(kLock, "admin");
  EXPECT_FALSE(again->done);
  writer.release();
  server.node.run();
  EXPECT_TRUE(again->done);
  EXPECT_TRUE(succeeds(kUnlock, "admin"));
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}]})"));
}

TEST_F(FsyncTest, ALockWhoseCheckpointFailsIsReleased) {
  fill("c", 1);
  server.engine->setDiskFault([](storage::DeterministicEngine::DiskOperation) {
    return Status(ErrorCode::kOperationFailed, "the disk is broken");
  });
  EXPECT_NE(code(kLock, "admin"), 0);
  server.engine->setDiskFault({});
  EXPECT_EQ(code(kUnlock, "admin"), 20);
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}]})"));
}

/// With access control: the operator who unlocks has to log in first.
class FsyncOfUsersTest : public FsyncTest {
 protected:
  FsyncOfUsersTest() : FsyncTest({.authentication = true}) {
    EXPECT_TRUE(succeeds(R"({"createUser": "root", "pwd": "secret", "roles": ["root"]})", "admin"));
    root = loggedIn();
  }
  std::shared_ptr<Client> loggedIn() {
    auto client = server.connect();
    client->users.push_back(std::move(**server.users->load("root", "admin")));
    return client;
  }
  bson::Document as(const std::shared_ptr<Client>& who, std::string_view json) {
    return server.run(parse(json), "admin", who);
  }
  std::shared_ptr<Client> root;
};

TEST_F(FsyncOfUsersTest, UsersLogInBeforeTheWritesThatWait) {
  ASSERT_TRUE(as(root, kLock)["ok"].truthy());
  const auto write = server.begin(parse(R"({"insert": "c", "documents": [{"_id": 1}]})"), "test", root);
  ASSERT_FALSE(write->done);
  const auto start = bson::doc("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload",
                               bson::Binary{bson::kBinaryGeneric, "n,,n=root,r=clientnonce1234567890abc"});
  EXPECT_TRUE(holds(server.run(start, "admin", server.connect()), R"({"ok": 1, "done": false})"_json));
  const auto unlocker = loggedIn();
  EXPECT_TRUE(holds(as(unlocker, R"({"rolesInfo": "root"})"), R"({"ok": 1, "roles": [{"role": "root"}]})"_json));
  EXPECT_TRUE(holds(as(unlocker, R"({"usersInfo": "root"})"), R"({"ok": 1, "users": [{"user": "root"}]})"_json));
  EXPECT_TRUE(holds(as(unlocker, kUnlock), R"({"ok": 1, "lockCount": 0})"_json));
  server.node.advance(1s);
  ASSERT_TRUE(write->done);
  EXPECT_TRUE(write->takeReply()["ok"].truthy());
}

TEST_F(FsyncOfUsersTest, OldConnectionsReadTheirRightsAgainBeforeTheWritesThatWait) {
  const auto old = loggedIn();
  ASSERT_TRUE(as(root, R"({"createUser": "ann", "pwd": "x", "roles": []})")["ok"].truthy());
  ASSERT_TRUE(as(root, kLock)["ok"].truthy());
  const auto write = server.begin(parse(R"({"insert": "c", "documents": [{"_id": 1}]})"), "test", root);
  ASSERT_FALSE(write->done);
  EXPECT_TRUE(as(old, R"({"ping": 1})")["ok"].truthy());
  EXPECT_TRUE(as(old, R"({"count": "c"})")["ok"].truthy());
  EXPECT_TRUE(as(old, kUnlock)["ok"].truthy());
  server.node.advance(1s);
  EXPECT_TRUE(write->done);
}

TEST_F(FsyncTest, ItsArgumentsAreChecked) {
  EXPECT_EQ(code(R"({"fsync": 1, "lock": true, "async": true})", "admin"), 72);
  EXPECT_EQ(code(R"({"fsync": 1, "lock": true, "fsyncLockAcquisitionTimeoutMillis": 0})", "admin"), 2);
  EXPECT_EQ(code(R"({"fsync": 1, "lock": "yes"})", "admin"), 14);
  EXPECT_TRUE(answers(R"({"fsync": 1})", R"({"numFiles": 1})", "admin"));
}

/// Long work of others has come in between, and keeps all workers that it may.
TEST_F(FsyncTest, WhileWritesAreStoppedItWaitsForNoLongWork) {
  fill("c", 1);
  LockHolder writer(server.locks, "test.c", storage::LockMode::kIX);
  const auto lock = begin(kLock, "admin");
  ASSERT_FALSE(lock->done);
  maintenance::JobQueue& jobs = *dynamic_cast<maintenance::WorkerPool&>(server.server->blocking).jobs();
  int held = 0;
  for (;; ++held) {
    jobs.push({"held", WorkLength::kLong, [] { return Status::OK(); }, [](const Status&) {}});
    if (!jobs.take()) break;
  }
  ASSERT_GT(held, 0);
  writer.release();
  server.node.run();
  EXPECT_TRUE(lock->done);
  for (int i = 0; i < held; ++i) jobs.ended(WorkLength::kLong);
  server.node.run();
  EXPECT_TRUE(succeeds(kUnlock, "admin"));
}

}  // namespace troupe::commands
