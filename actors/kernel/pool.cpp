#include "actors/kernel/pool.hpp"

#include <spdlog/spdlog.h>
#include <time.h>
#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <boost/asio/defer.hpp>
#include <boost/asio/post.hpp>

namespace troupe {

namespace {

/// State of a pool thread: its next job waits here instead of in the shared queue.
struct Turn {
  const Pool* pool;
  bool hasNext = false;
  Job next = {};
};
thread_local Turn* currentTurn = nullptr;      ///< null outside of a chain of jobs, as in a socket's handler
thread_local AsioPool* currentPool = nullptr;  ///< null on threads of others (timers, detached actors)

/// How many jobs a thread runs from its own slot before sockets and others get their turn, and for how long: jobs that
/// give way after milliseconds mean to let others run, not to come again at once.
constexpr int kLongestChain = 16;
constexpr int64_t kLongestTurnNanos = 2'000'000;

/// The machine's monotonic clock, cheap and coarse (steps of some milliseconds): a pool of threads runs in real time.
int64_t coarseNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class Unit final : public caf::execution_unit {
 public:
  Unit(Pool& pool, caf::actor_system* system) : caf::execution_unit(system), pool_(pool) {}
  void exec_later(caf::resumable* actor) override { pool_.submit({actor, {}, {}}); }

 private:
  Pool& pool_;
};

}  // namespace

void Pool::runJob(Job& job) noexcept {
  const bool draining = draining_.load(std::memory_order_acquire);
  if (job.coroutine) {
    // When draining, the frames of tasks are gone already.
    if (!draining) job.coroutine.resume();
    return;
  }
  if (!job.actor) {
    try {
      job.action();
    } catch (const std::exception& failure) {
      spdlog::error("a posted action failed: {}", failure.what());
    }
    return;
  }
  if (draining) return caf::scheduler::abstract_coordinator::cleanup_and_release(job.actor);
  Unit unit(*this, system_);
  switch (job.actor->resume(&unit, messagesPerTurn_)) {
    case caf::resumable::resume_later: submit(std::move(job)); break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job.actor); break;
    case caf::resumable::shutdown_execution_unit: break;
  }
}

void Pool::awaitHolders() const {
  while (holders_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
}

void Pool::taskFailed(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    spdlog::error("a task failed: {}", error.what());
  } catch (...) {
    spdlog::error("a task failed");
  }
}

/// A job in the shared queue. Dropped unrun (the context is destroyed) it gives an actor's reference back.
class AsioPool::Posted {
 public:
  Posted(AsioPool& pool, Job job) : pool_(&pool), job_(std::move(job)) {}
  Posted(Posted&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), job_(std::move(other.job_)) {}
  Posted& operator=(Posted&&) = delete;
  ~Posted() {
    if (pool_ && job_.actor) caf::scheduler::abstract_coordinator::cleanup_and_release(job_.actor);
  }
  void operator()() { std::exchange(pool_, nullptr)->runChain(std::move(job_)); }

 private:
  AsioPool* pool_;
  Job job_;
};

AsioPool::AsioPool(unsigned threads, size_t messagesPerTurn)
    : Pool(messagesPerTurn), io_(static_cast<int>(threads)), work_(io_.get_executor()) {
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this] {
      currentPool = this;
      for (;;) {
        try {
          io_.run();
          return;
        } catch (const std::exception& failure) {
          spdlog::error("a socket handler failed: {}", failure.what());
        }
      }
    });
}

AsioPool::~AsioPool() { stopThreads(); }

/// Where the next job runs decides what a request costs: handing it to another thread takes some microseconds, most of
/// it waking the thread. So the first job that a turn makes ready stays on its thread. The second goes to all: one
/// thread would otherwise work through a crowd while the others sleep.
void AsioPool::submit(Job job) noexcept {
  Turn* turn = currentTurn;
  if (turn && turn->pool == this && !turn->hasNext) {
    turn->next = std::move(job);
    turn->hasNext = true;
    return;
  }
  // From a socket's handler: this thread goes on with it when the handler returns.
  if (!turn && currentPool == this) return boost::asio::defer(io_, Posted(*this, std::move(job)));
  post(std::move(job));
}

void AsioPool::post(Job job) { boost::asio::post(io_, Posted(*this, std::move(job))); }

void AsioPool::runChain(Job job) noexcept {
  Turn turn{this};
  // A turn may run within another one: an actor's handler that answers a socket at once.
  Turn* const outer = std::exchange(currentTurn, &turn);
  const int64_t begun = coarseNanos();
  for (int count = 1;; ++count) {
    runJob(job);
    if (!turn.hasNext) break;
    job = std::move(turn.next);
    turn.hasNext = false;
    // Two actors that talk to each other would keep the thread forever, and sockets would starve.
    if (count == kLongestChain || coarseNanos() - begun > kLongestTurnNanos) {
      post(std::move(job));
      break;
    }
  }
  currentTurn = outer;
}

void AsioPool::runAsTurn(const std::function<void()>& action) {
  // Within a turn the action's first job is this turn's next one anyhow.
  if (currentPool && !currentTurn) currentPool->runChain({nullptr, {}, action});
  else action();
}

void AsioPool::stopThreads() {
  work_.reset();
  io_.stop();
  // Jobs that are still queued are dropped with the context; each gives its actor's reference back (Posted).
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
}

void AsioPool::runLeftovers() {
  io_.restart();
  io_.poll();
}

bool ManualPool::step(size_t index) {
  if (index >= ready_.size()) return false;
  Job job = std::move(ready_[index]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  runJob(job);
  return true;
}

void ManualPool::runLeftovers() {
  while (step(0)) {
  }
}

}  // namespace troupe
