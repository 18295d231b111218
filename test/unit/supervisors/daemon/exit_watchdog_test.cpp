#include "supervisors/daemon/exit_watchdog.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace troupe::supervisors {
namespace {

using namespace std::chrono_literals;
using ::testing::ExitedWithCode;

[[noreturn]] void hang() {
  for (;;) pause();
}

/// Computes for so long, and does not end.
[[noreturn]] void compute(std::chrono::milliseconds time) {
  const auto end = ExitWatchdog::Clock::now() + time;
  volatile uint64_t sum = 0;
  while (ExitWatchdog::Clock::now() < end) sum = sum + 1;
  _exit(7);
}

TEST(ExitWatchdogDeathTest, EndsAProcessThatHangsBehindItsLimit) {
  EXPECT_EXIT(
      {
        ExitWatchdog watchdog;
        watchdog.endWithin(1h, "later");
        watchdog.endWithin(200ms, "the engine has failed, and the process went on");
        hang();
      },
      ExitedWithCode(ExitWatchdog::kExitCode), "the engine has failed, and the process went on for 0 s");
}

TEST(ExitWatchdogDeathTest, EndsAProcessThatRestsWhileItIsClosing) {
  EXPECT_EXIT(
      {
        ExitWatchdog watchdog;
        watchdog.endWhenIdleFor(500ms, "closing has made no progress");
        hang();
      },
      ExitedWithCode(ExitWatchdog::kExitCode), "no progress");
}

TEST(ExitWatchdogDeathTest, LetsAProcessGoOnThatWorks) {
  EXPECT_EXIT(
      {
        ExitWatchdog watchdog;
        watchdog.endWhenIdleFor(2s, "closing has made no progress");
        compute(4s);
      },
      ExitedWithCode(7), "");
}

TEST(ExitWatchdogDeathTest, AProcessThatEndsInTimeKeepsItsCode) {
  EXPECT_EXIT(
      {
        {
          ExitWatchdog watchdog;
          watchdog.endWithin(10s, "it");
          watchdog.endWhenIdleFor(10s, "it");
        }
        _exit(3);
      },
      ExitedWithCode(3), "");
}

}  // namespace
}  // namespace troupe::supervisors
