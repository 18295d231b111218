#include "storage/journal/checkpoint_policy.hpp"

namespace troupe::storage {

namespace {
constexpr auto kRetryAfter = std::chrono::seconds(5);
}

CheckpointPolicy::Decision CheckpointPolicy::decide(Clock::time_point now, const State& state) const {
  if (notBefore_ && now < *notBefore_) return Decision::kNotYet;
  const std::optional<Clock::time_point> due = nextDue();
  const bool isFirst = kind(state) == Decision::kStable && state.lastStable == Timestamp{};
  if (!isFirst && !requested_ && (!due || now < *due)) return Decision::kNotYet;
  State wanted = state;
  wanted.dirty = state.dirty || requested_;
  return kind(wanted);
}

CheckpointPolicy::Decision CheckpointPolicy::kind(const State& state) {
  if (!state.dirty) return Decision::kSkipIdle;
  const bool hasInitialTime = state.initialDataTimestamp && *state.initialDataTimestamp != Timestamp{};
  if (!state.replicated || !hasInitialTime) return Decision::kFull;
  if (state.stable < *state.initialDataTimestamp) return Decision::kSkipUnstable;
  return Decision::kStable;
}

CheckpointPolicy::State CheckpointPolicy::stateOf(Engine& engine, bool replicated) {
  State state;
  state.replicated = replicated;
  if (!replicated) return state;
  state.stable = engine.stableTimestamp();
  state.lastStable = engine.lastCheckpointTimestamp();
  if (const Timestamp initial = engine.initialDataTimestamp(); initial != Timestamp{}) {
    state.initialDataTimestamp = initial;
  }
  return state;
}

void CheckpointPolicy::done(Clock::time_point now, Decision decision) {
  if (decision == Decision::kNotYet) return;
  last_ = now;
  requested_ = false;
  notBefore_.reset();
}

void CheckpointPolicy::failed(Clock::time_point now) {
  notBefore_ = now + kRetryAfter;
  requested_ = true;
}

std::optional<CheckpointPolicy::Clock::time_point> CheckpointPolicy::nextDue() const {
  if (interval_.count() == 0) return std::nullopt;
  return last_ + interval_;
}

}  // namespace troupe::storage
