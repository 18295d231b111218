#include "state_machines/replication/flow_control.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace troupe::replication {

namespace {

double secondsOf(Duration time) { return std::chrono::duration<double>(time).count(); }

/// A number of tickets within its bounds.
int64_t bounded(double tickets, int64_t least) {
  if (!(tickets < static_cast<double>(FlowRule::kUnlimited))) return FlowRule::kUnlimited;
  return std::max(static_cast<int64_t>(tickets), least);
}

/// Positions and commit points compare by time within the log of one primary.
bson::Timestamp appliedBy(const Positions& positions, const NodeName& member) {
  const auto found = positions.find(member);
  return found == positions.end() ? bson::Timestamp{} : found->second.applied.timestamp;
}

}  // namespace

void WriteSamples::add(bson::Timestamp time, TimePoint now, int64_t operations, size_t most) {
  while (!samples_.empty() && samples_.back().time > time) samples_.pop_back();
  if (!samples_.empty() && samples_.back().time == time) {
    samples_.back().until = now;
    samples_.back().operations = operations;
    return;
  }
  samples_.push_back({time, now, now, operations});
  if (samples_.size() <= most) return;
  size_t index = 0;
  const size_t newest = samples_.size() - 1;
  std::erase_if(samples_, [&](const WriteSample&) {
    const bool isSpare = index % 2 == 1 && index != newest;
    ++index;
    return isSpare;
  });
}

std::deque<WriteSample>::const_iterator WriteSamples::at(bson::Timestamp time) const {
  const auto later = std::ranges::upper_bound(samples_, time, {}, &WriteSample::time);
  return later == samples_.begin() ? later : std::prev(later);
}

void WriteSamples::forgetBefore(bson::Timestamp time) { samples_.erase(samples_.cbegin(), at(time)); }

int64_t WriteSamples::operationsUpTo(bson::Timestamp time) const {
  const auto from = at(time);
  if (from == samples_.end()) return 0;
  if (time <= from->time) return from->operations;
  const int64_t since = time.seconds == from->time.seconds ? int64_t{time.increment} - int64_t{from->time.increment}
                                                           : int64_t{time.increment};
  const auto next = std::next(from);
  return std::min(from->operations + since, next == samples_.end() ? from->operations : next->operations);
}

/// What follows `committed` was written after the last moment at which that, or something older, was the newest entry.
Duration WriteSamples::lagOf(bson::Timestamp committed) const {
  if (samples_.empty() || committed >= samples_.back().time) return Duration::zero();
  return std::max(Duration::zero(), samples_.back().since - at(committed)->until);
}

NodeName sustainerOf(const ReplicaSetConfig& config, const Positions& positions) {
  std::vector<NodeName> voters;
  for (const MemberConfig& member : config.members)
    if (member.isVoter() && !member.arbiterOnly) voters.push_back(member.host);
  const auto wanted = static_cast<size_t>(config.writeMajority());
  if (wanted == 0 || voters.size() < wanted) return {};
  const auto isAhead = [&](const NodeName& a, const NodeName& b) {
    return appliedBy(positions, a) > appliedBy(positions, b);
  };
  std::ranges::stable_sort(voters, isAhead);
  return voters[wanted - 1];
}

int64_t ticketsWhileLagged(const FlowControlSettings& settings, double lagSeconds, double operations,
                           double locksPerOperation) {
  constexpr double kLeastThreshold = 0.001;  // a threshold of zero, at which any lag counts
  const double threshold = std::max(settings.thresholdSeconds(), kLeastThreshold);
  const double decay = std::pow(settings.decayConstant, (lagSeconds - threshold) / threshold);
  return bounded(operations * decay * settings.fudgeFactor * locksPerOperation, settings.minTicketsPerSecond);
}

int64_t ticketsWhileKeepingUp(const FlowControlSettings& settings, int64_t previous) {
  const auto sum = static_cast<double>(previous + settings.ticketAdderConstant);
  return bounded(sum * settings.ticketMultiplierConstant, settings.minTicketsPerSecond);
}

std::optional<double> FlowRule::rateOf(const NodeName& sustainer, const FlowInput& input,
                                       const WriteSamples& samples) const {
  const double seconds = secondsOf(input.now - looked_);
  const auto before = positions_.find(sustainer);
  if (!hasLooked_ || seconds <= 0 || before == positions_.end()) return std::nullopt;
  const int64_t from = samples.operationsUpTo(before->second.applied.timestamp);
  const int64_t to = samples.operationsUpTo(appliedBy(input.positions, sustainer));
  return static_cast<double>(std::max<int64_t>(0, to - from)) / seconds;
}

/// A second without writes says nothing of how many locks they take.
void FlowRule::measureLocks(const FlowInput& input) {
  const int64_t operations = input.operations - operations_, locks = input.locks - locks_;
  if (hasLooked_ && operations > 0 && locks > 0)
    last_.locksPerOperation = static_cast<double>(locks) / static_cast<double>(operations);
  operations_ = input.operations;
  locks_ = input.locks;
}

int64_t FlowRule::ticketsFor(const FlowControlSettings& settings, bool applies, std::optional<double> rate) const {
  if (!applies) return kUnlimited;
  if (!last_.isLagged) return ticketsWhileKeepingUp(settings, last_.tickets);
  if (!rate) return last_.tickets;
  return ticketsWhileLagged(settings, secondsOf(last_.lag), *rate, last_.locksPerOperation);
}

const FlowDecision& FlowRule::decide(const FlowControlSettings& settings, const FlowInput& input,
                                     const WriteSamples& samples) {
  if (last_.isLagged) last_.timeLagged += input.now - looked_;
  measureLocks(input);
  last_.sustainer = sustainerOf(input.config, input.positions);
  const auto rate = rateOf(last_.sustainer, input, samples);
  last_.sustainerRate = rate.value_or(0);
  last_.lag = input.mayWrite ? samples.lagOf(input.commitPoint.timestamp) : Duration::zero();
  const bool applies = settings.enabled && input.mayWrite;
  const bool isLagged = applies && last_.lag > Duration::zero() && secondsOf(last_.lag) >= settings.thresholdSeconds();
  if (isLagged && !last_.isLagged) ++last_.timesLagged;
  last_.isLagged = isLagged;
  last_.tickets = ticketsFor(settings, applies, rate);
  hasLooked_ = true;
  looked_ = input.now;
  positions_ = input.positions;
  return last_;
}

}  // namespace troupe::replication
