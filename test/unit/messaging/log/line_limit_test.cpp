#include "messaging/log/line_limit.hpp"

#include <gtest/gtest.h>

namespace troupe::log {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;

TEST(LineLimit, LetsOneThroughInEachIntervalAndTellsHowManyItLeftOut) {
  LineLimit limit(10s);
  EXPECT_EQ(limit.admit(Time() + 1s), 0);
  EXPECT_EQ(limit.admit(Time() + 2s), std::nullopt);
  EXPECT_EQ(limit.admit(Time() + 10s), std::nullopt);
  EXPECT_EQ(limit.admit(Time() + 11s), 2);
  EXPECT_EQ(limit.admit(Time() + 12s), std::nullopt);
  EXPECT_EQ(limit.admit(Time() + 30s), 1);
}

}  // namespace
}  // namespace troupe::log
