#include "actors/kernel/pool_threads.hpp"

#include <spdlog/spdlog.h>
#include <time.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <system_error>

namespace troupe {

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(10);
/// A job longer than this has a stand-in: longer than the slice after which operations give way themselves.
constexpr int64_t kLongJobNanos = 20'000'000;
/// Stand-ins stay for so long when nobody needs them: hostile work comes again and again, and each wait for the watch
/// would delay the others.
constexpr int64_t kSurplusNanos = 2'000'000'000;
constexpr size_t kMostStandIns = 256;

/// Thrown out of the context's loop by the thread that is to end.
struct Leave {};

}  // namespace

int64_t coarseNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

PoolThreads::PoolThreads(AsioPool& pool, unsigned count) : pool_(pool), wanted_(count) {
  for (unsigned i = 0; i < count; ++i) start();
  watch_ = std::thread([this] { watch(); });
}

void PoolThreads::start() {
  Entry& entry = threads_.emplace_back(&pool_);
  try {
    entry.thread = std::thread([this, &entry] { run(entry); });
  } catch (const std::system_error&) {  // no more threads for this process: the others have to do
    threads_.pop_back();
    if (threads_.size() < wanted_) throw;
  }
}

void PoolThreads::run(Entry& entry) {
  AsioPool::setCurrent(&entry.state);
  for (;;) {
    try {
      pool_.io().run();
      break;
    } catch (const Leave&) {
      break;
    } catch (const std::exception& failure) {
      spdlog::error("a socket handler failed: {}", failure.what());
    }
  }
  entry.ended.store(true, std::memory_order_release);
}

void PoolThreads::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookEvery, [this] { return stopping_; })) look();
}

void PoolThreads::look() {
  joinEnded();
  const size_t needed = wanted_ + rescue();
  const size_t present = threads_.size() - leaving_;
  if (present <= needed) surplusSince_ = 0;
  if (present < needed) {
    for (size_t i = present; i < needed && threads_.size() < wanted_ + kMostStandIns; ++i) start();
  } else if (present > needed) {
    const int64_t now = coarseNanos();
    if (surplusSince_ == 0) surplusSince_ = now;
    if (now - surplusSince_ < kSurplusNanos) return;
    // Threads are alike: the first that is idle ends.
    ++leaving_;
    boost::asio::post(pool_.io(), [] { throw Leave{}; });
  }
}

/// Hands the jobs that wait behind long ones to all threads; returns the number of long ones.
size_t PoolThreads::rescue() {
  const int64_t now = coarseNanos();
  size_t longJobs = 0;
  for (Entry& entry : threads_) {
    const int64_t since = entry.state.jobSince.load(std::memory_order_relaxed);
    if (since == 0 || now - since < kLongJobNanos) continue;
    ++longJobs;
    Job waiting;
    if (entry.state.take(waiting)) pool_.submit(std::move(waiting));
  }
  return longJobs;
}

void PoolThreads::joinEnded() {
  for (auto entry = threads_.begin(); entry != threads_.end();) {
    if (!entry->ended.load(std::memory_order_acquire)) {
      ++entry;
      continue;
    }
    entry->thread.join();
    entry = threads_.erase(entry);
    if (leaving_ > 0) --leaving_;
  }
}

size_t PoolThreads::count() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

void PoolThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (watch_.joinable()) watch_.join();
  for (Entry& entry : threads_)
    if (entry.thread.joinable()) entry.thread.join();
}

}  // namespace troupe
