#include "actors/maintenance/blocking_worker.hpp"

namespace troupe::maintenance {

namespace {
/// There may be a job (local payload).
struct LookForWork {};
}  // namespace

void JobQueue::push(BlockingJob job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
}

std::optional<BlockingJob> JobQueue::take() {
  const std::lock_guard lock(mutex_);
  if (jobs_.empty()) return std::nullopt;
  BlockingJob job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

size_t JobQueue::size() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

Behaviour BlockingWorker::behaviour() {
  return {on<LookForWork>([this](const LookForWork&) { work(); })};
}

void BlockingWorker::onStart() {
  setPhase("idle", "waiting for work that blocks");
  // Jobs announced to the last life that it did not begin.
  if (jobs_->size() > 0) tell(self(), local(LookForWork{}));
}

bson::Document BlockingWorker::describe() const {
  return bson::doc("doing", doing_, "done", done_, "waiting", static_cast<int64_t>(jobs_->size()));
}

void BlockingWorker::work() {
  const auto job = jobs_->take();
  if (!job) return;
  doing_ = job->what;
  setPhase("working", "on a job that blocks");
  Status outcome;
  try {
    outcome = job->work();
  } catch (const std::exception& failure) {
    job->done(Status(ErrorCode::kInternalError, job->what + " failed: " + failure.what()));
    throw;
  }
  job->done(std::move(outcome));
  ++done_;
  doing_.clear();
  setPhase("idle", "waiting for work that blocks");
  if (jobs_->size() > 0) tell(self(), local(LookForWork{}));
}

void WorkerPool::run(std::string_view what, std::function<Status()> work, std::function<void(Status)> done) {
  jobs_->push({std::string(what), std::move(work), std::move(done)});
  for (const Address& worker : workers_) node_.tell(worker, local(LookForWork{}));
}

}  // namespace troupe::maintenance
