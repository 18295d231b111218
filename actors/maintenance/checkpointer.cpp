#include "actors/maintenance/checkpointer.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kLookEvery = std::chrono::seconds(1);
}

Behaviour Checkpointer::behaviour() {
  return {on<CheckpointNow>([this](const CheckpointNow&) {
    policy_.request();
    look();
  })};
}

void Checkpointer::onStart() {
  policy_ = storage::CheckpointPolicy(std::chrono::seconds(periodSeconds_->load()), environment().now());
  setPhase("waiting", "until the next checkpoint is due");
  every(kLookEvery, [this] { look(); });
}

void Checkpointer::look() {
  const auto pass = storage::BackgroundGate::enter(gate_);
  if (!pass) return;
  policy_.setInterval(std::chrono::seconds(periodSeconds_->load()));
  const auto commits = tracker_->taken();
  auto state = storage::CheckpointPolicy::stateOf(*engine_, catalog_->hooks().replicated);
  // Data that have become stable since are worth a checkpoint too.
  state.dirty = commits != covered_ || (state.replicated && state.stable > state.lastStable);
  const auto decision = policy_.decide(environment().now(), state);
  if (decision == storage::CheckpointPolicy::Decision::kNotYet) return;
  if (!storage::CheckpointPolicy::takes(decision)) {
    ++(decision == storage::CheckpointPolicy::Decision::kSkipIdle ? skipped_ : unstable_);
    policy_.done(environment().now(), decision);
    return;
  }
  setPhase("checkpointing", "writing changed pages to the tables");
  const TimePoint begun = environment().now();
  const Status status = catalog_->checkpoint(storage::CheckpointPolicy::options(decision));
  lastMillis_ = std::chrono::duration_cast<std::chrono::milliseconds>(environment().now() - begun).count();
  setPhase("waiting", "until the next checkpoint is due");
  if (!status.isOK()) {
    // To start anew would forget who asked for it, and when it was due. The engine itself ends a process that it must.
    failures_->fetch_add(1, std::memory_order_relaxed);
    policy_.failed(environment().now());
    log_->warning(log::Component::kStorage, 7003005, "checkpointer", "A checkpoint failed and will be tried again soon",
                  bson::doc("error", status.reason()));
    return;
  }
  policy_.done(environment().now(), decision);
  covered_ = commits;
  ++taken_;
}

bson::Document Checkpointer::describe() const {
  return bson::doc("taken", taken_, "failed", failures_->load(std::memory_order_relaxed), "skippedIdle", skipped_,
                   "skippedUnstable", unstable_, "lastMillis", lastMillis_, "lastStable",
                   engine_->lastCheckpointTimestamp(), "periodSeconds", periodSeconds_->load());
}

}  // namespace troupe::maintenance
