#include "actors/maintenance/journal_flusher.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/kernel/node.hpp"

namespace troupe::maintenance {

Behaviour JournalFlusher::behaviour() {
  return {on<FlushNow>([this](const FlushNow&) { flush(); }), on<LogMoved>([this](const LogMoved&) {
            if (awaitsHoles_) awaitHoles();
          })};
}

void JournalFlusher::onStart() {
  setPhase("idle", "waiting for commits to make durable");
  armTimer();
}

/// Re-armed each time, so that a changed interval holds from the next flush on.
void JournalFlusher::armTimer() {
  after(std::chrono::milliseconds(intervalMillis_->load()), [this] {
    if (hasWork()) flush();
    armTimer();
  });
}

/// Notes and applied entries have no client that takes a ticket for them.
bool JournalFlusher::hasWork() const {
  return tracker_->hasWork() || (log_.progress && log_.progress->durable() < log_.progress->applied());
}

void JournalFlusher::flush() {
  if (flushing_ || !hasWork() || !mayBegin()) return;
  begin();
  awaitHoles();
}

/// A rollback would wait here for a hole that it closes itself, and would have its own end of the log overwritten.
bool JournalFlusher::mayBegin() {
  pass_ = storage::BackgroundGate::enter(log_.writes ? &log_.writes->background : nullptr);
  return static_cast<bool>(pass_);
}

void JournalFlusher::begin() {
  begun_ = environment().now();
  tracker_->beginFlush();
  flushing_ = true;
  if (log_.end) lastCovered_ = log_.writes->slots.lastHandedOut();
}

bool JournalFlusher::hasHoles() const { return log_.end && log_.writes->visibility.get() < lastCovered_; }

/// Slots are open for as long as a unit of work commits. What is acknowledged as durable must not be cut off at a start
/// because of another write's hole before it.
void JournalFlusher::awaitHoles() {
  awaitsHoles_ = hasHoles();
  if (awaitsHoles_) {
    setPhase("waiting", "for writes that have an earlier place in the log");
    const auto wake = [node = &node(), to = self()] { node->tell(to, local(LogMoved{})); };
    const auto last = bson::Timestamp::fromUint64(lastCovered_.asUint64() - 1);
    waiter_ = log_.writes->visibility.whenPast(last, wake);
    return;
  }
  setPhase("flushing", "writing the log to the disk");
  if (!pace_) return finish();
  after(pace_(), [this] { finish(); });
}

/// What is applied has been committed and has no holes before it, so the flush covers it. The point is not set before
/// it: the visible end may follow a moment later.
Status JournalFlusher::writeOut() {
  const OpTime covered = log_.progress ? log_.progress->applied() : OpTime();
  if (log_.end) TROUPE_TRY(log_.end->set(std::max(log_.writes->visibility.get(), covered.timestamp)));
  TROUPE_TRY(kind_ == storage::FlushKind::kLog ? engine_->flushLog() : engine_->checkpoint().status());
  if (log_.progress) log_.progress->noteDurable(covered);
  return Status::OK();
}

void JournalFlusher::finish() {
  flushing_ = false;
  const Status status = writeOut();
  pass_.leave();
  tracker_->endFlush(status, std::chrono::duration_cast<std::chrono::microseconds>(environment().now() - begun_));
  setPhase("idle", "waiting for commits to make durable");
  if (!status.isOK()) throw std::runtime_error("the log could not be flushed: " + status.reason());
  // For commits made during the last one. A wake-up that came while it waited for a hole is gone, and was the only one.
  if (pace_) flush();
  else if (tracker_->isWakeRequested()) tell(self(), local(FlushNow{}));
}

/// An orderly stop leaves nothing behind that a client might still wait for. A flush that has begun is ended in any
/// case: the next life begins its own. Where a hole is open nothing becomes durable: a start may cut off what follows.
void JournalFlusher::onStop(const Status& reason) {
  if (waiter_ != 0) log_.writes->visibility.withdraw(waiter_);
  if (!flushing_) {
    if (!reason.isOK() || !hasWork() || !mayBegin()) return;
    begin();
  }
  Status outcome = reason;
  if (hasHoles())
    outcome = {ErrorCode::kInterruptedAtShutdown, "the node stopped before the write could be made durable"};
  tracker_->endFlush(outcome.isOK() ? writeOut() : outcome, std::chrono::microseconds(0));
}

bson::Document JournalFlusher::describe() const {
  const auto s = tracker_->statistics();
  return bson::doc("flushes", s.flushes, "failedFlushes", s.failedFlushes, "waitersCompleted", s.waitersCompleted,
                   "largestGroup", s.largestGroup, "commitsFlushed", s.commitsFlushed, "averageMicros",
                   s.flushes > 0 ? s.totalMicros / s.flushes : int64_t{0}, "waiting",
                   static_cast<int64_t>(tracker_->waiters()));
}

}  // namespace troupe::maintenance
