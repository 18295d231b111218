#include "actors/server/connection_gate.hpp"

namespace troupe::server {

namespace {

constexpr double kBurstSeconds = 4;

/// Adds one unless `limit` is reached.
bool raise(std::atomic<int64_t>& count, int64_t limit) {
  int64_t now = count.load(std::memory_order_relaxed);
  while (now < limit)
    if (count.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  return false;
}

}  // namespace

std::string_view refusalName(ConnectionRefusal refusal) {
  switch (refusal) {
    case ConnectionRefusal::kTooMany: return "tooMany";
    case ConnectionRefusal::kTooFast: return "tooFast";
    case ConnectionRefusal::kSilent: return "silent";
    case ConnectionRefusal::kUnread: return "unread";
    default: return "failed";
  }
}

ConnectionGate::Place::~Place() {
  if (counts_) (forLink_ ? counts_->forLinks : counts_->below).fetch_sub(1, std::memory_order_relaxed);
}

ConnectionGate::Place ConnectionGate::enter() {
  if (raise(counts_->below, limit_)) return {counts_, false};
  if (raise(counts_->forLinks, kLinkRoom)) return {counts_, true};
  return {};
}

bool ConnectionGate::isInTime(std::string_view remote, TimePoint now, int64_t perSecond) {
  if (perSecond <= 0) return true;
  const auto rate = static_cast<double>(perSecond);
  const std::lock_guard lock(mutex_);
  return addresses_.take(addressKey(remote), now, {rate, rate * kBurstSeconds});
}

Duration ConnectionGate::pauseBeforeNext(TimePoint now, int64_t perSecond) {
  const auto rate = static_cast<double>(perSecond);
  const std::lock_guard lock(mutex_);
  return all_.reserve(now, {rate, rate});
}

int64_t ConnectionGate::open() const {
  return counts_->below.load(std::memory_order_relaxed) + counts_->forLinks.load(std::memory_order_relaxed);
}

int64_t ConnectionGate::refusals() const {
  int64_t sum = 0;
  for (const auto& each : refused_) sum += each.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace troupe::server
