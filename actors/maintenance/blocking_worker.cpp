#include "actors/maintenance/blocking_worker.hpp"

namespace troupe::maintenance {

Behaviour BlockingWorker::behaviour() {
  return {on<BlockingJob>([this](const BlockingJob& job) {
    doing_ = job.what;
    setPhase("working", "on a job that blocks");
    job.done(job.work());
    ++done_;
    doing_.clear();
    setPhase("idle", "waiting for work that blocks");
  })};
}

void WorkerPool::run(std::string_view what, std::function<Status()> work, std::function<void(Status)> done) {
  const size_t worker = next_.fetch_add(1, std::memory_order_relaxed) % workers_.size();
  node_.tell(workers_[worker], local(BlockingJob{std::string(what), std::move(work), std::move(done)}));
}

}  // namespace troupe::maintenance
