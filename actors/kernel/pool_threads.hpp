#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "actors/kernel/pool.hpp"

namespace troupe {

/// The machine's monotonic clock in nanoseconds, cheap and coarse (steps of some milliseconds): a pool of threads runs
/// in real time.
int64_t coarseNanos();

/// What one thread of the pool is at. Its own thread writes it; the watch over long jobs reads `jobSince` and may take
/// the next job away.
class PoolThread {
 public:
  explicit PoolThread(AsioPool* pool) : pool(pool) {}

  /// Keeps the job that this thread runs next; false when it keeps one already.
  bool keep(Job& job) {
    if (slot_.load(std::memory_order_acquire) != Slot::kEmpty) return false;
    next_ = std::move(job);
    slot_.store(Slot::kFull, std::memory_order_release);
    return true;
  }
  /// Takes the kept job out; false when there is none. Any thread.
  bool take(Job& job) {
    Slot full = Slot::kFull;
    if (slot_.load(std::memory_order_relaxed) != Slot::kFull ||
        !slot_.compare_exchange_strong(full, Slot::kTaken, std::memory_order_acquire))
      return false;
    job = std::move(next_);
    slot_.store(Slot::kEmpty, std::memory_order_release);
    return true;
  }
  bool keepsOne() const { return slot_.load(std::memory_order_relaxed) != Slot::kEmpty; }

  AsioPool* const pool;
  bool inTurn = false;               ///< it runs a chain of jobs whose next one it keeps
  std::atomic<int64_t> jobSince{0};  ///< coarse nanoseconds; 0: it runs no job

 private:
  enum class Slot : uint8_t { kEmpty, kFull, kTaken };
  std::atomic<Slot> slot_{Slot::kEmpty};
  Job next_;
};

/// The threads of a pool and the watch over them. A job that keeps its thread for long (the evaluation of one hostile
/// document, a page that is slow to come) has a stand-in started for it, so that as many threads as before serve the
/// others; what it had made ready goes to them. Stand-ins end when they have not been needed for a while. So a long
/// evaluation delays nobody but its own client, without giving way itself; the scheduler of the operating system
/// shares the processors.
class PoolThreads {
 public:
  /// Starts `count` threads that run `pool`'s context, and the watch.
  PoolThreads(AsioPool& pool, unsigned count);
  ~PoolThreads() { stop(); }
  /// Waits for all threads; the context has been stopped before. Idempotent.
  void stop();
  /// The threads at present, stand-ins included. Any thread.
  size_t count() const;

 private:
  struct Entry {
    explicit Entry(AsioPool* pool) : state(pool) {}
    PoolThread state;
    std::thread thread;
    std::atomic<bool> ended{false};
  };
  void start();
  void run(Entry& entry);
  void watch();
  void look();
  size_t rescue();
  void joinEnded();

  AsioPool& pool_;
  const size_t wanted_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::list<Entry> threads_;  // changed by the watch only, once it runs; under the mutex
  int64_t surplusSince_ = 0;  ///< coarse nanoseconds; 0: all threads are needed
  size_t leaving_ = 0;        ///< stand-ins that were told to end and have not yet
  std::thread watch_;
};

}  // namespace troupe
