#include "actors/maintenance/blocking_worker.hpp"

#include <algorithm>
#include <numeric>

#include "storage/catalog/catalog_closed.hpp"

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
  const auto next = std::ranges::find_if(jobs_, [&](const BlockingJob& job) { return mayRun(job.length); });
  if (next == jobs_.end()) return std::nullopt;
  BlockingJob job = std::move(*next);
  jobs_.erase(next);
  ++running_[static_cast<size_t>(job.length)];
  return job;
}

void JobQueue::ended(server::WorkLength length) {
  const std::lock_guard lock(mutex_);
  --running_[static_cast<size_t>(length)];
}

/// Work of a length counts for all shorter ones, too: it may take what is left free by none of them.
bool JobQueue::mayRun(server::WorkLength length) const {
  for (int at = static_cast<int>(length); at > 0; --at) {
    const int asLong = std::accumulate(running_.begin() + at, running_.end(), 0);
    if (asLong >= std::max(1, workers_ - at)) return false;
  }
  return true;
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
    jobs_->ended(job->length);
  } catch (const storage::CatalogClosed&) {
    jobs_->ended(job->length);
    outcome = storage::CatalogClosed::status();
  } catch (const std::exception& failure) {
    jobs_->ended(job->length);
    job->done(Status(ErrorCode::kInternalError, job->what + " failed: " + failure.what()));
    throw;
  }
  job->done(std::move(outcome));
  ++done_;
  doing_.clear();
  setPhase("idle", "waiting for work that blocks");
  if (jobs_->size() > 0) tell(self(), local(LookForWork{}));
}

void WorkerPool::run(std::string_view what, server::WorkLength length, std::function<Status()> work,
                     std::function<void(Status)> done) {
  jobs_->push({std::string(what), length, std::move(work), std::move(done)});
  for (const Address& worker : workers_) node_.tell(worker, local(LookForWork{}));
}

}  // namespace troupe::maintenance
