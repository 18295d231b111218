#include "actors/maintenance/checkpointer.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using bson::operator""_json;
using DiskOperation = storage::DeterministicEngine::DiskOperation;

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() {
    server.engine->setDiskFault([this](DiskOperation operation) {
      checkpoints += operation == DiskOperation::kCheckpoint;
      return fault;
    });
    checkpointer = server.node.spawn<Checkpointer>("/checkpointer", server.engine.get(), server.catalog.get(),
                                                   &std::as_const(server.durability), &std::as_const(seconds));
    server.node.run();
  }
  ~CheckpointerTest() override { server.node.shutdown(); }
  void insert(int id) {
    bson::Builder b;
    b.append("insert", "c").openArray("documents").push(bson::doc("_id", id)).close();
    ASSERT_TRUE(server.run(b.finish())["ok"].truthy());
  }

  std::atomic<int64_t> seconds{60};
  commands::CommandNode server;
  Address checkpointer;
  int checkpoints = 0;
  Status fault;
};

TEST_F(CheckpointerTest, TakesOneEachPeriodInWhichSomethingWasWritten) {
  insert(1);
  server.node.advance(59s);
  EXPECT_EQ(checkpoints, 0);
  server.node.advance(2s);
  EXPECT_EQ(checkpoints, 1);
  insert(2);
  server.node.advance(61s);
  EXPECT_EQ(checkpoints, 2);
}

TEST_F(CheckpointerTest, TakesNoneWhileNothingIsWritten) {
  server.node.advance(10min);
  EXPECT_EQ(checkpoints, 0);
}

TEST_F(CheckpointerTest, TakesOneAtOnceWhenAsked) {
  insert(1);
  server.node.tell(checkpointer, local(CheckpointNow{}));
  server.node.run();
  EXPECT_EQ(checkpoints, 1);
}

TEST_F(CheckpointerTest, AChangedPeriodHoldsSoon) {
  insert(1);
  seconds = 5;
  server.node.advance(7s);
  EXPECT_EQ(checkpoints, 1);
}

TEST_F(CheckpointerTest, KeepsTheSizesOfCollections) {
  insert(1);
  insert(2);
  server.node.advance(61s);
  commands::CommandNode after({.disk = server.engine->disk()});
  EXPECT_TRUE(commands::holds(after.run(R"({"count": "c"})"_json), R"({"n": 2})"_json));
}

TEST_F(CheckpointerTest, CrashesWhenTheDiskFails) {
  insert(1);
  fault = {ErrorCode::kOutOfDiskSpace, "the disk is full"};
  server.node.advance(61s);
  EXPECT_FALSE(server.node.registry().row("/checkpointer").has_value());
}

}  // namespace troupe::maintenance
