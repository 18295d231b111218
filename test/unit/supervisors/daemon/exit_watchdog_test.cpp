#include "supervisors/daemon/exit_watchdog.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>

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

/// Writes to the disk for so long, at rest in between, and does not end.
[[noreturn]] void writeTo(const std::string& path, std::chrono::milliseconds time) {
  const auto end = ExitWatchdog::Clock::now() + time;
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  const std::string block(4096, 'x');
  while (ExitWatchdog::Clock::now() < end) {
    if (write(file, block.data(), block.size()) < 0 || fsync(file) != 0) _exit(8);
    poll(nullptr, 0, 300);  // less than a look's worth of computing
  }
  _exit(7);
}

TEST(ExitWatchdogDeathTest, OfLimitsTheEarliestHoldsInWhateverOrderTheyCome) {
  for (const bool earliestFirst : {true, false}) {
    EXPECT_EXIT(
        {
          ExitWatchdog watchdog;
          if (!earliestFirst) watchdog.endWithin(5s, "later");
          watchdog.endWithin(200ms, "the engine has failed, and the process went on");
          if (earliestFirst) watchdog.endWithin(5s, "later");
          hang();
        },
        ExitedWithCode(ExitWatchdog::kExitCode), "the engine has failed, and the process went on for 0 s");
  }
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

TEST(ExitWatchdogDeathTest, LetsAProcessGoOnThatWrites) {
  const std::string path = testing::TempDir() + "troupe_watchdog_" + std::to_string(getpid());
  EXPECT_EXIT(
      {
        ExitWatchdog watchdog;
        watchdog.endWhenIdleFor(1s, "closing has made no progress");
        writeTo(path, 3s);
      },
      ExitedWithCode(7), "");
  unlink(path.c_str());
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
