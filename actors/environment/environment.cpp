#include "actors/environment/environment.hpp"

#include <sys/statvfs.h>
#include <time.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "actors/environment/timer_queue.hpp"

namespace troupe {

namespace {

class RealEnvironment final : public Environment {
 public:
  RealEnvironment() : thread_([this] { runTimers(); }) {}

  ~RealEnvironment() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  TimePoint coarseNow() const override {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return TimePoint(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }
  WallTime wallNow() const override { return std::chrono::system_clock::now(); }

  uint64_t random() override {
    thread_local std::mt19937_64 source = [] {
      std::random_device device;
      std::seed_seq seed{device(), device(), device(), device()};
      return std::mt19937_64(seed);
    }();
    return source();
  }

  std::optional<DiskSpace> diskSpace(const std::string& path) const override {
    struct statvfs found {};
    if (statvfs(path.c_str(), &found) != 0) return std::nullopt;
    const auto bytes = [&](fsblkcnt_t blocks) { return static_cast<int64_t>(blocks * found.f_frsize); };
    return DiskSpace{bytes(found.f_bavail), bytes(found.f_blocks)};
  }

  TimerId schedule(TimePoint when, std::function<void()> action) override {
    TimerId id;
    bool first;
    {
      std::lock_guard lock(mutex_);
      const auto next = timers_.nextDue();
      first = !next || when < *next;
      id = timers_.add(when, std::move(action));
    }
    if (first) changed_.notify_one();
    return id;
  }

  bool cancel(TimerId timer) override {
    std::optional<std::function<void()>> action;
    const std::lock_guard lock(mutex_);
    action = timers_.remove(timer);
    return action.has_value();
  }

 private:
  void runTimers() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (auto due = timers_.takeDue(now())) {
        lock.unlock();
        due->second();
        due.reset();
        lock.lock();
      } else if (const auto next = timers_.nextDue()) {
        changed_.wait_until(lock, *next);
      } else {
        changed_.wait(lock);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  TimerQueue timers_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Environment> makeRealEnvironment() { return std::make_shared<RealEnvironment>(); }

}  // namespace troupe
