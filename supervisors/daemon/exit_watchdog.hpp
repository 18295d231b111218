#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace troupe::supervisors {

/// Sees to it that a process which has to end does end, also when its closing hangs: in the engine after its panic, on
/// a lock, on a disk that does not answer. A service manager then starts it again, and the start recovers from the
/// journal. When the time of a limit is over it writes one line to standard error and exits at once with `kExitCode`,
/// without destructors. Has a thread of its own, since any other may be the one that hangs. Limits may be set from any
/// thread, also within the engine's callbacks; they do not block.
class ExitWatchdog {
 public:
  static constexpr int kExitCode = 100;
  using Clock = std::chrono::steady_clock;

  ExitWatchdog();
  /// The process has come to its end: no limit holds any more.
  ~ExitWatchdog();
  ExitWatchdog(const ExitWatchdog&) = delete;
  ExitWatchdog& operator=(const ExitWatchdog&) = delete;

  /// The process must have ended within so much time from now on, whatever it does. The earliest such limit holds.
  void endWithin(std::chrono::milliseconds limit, std::string why);
  /// From now on the process may rest for so long at most: closing may take its time as long as it computes or writes.
  void endWhenIdleFor(std::chrono::milliseconds limit, std::string why);

 private:
  struct Limit {
    std::chrono::milliseconds patience{};
    Clock::time_point over;
    std::string why;
  };
  void watch();
  /// Puts the idle limit off when the process has done something since the last look.
  void lookForProgress();
  [[noreturn]] static void exitNow(const Limit& limit);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Limit> absolute_, idle_;
  long written_ = 0;                    ///< blocks written to disk, at the last sign of progress
  std::chrono::microseconds spent_{0};  ///< processor time then
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace troupe::supervisors
