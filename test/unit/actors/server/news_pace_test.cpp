#include "actors/server/news_pace.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

using namespace std::chrono_literals;

class NewsPaceTest : public ::testing::Test {
 protected:
  bool isQuickAfter(Duration time, int64_t more) {
    now += time;
    pace.answered(now, news += more);
    return pace.isQuick();
  }
  NewsPace pace;
  TimePoint now{10h};
  int64_t news = 0;
};

TEST_F(NewsPaceTest, NewsAreGatheredWhereThreeMoreWouldComeMeanwhile) {
  EXPECT_FALSE(isQuickAfter(0s, 9)) << "nothing is known of their pace yet";
  EXPECT_TRUE(isQuickAfter(1500us, 3));
  EXPECT_FALSE(isQuickAfter(1600us, 3));
  EXPECT_TRUE(isQuickAfter(5ms, 10));
  EXPECT_FALSE(isQuickAfter(5ms, 9));
}

TEST_F(NewsPaceTest, OneWriterAtATimeOrTwoAreNotKeptWaiting) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(isQuickAfter(200us, 1)) << "whatever the size of a write, it is one piece of news";
    EXPECT_FALSE(isQuickAfter(200us, 2));
  }
}

TEST_F(NewsPaceTest, AReaderThatComesBackLateIsNotInAHurry) {
  isQuickAfter(0s, 1);
  EXPECT_TRUE(isQuickAfter(1ms, 20));
  EXPECT_FALSE(isQuickAfter(1s, 1));
  EXPECT_FALSE(isQuickAfter(0s, 0)) << "nothing has come";
}

}  // namespace
}  // namespace troupe::server
