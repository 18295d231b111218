#pragma once
#include <caf/fwd.hpp>
#include <caf/resumable.hpp>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <coroutine>
#include <deque>
#include <functional>
#include <memory>

#include "actors/kernel/task.hpp"

namespace troupe {

/// One piece of work for the pool: an actor's turn, a coroutine to continue, or an action. Move-only: an actor's turn
/// holds a reference that must be given back.
struct Job {
  caf::resumable* actor = nullptr;
  std::coroutine_handle<> coroutine;
  std::function<void()> action;
};

/// Runs actors, coroutines outside of actors and posted actions. Internal to the kernel.
class Pool : public TaskHost {
 public:
  virtual ~Pool() = default;
  virtual void submit(Job job) noexcept = 0;
  /// From now on actors' turns are given back instead of run.
  void drain() { draining_.store(true, std::memory_order_release); }
  /// Runs the turns that are still queued after `drain`.
  virtual void runLeftovers() = 0;
  /// Ends the threads, if any.
  virtual void stopThreads() = 0;
  void setSystem(caf::actor_system* system) { system_ = system; }
  using TaskHost::destroyTasks;

  void resume(std::coroutine_handle<> coroutine) noexcept override { submit({nullptr, coroutine, {}}); }
  void retain() noexcept override { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept override { holders_.fetch_sub(1, std::memory_order_release); }
  /// After `destroyTasks`: waits for threads outside of the pool (timers) that are completing a future right now, and
  /// are about to let go.
  void awaitHolders() const;

 protected:
  explicit Pool(size_t messagesPerTurn) : TaskHost(true), messagesPerTurn_(messagesPerTurn) {}
  void runJob(Job& job) noexcept;
  void taskFailed(std::exception_ptr failure) noexcept override;

 private:
  const size_t messagesPerTurn_;
  caf::actor_system* system_ = nullptr;
  std::atomic<bool> draining_{false};
  std::atomic<int64_t> holders_{0};
};

class PoolThread;
class PoolThreads;

/// Shares an Asio context with the sockets. Work that a pool thread makes ready it runs itself, next: no other thread
/// is woken for the first piece of work, and the others are offered to all. Work that keeps a thread for long has a
/// stand-in (PoolThreads).
class AsioPool final : public Pool {
 public:
  AsioPool(unsigned threads, size_t messagesPerTurn);
  ~AsioPool() override;
  boost::asio::io_context& io() { return io_; }
  void submit(Job job) noexcept override;
  void runLeftovers() override;
  void stopThreads() override;
  /// Node::runAsTurn.
  static void runAsTurn(const std::function<void()>& action);
  /// The threads at present, stand-ins included.
  size_t threadCount() const;
  /// Makes the calling thread one of a pool.
  static void setCurrent(PoolThread* thread);

 private:
  class Posted;
  void runChain(Job job) noexcept;
  void post(Job job);
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<PoolThreads> threads_;
};

/// No threads: the owner of the node takes the turns, in any order.
class ManualPool final : public Pool {
 public:
  ManualPool() : Pool(1) {}
  boost::asio::io_context& io() { return io_; }
  void submit(Job job) noexcept override { ready_.push_back(std::move(job)); }
  void runLeftovers() override;
  void stopThreads() override {}
  size_t readyCount() const { return ready_.size(); }
  bool step(size_t index);

 private:
  boost::asio::io_context io_;
  std::deque<Job> ready_;
};

}  // namespace troupe
