#include "storage/journal/checkpoint_policy.hpp"

namespace troupe::storage {

CheckpointPolicy::Decision CheckpointPolicy::decide(Clock::time_point now, const State& state) const {
  const std::optional<Clock::time_point> due = nextDue();
  if (!requested_ && (!due || now < *due)) return Decision::kNotYet;
  if (!state.dirty && !requested_) return Decision::kSkipIdle;
  const bool hasInitialTime = state.initialDataTimestamp && *state.initialDataTimestamp != Timestamp{};
  if (!state.replicated || !hasInitialTime) return Decision::kFull;
  if (state.stable < *state.initialDataTimestamp) return Decision::kSkipUnstable;
  return Decision::kStable;
}

void CheckpointPolicy::done(Clock::time_point now, Decision decision) {
  if (decision == Decision::kNotYet) return;
  last_ = now;
  requested_ = false;
}

std::optional<CheckpointPolicy::Clock::time_point> CheckpointPolicy::nextDue() const {
  if (interval_.count() == 0) return std::nullopt;
  return last_ + interval_;
}

}  // namespace troupe::storage
