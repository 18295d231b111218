#include "storage/admission/ticket_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace troupe::storage {
namespace {

using enum AdmissionPriority;
using namespace std::chrono_literals;

struct TicketPoolTest : testing::Test {
  std::chrono::steady_clock::time_point time{1s};
  TicketPool pool{[this] { return time; }, 2};
  std::map<char, Ticket> tickets;
  std::map<char, std::shared_ptr<TicketWait>> waits;
  std::string log;

  ~TicketPoolTest() override {
    for (auto& [name, wait] : waits) wait->giveUp();
  }
  bool take(char name, AdmissionPriority priority = kNormal) {
    if ((tickets[name] = pool.tryTake(priority))) return true;
    waits[name] = pool.wait(priority, [this, name, priority](const Status& status) {
      log += name;
      if (status.isOK()) tickets[name] = pool.granted(priority);
      else log += '!';
    });
    return false;
  }
  void giveBack(char name) { tickets[name].reset(); }
};

TEST_F(TicketPoolTest, AFreeTicketIsGivenAtOnceWhateverThePriority) {
  EXPECT_TRUE(take('a', kLow));
  EXPECT_TRUE(take('b'));
  EXPECT_FALSE(take('c'));
  EXPECT_EQ(pool.available(), 0);
  EXPECT_EQ(pool.out(), 2);
}

TEST_F(TicketPoolTest, ATicketGoesToANormalWaiterThenToALowOneThenToThePool) {
  take('a');
  take('b');
  take('l', kLow);
  take('n');
  giveBack('a');
  EXPECT_EQ(log, "n");
  giveBack('b');
  EXPECT_EQ(log, "nl");
  giveBack('n');
  EXPECT_EQ(pool.available(), 1);
}

TEST_F(TicketPoolTest, ImmediateOperationsNeedNoTicket) {
  take('a');
  take('b');
  EXPECT_TRUE(take('i', kImmediate));
  EXPECT_EQ(pool.out(), 2);
  giveBack('i');
  EXPECT_EQ(pool.out(), 2);
  EXPECT_EQ(pool.statistics(kImmediate).finishedProcessing, 1);
  EXPECT_EQ(pool.finished(), 0);
}

TEST_F(TicketPoolTest, ALowWaiterIsPassedSoOftenAndNoMore) {
  pool.resize(1);
  pool.setLowBypassThreshold(3);
  take('a');
  take('l', kLow);
  for (const char name : {'1', '2', '3', '4', '5'}) take(name);
  for (const char name : {'a', '1', '2', '3', 'l', '4', '5'}) giveBack(name);
  EXPECT_EQ(log, "123l45");
  EXPECT_EQ(pool.statistics(kLow).expedited, 1);
}

TEST_F(TicketPoolTest, WithoutAThresholdLowWaitersGoLast) {
  pool.resize(1);
  pool.setLowBypassThreshold(0);
  take('a');
  take('l', kLow);
  for (const char name : {'1', '2'}) take(name);
  for (const char name : {'a', '1', '2', 'l'}) giveBack(name);
  EXPECT_EQ(log, "12l");
}

TEST_F(TicketPoolTest, MoreTicketsGoToWaitersAtOnce) {
  take('a');
  take('b');
  take('c');
  take('d');
  pool.resize(3);
  EXPECT_EQ(log, "c");
  EXPECT_EQ(pool.total(), 3);
}

TEST_F(TicketPoolTest, FewerTicketsAreWithheldAsTheyComeBack) {
  take('a');
  take('b');
  take('c');
  pool.resize(1);
  giveBack('a');
  EXPECT_EQ(log, "") << "the first one is withheld";
  giveBack('b');
  EXPECT_EQ(log, "c");
  giveBack('c');
  EXPECT_EQ(pool.available(), 1);
}

TEST_F(TicketPoolTest, AFailedWaitTellsWhyAndOthersGoOn) {
  take('a');
  take('b');
  take('c');
  take('d');
  EXPECT_TRUE(waits['c']->fail({ErrorCode::kMaxTimeMSExpired, ""}));
  EXPECT_EQ(log, "c!");
  giveBack('a');
  EXPECT_EQ(log, "c!d");
  EXPECT_FALSE(waits['d']->fail({ErrorCode::kInterrupted, ""}));
  EXPECT_EQ(pool.statistics(kNormal).canceled, 1);
  EXPECT_EQ(pool.statistics(kNormal).queueLength(), 0);
}

TEST_F(TicketPoolTest, AWaitThatIsGivenUpTellsWhetherItHasATicket) {
  take('a');
  take('b');
  take('c');
  EXPECT_FALSE(waits['c']->giveUp());
  take('d');
  giveBack('a');
  EXPECT_EQ(log, "d");
  EXPECT_TRUE(waits['d']->giveUp());
}

TEST_F(TicketPoolTest, CountsTimesInTheQueueAndAtWork) {
  take('a');
  take('b');
  take('c');
  time += 3s;
  giveBack('a');
  time += 4s;
  giveBack('c');
  const auto normal = pool.statistics(kNormal);
  EXPECT_EQ(normal.totalTimeQueuedMicros, 3'000'000);
  EXPECT_EQ(normal.totalTimeProcessingMicros, 7'000'000);
  EXPECT_EQ(normal.startedProcessing, 3);
  EXPECT_EQ(normal.processing(), 1);
  EXPECT_TRUE(pool.takeExhausted());
  EXPECT_FALSE(pool.takeExhausted());
}

TEST(TicketPoolThreads, NeverMoreAtWorkThanTicketsAndNobodyIsForgotten) {
  TicketPool pool([] { return std::chrono::steady_clock::now(); }, 3);
  std::atomic<int> inside{0}, most{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const AdmissionPriority priority = (i + t) % 3 == 0 ? kLow : kNormal;
        Ticket ticket = pool.tryTake(priority);
        if (!ticket) {
          std::promise<void> granted;
          const auto wait = pool.wait(priority, [&](const Status&) { granted.set_value(); });
          granted.get_future().wait();
          ticket = pool.granted(priority);
        }
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        --inside;
        ++done;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(done, 6 * 2000);
  EXPECT_EQ(pool.available(), 3);
}

}  // namespace
}  // namespace troupe::storage
