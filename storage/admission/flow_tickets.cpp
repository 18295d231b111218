#include "storage/admission/flow_tickets.hpp"

#include <utility>

namespace troupe::storage {

/// One step where a ticket is left. Where none is, others may see it taken for a moment, and wait for the next period.
bool FlowTickets::takeOne() {
  if (taken_.fetch_add(1) < end_.load(std::memory_order_relaxed)) return true;
  taken_.fetch_sub(1);
  return false;
}

std::shared_ptr<FlowWait> FlowTickets::wait(FlowWait::Callback done) {
  auto wait = std::make_shared<FlowWait>(*this);
  wait->since_ = now_();
  wait->done_ = std::move(done);
  std::vector<FlowWait::Callback> granted;
  {
    const std::lock_guard lock(mutex_);
    waits_.fetch_add(1, std::memory_order_relaxed);
    waiting_.fetch_add(1);
    wait->place_ = queue_.insert(queue_.end(), wait);
    handOut(granted);  // a period may have begun since it found no ticket
  }
  for (const auto& call : granted) call(Status::OK());
  return wait;
}

void FlowTickets::refresh(int64_t tickets) {
  std::vector<FlowWait::Callback> granted;
  {
    const std::lock_guard lock(mutex_);
    rate_.store(tickets, std::memory_order_relaxed);
    end_.store(tickets >= kUnlimited ? kNoEnd : taken_.load() + tickets, std::memory_order_relaxed);
    handOut(granted);
  }
  for (const auto& call : granted) call(Status::OK());
}

void FlowTickets::handOut(std::vector<FlowWait::Callback>& granted) {
  while (!queue_.empty() && takeOne()) {
    FlowWait& next = *queue_.front();
    granted.push_back(std::move(next.done_));
    remove(next);
  }
}

void FlowTickets::remove(FlowWait& wait) {
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(now_() - wait.since_);
  waitMicros_.fetch_add(waited.count(), std::memory_order_relaxed);
  wait.waiting_ = false;
  waiting_.fetch_sub(1);
  queue_.erase(wait.place_);  // possibly its last owner
}

bool FlowWait::fail(const Status& why) {
  Callback done;
  {
    const std::lock_guard lock(tickets_.mutex_);
    if (!waiting_) return false;
    done = std::move(done_);
    const auto kept = *place_;
    tickets_.remove(*this);
  }
  if (done) done(why);
  return true;
}

void FlowWait::giveUp() {
  const std::lock_guard lock(tickets_.mutex_);
  if (!waiting_) return;
  const auto kept = *place_;
  tickets_.remove(*this);
}

}  // namespace troupe::storage
