#include "actors/maintenance/blocking_worker.hpp"

#include <gtest/gtest.h>

#include "actors/environment/virtual_environment.hpp"

namespace troupe::maintenance {

class BlockingWorkerTest : public ::testing::Test {
 protected:
  ~BlockingWorkerTest() override { node.shutdown(); }
  Node node{{.name = "n1", .environment = std::make_shared<VirtualEnvironment>(), .manual = true}};

  void run(
      WorkerPool& workers, const std::string& job, std::function<Status()> work = [] { return Status::OK(); }) {
    workers.run(job, server::WorkLength::kShort, std::move(work), [this, job](const Status& status) {
      told_ += (told_.empty() ? "" : ", ") + job + ": " + status.toString();
    });
  }
  std::string told() { return std::exchange(told_, ""); }

 private:
  std::string told_;
};

TEST_F(BlockingWorkerTest, DoesJobsInTurnAndTellsTheirOutcome) {
  WorkerPool workers(node, {node.address("/worker")});
  node.spawn<BlockingWorker>("/worker", workers.jobs());
  run(workers, "a");
  run(workers, "b", [] { return Status(ErrorCode::kOperationFailed, "b fails"); });
  EXPECT_EQ(told(), "");
  node.run();
  EXPECT_EQ(told(), "a: OK, b: OperationFailed: b fails");
}

TEST_F(BlockingWorkerTest, AJobIsDoneByAWorkerThatIsThere) {
  WorkerPool workers(node, {node.address("/parked"), node.address("/worker")});
  node.spawn<BlockingWorker>("/worker", workers.jobs());
  for (const char* name : {"a", "b", "c"}) run(workers, name);
  node.run();
  EXPECT_EQ(told(), "a: OK, b: OK, c: OK");
}

TEST_F(BlockingWorkerTest, JobsWaitForTheNextLifeOfTheirWorker) {
  WorkerPool workers(node, {node.address("/worker")});
  const Address first = node.spawn<BlockingWorker>("/worker", workers.jobs());
  node.run();
  node.kill(first, Status(ErrorCode::kOperationFailed, "an operator restarts it"));
  run(workers, "a");
  run(workers, "b");
  node.run();
  EXPECT_EQ(told(), "");
  node.spawn<BlockingWorker>("/worker", workers.jobs());
  node.run();
  EXPECT_EQ(told(), "a: OK, b: OK");
}

TEST_F(BlockingWorkerTest, LongerWorkLeavesWorkersToWhatIsShorter) {
  using enum server::WorkLength;
  JobQueue jobs(3);
  for (const auto& [what, length] :
       {std::pair("background 1", kBackground), std::pair("background 2", kBackground), std::pair("long 1", kLong),
        std::pair("long 2", kLong), std::pair("short", kShort)})
    jobs.push({what, length, {}, {}});
  const auto taken = [&] {
    const auto job = jobs.take();
    return job ? job->what : "";
  };
  EXPECT_EQ(taken(), "background 1");
  EXPECT_EQ(taken(), "long 1") << "one piece of work in the background at a time";
  EXPECT_EQ(taken(), "short") << "the last worker is not for long work";
  EXPECT_EQ(taken(), "");
  jobs.ended(kBackground);
  EXPECT_EQ(taken(), "background 2") << "first come, first served";
  EXPECT_EQ(taken(), "");
  jobs.ended(kLong);
  EXPECT_EQ(taken(), "long 2");
  EXPECT_EQ(jobs.size(), 0u);
}

TEST_F(BlockingWorkerTest, WorkThatFailedMakesRoomForTheNext) {
  WorkerPool workers(node, {node.address("/worker")});
  node.spawn<BlockingWorker>("/worker", workers.jobs());
  const auto begin = [&](std::function<Status()> work) {
    workers.run("a", server::WorkLength::kBackground, std::move(work), [](const Status&) {});
    node.run();
  };
  begin([]() -> Status { throw std::runtime_error("out of luck"); });
  node.spawn<BlockingWorker>("/worker", workers.jobs());
  bool ran = false;
  begin([&] {
    ran = true;
    return Status::OK();
  });
  EXPECT_TRUE(ran);
}

TEST_F(BlockingWorkerTest, AJobThatThrowsFailsWithItsReason) {
  WorkerPool workers(node, {node.address("/worker")});
  node.spawn<BlockingWorker>("/worker", workers.jobs());
  run(workers, "a", []() -> Status { throw std::runtime_error("out of luck"); });
  node.run();
  EXPECT_EQ(told(), "a: InternalError: a failed: out of luck");
  EXPECT_FALSE(node.registry().row("/worker")) << "the worker fails with it, for its supervisor to see";
}

}  // namespace troupe::maintenance
