#include "storage/admission/execution_admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace troupe::storage {
namespace {

using namespace std::chrono_literals;

// LCK-012
struct ExecutionAdmissionTest : testing::Test {
  std::chrono::steady_clock::time_point time{1s};
  ExecutionAdmission admission{[this] { return time; }, 8};

  int64_t tickets() { return admission.read().total() + admission.write().total(); }

  TicketPool* busy = &admission.read();  ///< whose operations wait when there are too few tickets
  TicketPool* other = &admission.write();

  /// So many operations finish; with `isQueued` one of them had to wait for its ticket.
  void finish(int64_t operations, bool isQueued) {
    std::vector<Ticket> taken;
    if (isQueued) {
      while (Ticket ticket = busy->tryTake(AdmissionPriority::kNormal)) taken.push_back(std::move(ticket));
      EXPECT_FALSE(busy->wait(AdmissionPriority::kNormal, nullptr)->giveUp());
    }
    for (int64_t i = static_cast<int64_t>(taken.size()); i < operations; ++i)
      EXPECT_TRUE(other->tryTake(AdmissionPriority::kNormal));
  }
  /// A machine on which most operations finish with `best` tickets. Measurements take one or two seconds: what counts
  /// is the rate.
  void runOnAMachineWhoseBestIs(int64_t best) {
    for (int i = 0; i < 400; ++i) {
      const int64_t seconds = 1 + i % 2;
      const int64_t rate = 2000 - std::abs(tickets() - best) * 5;
      finish(rate * seconds, tickets() < best);
      time += std::chrono::seconds(seconds);
      admission.adapt();
    }
  }
};

TEST_F(ExecutionAdmissionTest, ThePoolsGrowAndShrinkToTheNumberWithWhichMostOperationsFinish) {
  const int64_t atFirst = tickets();
  ASSERT_EQ(atFirst, 32);
  runOnAMachineWhoseBestIs(100);
  EXPECT_NEAR(static_cast<double>(tickets()), 100, 15);
  const auto grown = admission.statistics();
  EXPECT_GT(grown.totalAmountIncreased, 50);
  runOnAMachineWhoseBestIs(20);
  EXPECT_NEAR(static_cast<double>(tickets()), 20, 4);
  EXPECT_GT(admission.statistics().totalAmountDecreased - grown.totalAmountDecreased, 60);
  EXPECT_EQ(admission.read().out() + admission.write().out(), 0);
}

TEST_F(ExecutionAdmissionTest, TheyGrowForWritersThatWaitToo) {
  std::swap(busy, other);
  runOnAMachineWhoseBestIs(100);
  EXPECT_NEAR(static_cast<double>(tickets()), 100, 15);
}

TEST_F(ExecutionAdmissionTest, PoolsThatAreFixedDoNotFollowTheThroughput) {
  admission.setFixed(7, 9);
  runOnAMachineWhoseBestIs(100);
  EXPECT_EQ(admission.read().total(), 7);
  EXPECT_EQ(admission.write().total(), 9);
}

}  // namespace
}  // namespace troupe::storage
