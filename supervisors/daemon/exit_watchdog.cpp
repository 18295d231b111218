#include "supervisors/daemon/exit_watchdog.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace troupe::supervisors {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr auto kLookEvery = milliseconds(100);
/// Processor time in one look that counts as progress: timers of an idle process take far less.
constexpr auto kProgress = milliseconds(10);

microseconds timeOf(const timeval& time) { return std::chrono::seconds(time.tv_sec) + microseconds(time.tv_usec); }

}  // namespace

ExitWatchdog::ExitWatchdog() : thread_([this] { watch(); }) {}

ExitWatchdog::~ExitWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ExitWatchdog::endWithin(milliseconds limit, std::string why) {
  const std::lock_guard lock(mutex_);
  const auto over = Clock::now() + limit;
  if (!absolute_ || over < absolute_->over) absolute_ = {limit, over, std::move(why)};
  changed_.notify_one();
}

void ExitWatchdog::endWhenIdleFor(milliseconds limit, std::string why) {
  const std::lock_guard lock(mutex_);
  idle_ = {limit, Clock::now() + limit, std::move(why)};
  changed_.notify_one();
}

void ExitWatchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (!absolute_ && !idle_) {
      changed_.wait(lock);
      continue;
    }
    if (idle_) lookForProgress();
    for (const auto* limit : {&absolute_, &idle_})
      if (*limit && Clock::now() >= (*limit)->over) exitNow(**limit);
    changed_.wait_for(lock, kLookEvery);
  }
}

void ExitWatchdog::lookForProgress() {
  rusage now{};
  getrusage(RUSAGE_SELF, &now);
  const auto spent = timeOf(now.ru_utime) + timeOf(now.ru_stime);
  const bool worked = spent - spent_ >= kProgress || now.ru_oublock != written_;
  spent_ = spent;
  written_ = now.ru_oublock;
  if (worked) idle_->over = Clock::now() + idle_->patience;
}

void ExitWatchdog::exitNow(const Limit& limit) {
  const std::string line = "trouped: " + limit.why + " for " + std::to_string(limit.patience.count() / 1000) +
                           " s: the process ends without closing its data, and the next start recovers it\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(kExitCode);
}

}  // namespace troupe::supervisors
