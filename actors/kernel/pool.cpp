#include "actors/kernel/pool.hpp"

#include <spdlog/spdlog.h>
#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <algorithm>
#include <boost/asio/defer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "actors/kernel/pool_threads.hpp"

namespace troupe {

namespace {

thread_local PoolThread* here = nullptr;  ///< null on threads of others (timers, detached actors)

/// How many jobs a thread runs from its own slot before sockets and others get their turn, and for how long: jobs that
/// give way after milliseconds mean to let others run, not to come again at once.
constexpr int kLongestChain = 16;
constexpr int64_t kLongestTurnNanos = 2'000'000;

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

/// The context is told of two threads at least: with one it would not wake another, as a stand-in needs.
AsioPool::AsioPool(unsigned threads, size_t messagesPerTurn)
    : Pool(messagesPerTurn), io_(static_cast<int>(std::max(2U, threads))), work_(io_.get_executor()) {
  threads_ = std::make_unique<PoolThreads>(*this, threads);
}

AsioPool::~AsioPool() { stopThreads(); }

/// Where the next job runs decides what a request costs: handing it to another thread takes some microseconds, most of
/// it waking the thread. So the first job that a turn makes ready stays on its thread. The second goes to all: one
/// thread would otherwise work through a crowd while the others sleep.
void AsioPool::submit(Job job) noexcept {
  PoolThread* const thread = here && here->pool == this ? here : nullptr;
  if (thread && thread->inTurn && thread->keep(job)) return;
  // From a socket's handler: this thread goes on with it when the handler returns.
  if (thread && !thread->inTurn) return boost::asio::defer(io_, Posted(*this, std::move(job)));
  post(std::move(job));
}

void AsioPool::post(Job job) { boost::asio::post(io_, Posted(*this, std::move(job))); }

void AsioPool::runChain(Job job) noexcept {
  PoolThread visitor(this);  // of a thread that is none of the pool's: what was left over at the end
  PoolThread* const outside = here;
  if (!here || here->pool != this) here = &visitor;
  PoolThread& thread = *here;
  // A turn may run within another one: an actor's handler that answers a socket at once. The job that the outer one
  // keeps is not its own.
  const bool keepsOuter = thread.keepsOne();
  const bool wasInTurn = std::exchange(thread.inTurn, !keepsOuter);
  const int64_t outerSince = thread.jobSince.load(std::memory_order_relaxed);
  const int64_t begun = coarseNanos();
  int64_t now = begun;
  for (int count = 1;; ++count) {
    thread.jobSince.store(now, std::memory_order_relaxed);
    runJob(job);
    if (keepsOuter || !thread.take(job)) break;
    now = coarseNanos();
    // Two actors that talk to each other would keep the thread forever, and sockets would starve.
    if (count == kLongestChain || now - begun > kLongestTurnNanos) {
      post(std::move(job));
      break;
    }
  }
  thread.jobSince.store(outerSince, std::memory_order_relaxed);
  thread.inTurn = wasInTurn;
  here = outside;
}

void AsioPool::runAsTurn(const std::function<void()>& action) {
  // Within a turn the action's first job is this turn's next one anyhow.
  if (here && !here->inTurn) here->pool->runChain({nullptr, {}, action});
  else action();
}

void AsioPool::setCurrent(PoolThread* thread) { here = thread; }

size_t AsioPool::threadCount() const { return threads_->count(); }

void AsioPool::stopThreads() {
  work_.reset();
  io_.stop();
  // Jobs that are still queued are dropped with the context; each gives its actor's reference back (Posted).
  threads_->stop();
}

void AsioPool::runLeftovers() {
  io_.restart();
  for (;;) {
    try {
      io_.poll();
      return;
    } catch (const std::exception& failure) {
      spdlog::error("a socket handler failed: {}", failure.what());
    } catch (...) {  // what tells a stand-in to end (PoolThreads) may be left over, too
    }
  }
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
