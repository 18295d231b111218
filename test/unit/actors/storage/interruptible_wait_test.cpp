#include "actors/storage/interruptible_wait.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "actors/environment/virtual_environment.hpp"
#include "storage/engine/deterministic_engine.hpp"

namespace troupe {

using namespace std::chrono_literals;

class InterruptibleWaitTest : public ::testing::Test {
 protected:
  InterruptibleWait::End note() {
    return [this](const Status& why) { reasons.push_back(why.code()); };
  }

  VirtualEnvironment environment;
  std::unique_ptr<storage::DeterministicEngine> engine = storage::DeterministicEngine::open();
  storage::SessionPool sessions{*engine};
  storage::OperationContext operation{{sessions}};
  std::vector<ErrorCode> reasons;
};

TEST_F(InterruptibleWaitTest, AKillEndsTheWaitWithItsReason) {
  const InterruptibleWait wait(environment, operation, note());
  EXPECT_TRUE(reasons.empty());
  operation.kill(ErrorCode::kInterruptedAtShutdown);
  EXPECT_EQ(reasons, std::vector{ErrorCode::kInterruptedAtShutdown});
}

TEST_F(InterruptibleWaitTest, AWaitOfAKilledOperationEndsAtOnce) {
  operation.kill(ErrorCode::kInterrupted);
  const InterruptibleWait wait(environment, operation, note());
  EXPECT_EQ(reasons, std::vector{ErrorCode::kInterrupted});
}

TEST_F(InterruptibleWaitTest, TheDeadlineOfTheOperationEndsTheWait) {
  operation.setDeadline(environment.now() + 50ms);
  const InterruptibleWait wait(environment, operation, note());
  environment.advance(49ms);
  EXPECT_TRUE(reasons.empty());
  environment.advance(1ms);
  EXPECT_EQ(reasons, std::vector{ErrorCode::kMaxTimeMSExpired});
}

TEST_F(InterruptibleWaitTest, TheEarlierOfDeadlineAndOwnLimitCounts) {
  operation.setDeadline(environment.now() + 50ms);
  const Status late(ErrorCode::kWriteConcernFailed, "late");
  {
    const InterruptibleWait shorter(environment, operation, note(), {.limit = environment.now() + 20ms, .late = late});
    environment.advance(20ms);
    EXPECT_EQ(reasons, std::vector{ErrorCode::kWriteConcernFailed});
  }
  const InterruptibleWait longer(environment, operation, note(), {.limit = environment.now() + 60ms, .late = late});
  environment.advance(30ms);
  EXPECT_EQ(reasons, (std::vector{ErrorCode::kWriteConcernFailed, ErrorCode::kMaxTimeMSExpired}));
}

TEST_F(InterruptibleWaitTest, NothingIsCalledOnceTheFrameIsGone) {
  operation.setDeadline(environment.now() + 50ms);
  { const InterruptibleWait wait(environment, operation, note()); }
  EXPECT_FALSE(environment.nextTimer()) << "its timer is taken back";
  operation.kill(ErrorCode::kInterrupted);
  EXPECT_TRUE(reasons.empty());
}

TEST_F(InterruptibleWaitTest, AWaitIsAbandonedWhenItsFrameGoesAwayBeforeItWasSettled) {
  int abandoned = 0;
  const auto abandon = [&abandoned] { ++abandoned; };
  {
    InterruptibleWait wait(environment, operation, note(), {.abandon = abandon});
    wait.settled();
  }
  EXPECT_EQ(abandoned, 0);
  { const InterruptibleWait wait(environment, operation, note(), {.abandon = abandon}); }
  EXPECT_EQ(abandoned, 1);
}

}  // namespace troupe
