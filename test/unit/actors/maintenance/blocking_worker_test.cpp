#include "actors/maintenance/blocking_worker.hpp"

#include <gtest/gtest.h>

#include "actors/environment/virtual_environment.hpp"

namespace troupe::maintenance {

class BlockingWorkerTest : public ::testing::Test {
 protected:
  ~BlockingWorkerTest() override { node.shutdown(); }
  Node node{{.name = "n1", .environment = std::make_shared<VirtualEnvironment>(), .manual = true}};
  std::vector<std::string> events;
};

TEST_F(BlockingWorkerTest, DoesJobsInTurnAndTellsTheirOutcome) {
  WorkerPool workers(node, {node.spawn<BlockingWorker>("/worker")});
  for (const char* name : {"a", "b"}) {
    const std::string job = name;
    workers.run(
        job,
        [this, job] {
          events.push_back("does " + job);
          return job == "b" ? Status(ErrorCode::kOperationFailed, "b fails") : Status::OK();
        },
        [this, job](const Status& status) { events.push_back(job + (status.isOK() ? " is done" : " has failed")); });
  }
  EXPECT_TRUE(events.empty());
  node.run();
  EXPECT_EQ(events, (std::vector<std::string>{"does a", "a is done", "does b", "b has failed"}));
}

TEST_F(BlockingWorkerTest, WorkersTakeTurns) {
  WorkerPool workers(node, {node.spawn<BlockingWorker>("/worker0"), node.spawn<BlockingWorker>("/worker1")});
  for (int i = 0; i < 4; ++i)
    workers.run(
        "job", [] { return Status::OK(); }, [](const Status&) {});
  node.run();
  for (const auto& row : node.registry().rows({})) EXPECT_EQ(row.handled, 2) << row.path;
}

}  // namespace troupe::maintenance
