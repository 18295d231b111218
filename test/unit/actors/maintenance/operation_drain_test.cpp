#include "actors/maintenance/operation_drain.hpp"

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using commands::Exchange;

class OperationDrainTest : public commands::CommandTest {
 protected:
  void TearDown() override {
    if (!stopped_) CommandTest::TearDown();
  }
  void stopTheNode() {
    stopped_ = true;
    server.assembly.stop();
  }
  /// A read that holds the global lock in mode IS for so long, even when it is killed. True once it has read.
  std::shared_ptr<bool> beginReadThatTakes(Duration time) {
    fill("c", 3);
    auto hasRead = std::make_shared<bool>(false);
    auto read = [](server::ServerContext* node, Duration time, std::shared_ptr<bool> hasRead) -> Task<void> {
      storage::OperationContext operation(node->operations);
      storage::HeldLock lock(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
      EXPECT_TRUE(operation.tryAdmit(false) && lock.tryAcquire());
      co_await node->node.sleepFor(time);
      const auto found =
          node->catalog.unguarded().find({"test", "c"})->findById(operation.recoveryUnit(), bson::doc("_id", 1)["_id"]);
      *hasRead = found.isOK() && found->has_value();
    };
    server.node.start(read(server.server, time, hasRead));
    server.node.run();
    return hasRead;
  }
  /// A find that waits for so long, unless it is killed.
  std::shared_ptr<Exchange> beginFindThatWaits(int milliseconds) {
    fill("c", 3);
    EXPECT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1}, "data":
                             {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": )" +
                             std::to_string(milliseconds) + "}}",
                         "admin"));
    auto find = server.begin(parse(R"({"find": "c"})"), "test", server.connect());
    EXPECT_FALSE(find->done);
    return find;
  }

 private:
  bool stopped_ = false;
};

TEST_F(OperationDrainTest, AShutdownClosesStorageOnlyAfterTheLastOperation) {
  const auto hasRead = beginReadThatTakes(2s);
  const TimePoint asked = server.time->now();
  stopTheNode();
  EXPECT_TRUE(*hasRead) << "storage closed under it";
  EXPECT_GE(server.time->now() - asked, 2s);
  EXPECT_LT(server.time->now() - asked, 3s);
}

TEST_F(OperationDrainTest, AShutdownEndsAnOperationThatWaits) {
  const auto find = beginFindThatWaits(600'000);
  const TimePoint asked = server.time->now();
  stopTheNode();
  ASSERT_TRUE(find->done);
  EXPECT_EQ(find->takeReply()["code"].toInt64(), 11600);
  EXPECT_LT(server.time->now() - asked, 1s);
}

TEST_F(OperationDrainTest, AShutdownGoesBeforeWhoWaitsForTheGlobalLock) {
  const auto global = storage::ResourceId::global();
  storage::Locker reader(server.locks);
  ASSERT_TRUE(reader.tryAcquire(global, storage::LockMode::kS));
  storage::Locker writer(server.locks);
  const auto waits = writer.acquire(global, storage::LockMode::kIX, {}, nullptr);
  ASSERT_TRUE(waits.wait);
  server.time->schedule(server.time->now() + 1s, [&] { reader.releaseAll(); });
  const TimePoint asked = server.time->now();
  stopTheNode();
  EXPECT_GE(server.time->now() - asked, 1s);
  EXPECT_LT(server.time->now() - asked, 2s) << "behind the writer it would have waited until its grace was over";
  writer.giveUp(waits.wait);
}

TEST_F(OperationDrainTest, AShutdownDoesNotWaitForTheUnlockOfFsync) {
  ASSERT_TRUE(succeeds(R"({"fsync": 1, "lock": true})", "admin"));
  const auto write = server.begin(parse(R"({"insert": "c", "documents": [{}]})"), "test", server.connect());
  EXPECT_FALSE(write->done);
  const TimePoint asked = server.time->now();
  stopTheNode();
  ASSERT_TRUE(write->done);
  EXPECT_EQ(write->takeReply()["code"].toInt64(), 11600);
  EXPECT_LT(server.time->now() - asked, 1s);
}

TEST_F(OperationDrainTest, AShutdownEndsTransactionsWhoseClientsAreSilent) {
  fill("c", 3);
  storage::OperationContext command(server.server->operations);
  command.openLastingUnit(storage::UnitLogging::kGrouped);
  storage::HeldLock lock(command, storage::ResourceType::kCollection, "test.c", storage::LockMode::kIX);
  ASSERT_TRUE(command.tryAdmit(true) && lock.tryAcquire());
  storage::StashedOperation stashed = command.stash();
  const TimePoint asked = server.time->now();
  stopTheNode();
  EXPECT_LT(server.time->now() - asked, 1s) << "its locks were waited for";
  EXPECT_EQ(command.unstash(std::move(stashed)), ErrorCode::kInterruptedAtShutdown);
}

TEST_F(OperationDrainTest, AnOperationThatDoesNotEndIsCutOffAfterTheGrace) {
  const auto hasRead = beginReadThatTakes(10min);
  const TimePoint asked = server.time->now();
  stopTheNode();
  EXPECT_FALSE(*hasRead);
  EXPECT_LT(server.time->now() - asked, 10s);
}

TEST_F(OperationDrainTest, ItsRestartByAnOperatorEndsNoOperation) {
  const auto find = beginFindThatWaits(2000);
  server.node.start([](Node& node) -> Task<void> {
    const Status restarted =
        co_await supervisors::controlActor(node, "/node/operation-drain", supervisors::ControlAction::kRestart, "test");
    EXPECT_TRUE(restarted.isOK()) << restarted.toString();
  }(server.node));
  server.node.advance(3s);
  ASSERT_TRUE(find->done);
  EXPECT_EQ(find->takeReply()["ok"].toDouble(), 1.0);
}

}  // namespace troupe::maintenance
