#include "actors/replication/flow_control_state.hpp"

#include <algorithm>

namespace troupe::replication {

void FlowControlState::noteWritten(const OpTime& newest, TimePoint now) {
  const int64_t operations = oplog_.added();
  if (operations - sampled_.load(std::memory_order_relaxed) < samplePeriod_) return;
  const std::lock_guard lock(mutex_);
  sample(newest, now, operations);
}

FlowDecision FlowControlState::decide(const OpTime& newest, FlowInput input) {
  const std::lock_guard lock(mutex_);
  input.operations = oplog_.added();
  sample(newest, input.now, input.operations);
  FlowDecision decision = rule_.decide(settings_(), input, samples_);
  bson::Timestamp needed = input.commitPoint.timestamp;
  if (const auto at = input.positions.find(decision.sustainer); at != input.positions.end())
    needed = std::min(needed, at->second.applied.timestamp);
  samples_.forgetBefore(needed);
  return decision;
}

FlowDecision FlowControlState::last() const {
  const std::lock_guard lock(mutex_);
  return rule_.last();
}

void FlowControlState::sample(const OpTime& newest, TimePoint now, int64_t operations) {
  sampled_.store(operations, std::memory_order_relaxed);
  samples_.add(newest.timestamp, now, operations, settings_().maxSamples);
}

}  // namespace troupe::replication
