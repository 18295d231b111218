#include "actors/maintenance/journal_flusher.hpp"

#include <gtest/gtest.h>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "storage/engine/deterministic_engine.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using DiskOperation = storage::DeterministicEngine::DiskOperation;

class JournalFlusherTest : public ::testing::Test {
 protected:
  JournalFlusherTest() {
    engine->setDiskFault([this](DiskOperation operation) {
      did += operation == DiskOperation::kFlushLog ? 'f' : 'c';
      return fault;
    });
  }
  ~JournalFlusherTest() override { node.shutdown(); }

  void start(storage::FlushKind kind = storage::FlushKind::kLog) {
    flusher = node.spawn<JournalFlusher>("/flusher", engine.get(), &tracker, kind, &std::as_const(intervalMillis));
    node.run();
  }
  void wait() {
    tracker.wait(tracker.take(), [this](const Status& status) { outcomes.push_back(status.code()); });
  }
  void flushNow() {
    node.tell(flusher, local(FlushNow{}));
    node.run();
  }

  std::shared_ptr<VirtualEnvironment> time = std::make_shared<VirtualEnvironment>();
  std::unique_ptr<storage::DeterministicEngine> engine = storage::DeterministicEngine::open();
  storage::DurabilityTracker tracker;
  std::atomic<int64_t> intervalMillis{100};
  Node node{{.name = "n1", .environment = time, .manual = true}};
  Address flusher;
  std::string did;  ///< "f": flushed the log, "c": took a checkpoint
  Status fault;
  std::vector<ErrorCode> outcomes;
};

TEST_F(JournalFlusherTest, OneFlushServesAllWhoWait) {
  start();
  wait();
  wait();
  wait();
  EXPECT_TRUE(outcomes.empty());
  flushNow();
  EXPECT_EQ(outcomes, (std::vector{ErrorCode::kOK, ErrorCode::kOK, ErrorCode::kOK}));
  EXPECT_EQ(did, "f");
}

TEST_F(JournalFlusherTest, FlushesEachIntervalWhatNobodyWaitsFor) {
  start();
  tracker.take();
  node.advance(99ms);
  EXPECT_EQ(did, "");
  node.advance(2ms);
  EXPECT_EQ(did, "f");
  EXPECT_TRUE(tracker.isDurable(1));
}

TEST_F(JournalFlusherTest, DoesNothingWhenNothingWasWritten) {
  start();
  node.advance(10s);
  flushNow();
  EXPECT_EQ(did, "");
}

TEST_F(JournalFlusherTest, AChangedIntervalHoldsFromTheNextFlushOn) {
  start();
  intervalMillis = 10;
  node.advance(100ms);
  tracker.take();
  node.advance(11ms);
  EXPECT_EQ(did, "f");
}

TEST_F(JournalFlusherTest, WithoutAJournalTakesACheckpoint) {
  start(storage::FlushKind::kCheckpoint);
  wait();
  flushNow();
  EXPECT_EQ(did, "c");
  EXPECT_EQ(outcomes, std::vector{ErrorCode::kOK});
}

TEST_F(JournalFlusherTest, TellsThoseWhoWaitThatItFailedAndCrashes) {
  start();
  fault = {ErrorCode::kOutOfDiskSpace, "the disk is full"};
  wait();
  flushNow();
  EXPECT_EQ(outcomes, std::vector{ErrorCode::kOutOfDiskSpace});
  EXPECT_EQ(node.actorCount(), 0u);
}

TEST_F(JournalFlusherTest, ItsNextLifeFlushesWhatIsStillDue) {
  start();
  fault = {ErrorCode::kOutOfDiskSpace, "the disk is full"};
  tracker.take();
  flushNow();
  fault = Status::OK();
  start();
  node.advance(101ms);
  EXPECT_EQ(did, "ff");
  EXPECT_TRUE(tracker.isDurable(1));
}

TEST_F(JournalFlusherTest, AnOrderlyStopLeavesNothingBehind) {
  start();
  wait();
  node.requestStop(flusher);
  node.run();
  EXPECT_EQ(outcomes, std::vector{ErrorCode::kOK});
}

}  // namespace troupe::maintenance
