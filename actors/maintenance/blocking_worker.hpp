#pragma once
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// One piece of work that blocks its thread. `done` hears the outcome.
struct BlockingJob {
  std::string what;
  server::WorkLength length;
  std::function<Status()> work;
  std::function<void(Status)> done;
};

/// Jobs nobody has begun, first come, first served among those that may run beside what runs (WorkLength). It outlives
/// the workers: a job is not lost when the worker that was told of it is restarted. Thread-safe.
class JobQueue {
 public:
  /// `workers`: how many take jobs from it. Where there are too few of them, one job of each length may run anyhow.
  explicit JobQueue(int workers) : workers_(workers) {}
  void push(BlockingJob job);
  /// The first job that may run now. Its taker calls `ended` when it has.
  std::optional<BlockingJob> take();
  void ended(server::WorkLength length);
  size_t size() const;

 private:
  bool mayRun(server::WorkLength length) const;

  const int workers_;
  mutable std::mutex mutex_;
  std::deque<BlockingJob> jobs_;
  std::array<int, 3> running_{};  ///< by length
};

/// Does jobs one after the other on its own thread: index scans, checkpoints on request, validation. A job that throws
/// fails with the exception's text, and its worker with it.
class BlockingWorker final : public Actor {
 public:
  explicit BlockingWorker(std::shared_ptr<JobQueue> jobs) : jobs_(std::move(jobs)) {}
  Behaviour behaviour() override;
  void onStart() override;
  bson::Document describe() const override;

 private:
  /// Does one job. If there are more it tells itself, so that its mailbox has a turn in between.
  void work();

  const std::shared_ptr<JobQueue> jobs_;
  std::string doing_;
  int64_t done_ = 0;
};

/// Puts jobs into the queue and wakes the workers, of which the first that is idle takes one.
class WorkerPool final : public server::BlockingWork {
 public:
  WorkerPool(Node& node, std::vector<Address> workers) : node_(node), workers_(std::move(workers)) {}
  void run(std::string_view what, server::WorkLength length, std::function<Status()> work,
           std::function<void(Status)> done) override;
  /// The queue that the workers are constructed with.
  const std::shared_ptr<JobQueue>& jobs() const { return jobs_; }

 private:
  Node& node_;
  const std::vector<Address> workers_;
  const std::shared_ptr<JobQueue> jobs_ = std::make_shared<JobQueue>(static_cast<int>(workers_.size()));
};

}  // namespace troupe::maintenance
