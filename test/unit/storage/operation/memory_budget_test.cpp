#include "storage/operation/memory_budget.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "storage/engine/deterministic_engine.hpp"
#include "storage/operation/node_charge.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::storage {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

struct Limits {
  std::atomic<int64_t> total{8 * kMiB}, operation{4 * kMiB};
  MemoryGovernor governor{total, operation};
};

TEST(MemoryBudget, RefusesWhatPassesItsLimitAndChargesNothingThen) {
  MemoryBudget budget(1000);
  EXPECT_TRUE(budget.charge(900).isOK());
  const Status refused = budget.charge(101);
  EXPECT_EQ(refused.code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_NE(refused.reason().find("operationMemoryLimitBytes"), std::string::npos) << refused.reason();
  EXPECT_EQ(budget.used(), 900);
  EXPECT_TRUE(budget.charge(100).isOK());
  budget.release(1000);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_EQ(budget.peak(), 1000);
}

TEST(MemoryBudget, ALimitThatCannotBeAddedToIsRefusedToo) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.charge(1000).isOK());
  EXPECT_EQ(budget.charge(std::numeric_limits<int64_t>::max()).code(), ErrorCode::kExceededMemoryLimit);
  budget.release(1000);
}

TEST(MemoryCharge, IsReleasedWithItsObject) {
  MemoryBudget budget(1000);
  {
    MemoryCharge charge;
    EXPECT_TRUE(charge.resize(&budget, 600).isOK());
    EXPECT_TRUE(charge.resize(&budget, 400).isOK());
    EXPECT_EQ(budget.used(), 400);
    EXPECT_FALSE(charge.resize(&budget, 1001).isOK());
    EXPECT_EQ(charge.bytes(), 400) << "as before";
    MemoryCharge moved = std::move(charge);
    MemoryCharge other;
    ASSERT_TRUE(other.resize(&budget, 100).isOK());
    other = std::move(moved);
    EXPECT_EQ(other.bytes(), 400);
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryGovernor, RefusesWhatAllOperationsTogetherMayNotHold) {
  Limits limits;
  MemoryBudget first(4 * kMiB, &limits.governor), second(4 * kMiB, &limits.governor), third(4 * kMiB, &limits.governor);
  ASSERT_TRUE(first.charge(4 * kMiB).isOK());
  ASSERT_TRUE(second.charge(3 * kMiB).isOK());
  const Status refused = third.charge(2 * kMiB);
  EXPECT_EQ(refused.code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_NE(refused.reason().find("the node is out of memory for operations: 7 MiB of 8 MiB"), std::string::npos)
      << refused.reason();
  EXPECT_EQ(limits.governor.refusals(), 1);
  EXPECT_EQ(third.used(), 0);
  first.release(4 * kMiB);
  EXPECT_TRUE(third.charge(2 * kMiB).isOK());
  second.release(3 * kMiB);
  third.release(2 * kMiB);
}

TEST(MemoryGovernor, GetsBackWhatABudgetReserved) {
  Limits limits;
  {
    MemoryBudget budget(4 * kMiB, &limits.governor);
    ASSERT_TRUE(budget.charge(1).isOK());
    EXPECT_GT(limits.governor.reserved(), 1) << "in chunks, so that charging costs no shared counter";
    ASSERT_TRUE(budget.charge(4 * kMiB - 1).isOK());
    budget.release(4 * kMiB);
    EXPECT_LT(limits.governor.reserved(), kMiB) << "memory that is free again serves others, also of one that goes on";
  }
  EXPECT_EQ(limits.governor.reserved(), 0);
  EXPECT_GE(limits.governor.peak(), 4 * kMiB);
}

TEST(MemoryGovernor, CountsForManyThreads) {
  Limits limits;
  limits.total = int64_t{1} << 40;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) {
        MemoryBudget budget(4 * kMiB, &limits.governor);
        EXPECT_TRUE(budget.charge(kMiB + n).isOK());
        budget.release(kMiB + n);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(limits.governor.reserved(), 0);
}

class OperationMemoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<DeterministicEngine> engine = DeterministicEngine::open();
  SessionPool sessions{*engine};
  Limits limits;
  OperationServices services{.sessions = sessions, .memory = &limits.governor};
};

TEST_F(OperationMemoryTest, ACursorTakesTheBudgetOfItsPlanAlong) {
  StashedOperation stashed;
  {
    OperationContext first(services);
    ASSERT_TRUE(first.memory().charge(3 * kMiB).isOK());
    stashed = first.stash();
  }
  EXPECT_GE(limits.governor.reserved(), 3 * kMiB) << "an idle cursor holds its memory";
  OperationContext next(services);
  ASSERT_TRUE(next.unstash(std::move(stashed)).isOK());
  EXPECT_EQ(next.memory().used(), 3 * kMiB);
  EXPECT_FALSE(next.memory().charge(2 * kMiB).isOK()) << "the limit is that of the query, however many batches it has";
  next.memory().release(3 * kMiB);
}

TEST_F(OperationMemoryTest, EndsWithItsClientOnceItHasLastedAWhile) {
  OperationContext operation(services);
  int looks = 0;
  bool gone = false;
  const std::function<bool()> isGone = [&] {
    ++looks;
    return gone;
  };
  operation.watchClient(&isGone);
  const TimePoint begun = operation.started();
  using std::chrono::milliseconds;
  EXPECT_TRUE(operation.checkForInterrupt(begun + milliseconds(49)).isOK());
  EXPECT_EQ(looks, 0) << "short operations do not look";
  EXPECT_TRUE(operation.checkForInterrupt(begun + milliseconds(50)).isOK());
  EXPECT_TRUE(operation.checkForInterrupt(begun + milliseconds(60)).isOK());
  EXPECT_EQ(looks, 1);
  gone = true;
  EXPECT_EQ(operation.checkForInterrupt(begun + milliseconds(100)).code(), ErrorCode::kHostUnreachable);
}

TEST(MemoryReservation, CountsForTheNodeAlone) {
  Limits limits;
  {
    MemoryReservation held, more;
    EXPECT_TRUE(held.grow(&limits.governor, 60'000).isOK());
    EXPECT_EQ(limits.governor.reserved(), 0) << "small ones are not counted";
    EXPECT_TRUE(held.grow(&limits.governor, 6 * kMiB).isOK()) << "beyond what an operation may hold";
    EXPECT_EQ(limits.governor.reserved(), 6 * kMiB);
    EXPECT_EQ(more.grow(&limits.governor, 3 * kMiB), ErrorCode::kExceededMemoryLimit);
    EXPECT_EQ(more.bytes(), 0);
    EXPECT_TRUE(held.grow(&limits.governor, kMiB).isOK());
    EXPECT_EQ(held.bytes(), 6 * kMiB) << "it never shrinks";
    EXPECT_TRUE(more.grow(nullptr, 100 * kMiB).isOK());
  }
  EXPECT_EQ(limits.governor.reserved(), 0);
}

TEST(NodeCharge, CountsToTheByte) {
  Limits limits;
  {
    NodeCharge charge, more, none;
    EXPECT_TRUE(charge.resize(&limits.governor, 100).isOK());
    EXPECT_EQ(limits.governor.reserved(), 100) << "small ones, too";
    EXPECT_EQ(more.resize(&limits.governor, 8 * kMiB), ErrorCode::kExceededMemoryLimit);
    EXPECT_EQ(more.bytes(), 0);
    charge.shrinkTo(200);
    EXPECT_EQ(charge.bytes(), 100) << "that is no way to grow";
    charge.shrinkTo(30);
    more = std::move(charge);
    EXPECT_EQ(more.bytes(), 30);
    EXPECT_TRUE(more.resize(&limits.governor, 8 * kMiB).isOK());
    EXPECT_TRUE(none.resize(nullptr, 100 * kMiB).isOK()) << "nothing is counted";
  }
  EXPECT_EQ(limits.governor.reserved(), 0);
}

}  // namespace
}  // namespace troupe::storage
