#include "messaging/link/pending_asks.hpp"

namespace troupe::link {

uint64_t PendingAsks::add(ReplyDuty duty, TimePoint deadline) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.duty = std::move(duty);
  slot.deadline = deadline;
  return uint64_t{slot.round} << 32 | index;
}

ReplyDuty PendingAsks::release(size_t index) {
  Slot& slot = slots_[index];
  ReplyDuty duty = std::move(slot.duty);
  slot.duty = ReplyDuty();
  if (++slot.round == 0) slot.round = 1;
  free_.push_back(static_cast<uint32_t>(index));
  return duty;
}

ReplyDuty PendingAsks::take(uint64_t correlation) {
  const size_t index = correlation & 0xFFFFFFFF;
  if (index >= slots_.size() || !slots_[index].duty || slots_[index].round != correlation >> 32) return {};
  return release(index);
}

std::vector<ReplyDuty> PendingAsks::takeAll() {
  std::vector<ReplyDuty> all;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].duty) all.push_back(release(i));
  return all;
}

std::vector<ReplyDuty> PendingAsks::takeExpired(TimePoint now) {
  std::vector<ReplyDuty> expired;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].duty && slots_[i].deadline <= now) expired.push_back(release(i));
  return expired;
}

}  // namespace troupe::link
