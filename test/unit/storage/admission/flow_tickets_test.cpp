#include "storage/admission/flow_tickets.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe::storage {
namespace {

using namespace std::chrono_literals;

struct FlowTicketsTest : testing::Test {
  std::chrono::steady_clock::time_point time{1s};
  FlowTickets tickets{[this] { return time; }};
  std::map<char, std::shared_ptr<FlowWait>> waits;
  std::string log;

  ~FlowTicketsTest() override {
    for (auto& [name, wait] : waits) wait->giveUp();
  }
  void wait(char name) {
    waits[name] = tickets.wait([this, name](const Status& status) {
      log += name;
      if (!status.isOK()) log += '!';
    });
  }
  int takeAll() {
    int taken = 0;
    while (tickets.tryTake()) ++taken;
    return taken;
  }
};

TEST_F(FlowTicketsTest, WithoutALimitNobodyWaits) {
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tickets.tryTake());
  EXPECT_EQ(tickets.rate(), FlowTickets::kUnlimited);
  EXPECT_EQ(tickets.acquired(), 1000);
}

TEST_F(FlowTicketsTest, APeriodHasSoManyTicketsAndNoMore) {  // LCK-016
  tickets.refresh(3);
  EXPECT_EQ(takeAll(), 3);
  EXPECT_EQ(tickets.acquired(), 3) << "a failed attempt takes none";
}

TEST_F(FlowTicketsTest, TicketsThatAreLeftOverAreGone) {  // LCK-016
  tickets.refresh(5);
  EXPECT_TRUE(tickets.tryTake());
  tickets.refresh(2);
  EXPECT_EQ(takeAll(), 2);
}

TEST_F(FlowTicketsTest, ThoseWhoFoundNoneAreFirstInTheNextPeriod) {
  tickets.refresh(0);
  wait('a');
  wait('b');
  wait('c');
  tickets.refresh(2);
  EXPECT_EQ(log, "ab");
  tickets.refresh(2);
  EXPECT_EQ(log, "abc");
  EXPECT_EQ(takeAll(), 1);
}

TEST_F(FlowTicketsTest, NobodyPassesThoseWhoWait) {
  tickets.refresh(1);
  EXPECT_TRUE(tickets.tryTake());
  wait('a');
  wait('b');
  tickets.refresh(1);
  EXPECT_EQ(log, "a");
  EXPECT_FALSE(tickets.tryTake());
}

TEST_F(FlowTicketsTest, AWaitThatBeginsAfterARefreshIsGrantedAtOnce) {
  tickets.refresh(1);
  wait('a');
  EXPECT_EQ(log, "a");
}

TEST_F(FlowTicketsTest, WithoutALimitAllWhoWaitGoOn) {
  tickets.refresh(0);
  for (const char name : {'a', 'b', 'c'}) wait(name);
  tickets.refresh(FlowTickets::kUnlimited);
  EXPECT_EQ(log, "abc");
  EXPECT_EQ(tickets.waiting(), 0);
}

TEST_F(FlowTicketsTest, AFailedWaitTellsWhyAndTakesNoTicket) {
  tickets.refresh(0);
  wait('a');
  wait('b');
  EXPECT_TRUE(waits['a']->fail({ErrorCode::kInterrupted, "killed"}));
  EXPECT_FALSE(waits['a']->fail({ErrorCode::kInterrupted, "killed"})) << "it has ended";
  EXPECT_EQ(log, "a!");
  tickets.refresh(1);
  EXPECT_EQ(log, "a!b");
}

TEST_F(FlowTicketsTest, AWaitThatIsGivenUpIsNotHeardOf) {
  tickets.refresh(0);
  wait('a');
  wait('b');
  waits['a']->giveUp();
  tickets.refresh(1);
  EXPECT_EQ(log, "b");
  EXPECT_EQ(tickets.acquired(), 1);
}

TEST_F(FlowTicketsTest, CountsWaitsAndHowLongTheyTook) {
  tickets.refresh(0);
  wait('a');
  time += 300ms;
  wait('b');
  time += 200ms;
  tickets.refresh(1);
  waits['b']->giveUp();
  EXPECT_EQ(tickets.waits(), 2);
  EXPECT_EQ(tickets.waitMicros(), 700'000);
}

TEST(FlowTicketsThreads, EachTicketIsTakenOnceAndNobodyIsForgotten) {
  constexpr int kThreads = 4, kEach = 2000;
  FlowTickets tickets([] { return std::chrono::steady_clock::now(); });
  tickets.refresh(0);
  std::atomic<int> granted{0}, asked{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        if (tickets.tryTake()) ++granted;
        else tickets.wait([&](const Status& status) { granted += status.isOK(); });
        ++asked;
      }
    });
  int64_t given = 0;
  while (asked < kThreads * kEach || tickets.waiting() > 0) {
    tickets.refresh(7);
    given += 7;
    EXPECT_LE(granted, given);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, kThreads * kEach);
  EXPECT_EQ(tickets.acquired(), kThreads * kEach);
}

}  // namespace
}  // namespace troupe::storage
