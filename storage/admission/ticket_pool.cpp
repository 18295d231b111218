#include "storage/admission/ticket_pool.hpp"

namespace troupe::storage {

namespace {

int64_t micros(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

void count(std::atomic<int64_t>& counter, int64_t by = 1) { counter.fetch_add(by, std::memory_order_relaxed); }

}  // namespace

void Ticket::reset() {
  if (pool_) std::exchange(pool_, nullptr)->giveBack(priority_, since_);
}

bool TicketPool::takeFree() {
  int64_t seen = available_.load(std::memory_order_relaxed);
  while (seen > 0) {
    if (available_.compare_exchange_weak(seen, seen - 1)) return true;
  }
  return false;
}

Ticket TicketPool::tryTake(AdmissionPriority priority) {
  if (priority != AdmissionPriority::kImmediate && (waiting_.load() > 0 || !takeFree())) return {};
  count(figures(priority).started);
  return Ticket(*this, priority, now_());
}

// A waiter and a ticket that comes back cannot miss each other: the waiter counts itself before it looks at
// `available_`, the ticket is added before `waiting_` is read, and both are sequentially consistent.

std::shared_ptr<TicketWait> TicketPool::wait(AdmissionPriority priority, TicketWait::Callback done) {
  auto wait = std::make_shared<TicketWait>(*this, priority);
  wait->since_ = now_();
  wait->done_ = std::move(done);
  std::vector<TicketWait::Callback> granted;
  {
    const std::lock_guard lock(mutex_);
    exhausted_.store(true, std::memory_order_relaxed);
    waiting_.fetch_add(1);
    count(figures(priority).added);
    Queue& queue = queueOf(priority);
    wait->place_ = queue.insert(queue.end(), wait);
    handOut(granted);
  }
  for (const auto& call : granted) call(Status::OK());
  return wait;
}

void TicketPool::giveBack(AdmissionPriority priority, std::chrono::steady_clock::time_point since) {
  Figures& mine = figures(priority);
  count(mine.finished);
  count(mine.processingMicros, micros(now_() - since));
  if (priority == AdmissionPriority::kImmediate) return;
  available_.fetch_add(1);
  if (waiting_.load() == 0) return;
  std::vector<TicketWait::Callback> granted;
  {
    const std::lock_guard lock(mutex_);
    handOut(granted);
  }
  for (const auto& call : granted) call(Status::OK());
}

void TicketPool::resize(int64_t tickets) {
  std::vector<TicketWait::Callback> granted;
  {
    const std::lock_guard lock(mutex_);
    available_.fetch_add(tickets - total_.exchange(tickets));
    handOut(granted);
  }
  for (const auto& call : granted) call(Status::OK());
}

TicketWait& TicketPool::nextWaiter() {
  const int64_t threshold = lowBypassThreshold_.load(std::memory_order_relaxed);
  const bool lowIsDue = !low_.empty() && threshold > 0 && passedLow_ >= threshold;
  if (normal_.empty() || lowIsDue) {
    if (!normal_.empty()) count(figures(AdmissionPriority::kLow).expedited);
    passedLow_ = 0;
    return *low_.front();
  }
  passedLow_ = low_.empty() ? 0 : passedLow_ + 1;
  return *normal_.front();
}

void TicketPool::handOut(std::vector<TicketWait::Callback>& granted) {
  while (!(normal_.empty() && low_.empty()) && takeFree()) {
    TicketWait& wait = nextWaiter();
    wait.state_ = TicketWait::State::kGranted;
    granted.push_back(std::move(wait.done_));
    count(figures(wait.priority_).started);
    remove(wait);
  }
}

void TicketPool::remove(TicketWait& wait) {
  Figures& mine = figures(wait.priority_);
  count(mine.removed);
  count(mine.queuedMicros, micros(now_() - wait.since_));
  waiting_.fetch_sub(1);
  queueOf(wait.priority_).erase(wait.place_);
}

bool TicketWait::fail(const Status& why) {
  Callback done;
  {
    const std::lock_guard lock(pool_.mutex_);
    if (state_ != State::kWaiting) return false;
    state_ = State::kFailed;
    done = std::move(done_);
    count(pool_.figures(priority_).canceled);
    const auto kept = *place_;
    pool_.remove(*this);
  }
  if (done) done(why);
  return true;
}

bool TicketWait::giveUp() {
  const std::lock_guard lock(pool_.mutex_);
  if (state_ != State::kWaiting) return state_ == State::kGranted;
  state_ = State::kFailed;
  count(pool_.figures(priority_).canceled);
  const auto kept = *place_;
  pool_.remove(*this);
  return false;
}

TicketPool::QueueStatistics TicketPool::statistics(AdmissionPriority priority) const {
  const Figures& mine = figures_[static_cast<size_t>(priority)];
  QueueStatistics shown;
  // Ends are read before beginnings, so that differences are not negative.
  shown.removedFromQueue = mine.removed.load();
  shown.addedToQueue = mine.added.load();
  shown.finishedProcessing = mine.finished.load();
  shown.startedProcessing = mine.started.load();
  shown.canceled = mine.canceled.load();
  shown.totalTimeQueuedMicros = mine.queuedMicros.load();
  shown.totalTimeProcessingMicros = mine.processingMicros.load();
  shown.expedited = mine.expedited.load();
  return shown;
}

int64_t TicketPool::finished() const {
  return figures_[static_cast<size_t>(AdmissionPriority::kLow)].finished.load(std::memory_order_relaxed) +
         figures_[static_cast<size_t>(AdmissionPriority::kNormal)].finished.load(std::memory_order_relaxed);
}

}  // namespace troupe::storage
