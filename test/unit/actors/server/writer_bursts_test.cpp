#include "actors/server/writer_bursts.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

class WriterBurstsTest : public ::testing::Test {
 protected:
  void arrive(int count) {
    for (int i = 0; i < count; ++i) bursts.arrived();
  }
  void leave(int count) {
    for (int i = 0; i < count; ++i) bursts.left();
  }
  WriterBursts bursts;
};

TEST_F(WriterBurstsTest, ABurstIsCompleteWhenAllWaitThatWaitedBefore) {
  EXPECT_FALSE(bursts.isComplete()) << "nobody waits";
  arrive(3);
  leave(3);
  arrive(2);
  EXPECT_FALSE(bursts.isComplete());
  arrive(1);
  EXPECT_TRUE(bursts.isComplete());
  arrive(1);
  EXPECT_TRUE(bursts.isComplete()) << "one more than ever";
  leave(4);
  arrive(3);
  EXPECT_FALSE(bursts.isComplete()) << "four are expected from then on";
}

TEST_F(WriterBurstsTest, FewerAreExpectedOnceTheOthersDidNotCome) {
  arrive(5);
  leave(5);
  arrive(2);
  bursts.expectNoMore();
  EXPECT_TRUE(bursts.isComplete());
  leave(2);
  arrive(1);
  EXPECT_FALSE(bursts.isComplete());
  arrive(1);
  EXPECT_TRUE(bursts.isComplete());
}

TEST_F(WriterBurstsTest, ReadersAreWokenByTheLastOfABurst) {
  arrive(2);
  leave(2);
  const auto first = std::make_shared<Promise<Done>>(), second = std::make_shared<Promise<Done>>();
  auto firstWoken = first->future(), secondWoken = second->future();
  bursts.whenComplete(first);
  arrive(1);
  EXPECT_FALSE(firstWoken.isReady());
  arrive(1);
  EXPECT_TRUE(firstWoken.isReady());
  bursts.whenComplete(second);
  EXPECT_TRUE(secondWoken.isReady()) << "it is complete already";
}

}  // namespace
}  // namespace troupe::server
