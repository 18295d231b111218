#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "actors/commands/server_context.hpp"
#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"

namespace troupe::maintenance {

/// One piece of work that blocks its thread. `done` hears the outcome.
struct BlockingJob {
  std::string what;
  std::function<Status()> work;
  std::function<void(Status)> done;
};

/// Does jobs one after the other on its own thread: index scans, checkpoints on request, validation.
class BlockingWorker final : public Actor {
 public:
  Behaviour behaviour() override;
  void onStart() override { setPhase("idle", "waiting for work that blocks"); }
  bson::Document describe() const override { return bson::doc("doing", doing_, "done", done_); }

 private:
  std::string doing_;
  int64_t done_ = 0;
};

/// Hands jobs to the workers in turn.
class WorkerPool final : public commands::BlockingWork {
 public:
  WorkerPool(Node& node, std::vector<Address> workers) : node_(node), workers_(std::move(workers)) {}
  void run(std::string_view what, std::function<Status()> work, std::function<void(Status)> done) override;

 private:
  Node& node_;
  std::vector<Address> workers_;
  std::atomic<size_t> next_{0};
};

}  // namespace troupe::maintenance
