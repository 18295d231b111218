#include "actors/maintenance/journal_flusher.hpp"

#include <stdexcept>

namespace troupe::maintenance {

Behaviour JournalFlusher::behaviour() {
  return {on<FlushNow>([this](const FlushNow&) { flush(); })};
}

void JournalFlusher::onStart() {
  setPhase("idle", "waiting for commits to make durable");
  armTimer();
}

/// Re-armed each time, so that a changed interval holds from the next flush on.
void JournalFlusher::armTimer() {
  after(std::chrono::milliseconds(intervalMillis_->load()), [this] {
    if (tracker_->hasWork()) flush();
    armTimer();
  });
}

void JournalFlusher::flush() {
  if (flushing_ || !tracker_->hasWork()) return;
  setPhase("flushing", "writing the log to the disk");
  const TimePoint begun = environment().now();
  tracker_->beginFlush();
  flushing_ = true;
  if (!pace_) return finish(begun);
  after(pace_(), [this, begun] { finish(begun); });
}

void JournalFlusher::finish(TimePoint begun) {
  flushing_ = false;
  const Status status = kind_ == storage::FlushKind::kLog ? engine_->flushLog() : engine_->checkpoint().status();
  tracker_->endFlush(status, std::chrono::duration_cast<std::chrono::microseconds>(environment().now() - begun));
  setPhase("idle", "waiting for commits to make durable");
  if (!status.isOK()) throw std::runtime_error("the log could not be flushed: " + status.reason());
  if (pace_) flush();  // for commits made during the last one
}

/// An orderly stop leaves nothing behind that a client might still wait for. A flush that has begun is ended in any
/// case: the next life begins its own.
void JournalFlusher::onStop(const Status& reason) {
  if (flushing_) {
    flushing_ = false;
    tracker_->endFlush(reason.isOK() ? engine_->flushLog() : reason, std::chrono::microseconds(0));
  } else if (reason.isOK() && tracker_->hasWork()) {
    tracker_->beginFlush();
    const Status status = kind_ == storage::FlushKind::kLog ? engine_->flushLog() : engine_->checkpoint().status();
    tracker_->endFlush(status, std::chrono::microseconds(0));
  }
}

bson::Document JournalFlusher::describe() const {
  const auto s = tracker_->statistics();
  return bson::doc("flushes", s.flushes, "failedFlushes", s.failedFlushes, "waitersCompleted", s.waitersCompleted,
                   "largestGroup", s.largestGroup, "commitsFlushed", s.commitsFlushed, "averageMicros",
                   s.flushes > 0 ? s.totalMicros / s.flushes : int64_t{0}, "waiting",
                   static_cast<int64_t>(tracker_->waiters()));
}

}  // namespace troupe::maintenance
