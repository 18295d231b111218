#include "messaging/clock/entry_dates.hpp"

#include <algorithm>
#include <cstdlib>

namespace troupe {

namespace {

/// Clocks of members differ by that much, and a time counts whole seconds.
constexpr int64_t kUsualMillis = 2000;
constexpr size_t kMostSamples = 4096;

int64_t millisOf(bson::Timestamp time) { return int64_t{time.seconds} * 1000; }

}  // namespace

/// While times are what they should be this costs two comparisons.
void EntryDates::note(bson::Timestamp time, bson::Date wall) {
  const int64_t difference = millisOf(time) - wall.millis;
  const int64_t ahead = difference > kUsualMillis ? difference : 0;
  if (std::abs(ahead - aheadMillis()) < 1000) return;
  const std::lock_guard lock(mutex_);
  while (!samples_.empty() && samples_.back().time >= time.asUint64()) samples_.pop_back();
  samples_.push_back({time.asUint64(), ahead, millisOf(time) - ahead});
  newest_.store(ahead, std::memory_order_relaxed);
  if (samples_.size() > kMostSamples) samples_.pop_front();
}

void EntryDates::noteHeard(bson::Timestamp time, bson::Date now) {
  if (millisOf(time) - now.millis <= kUsualMillis && aheadMillis() == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (!samples_.empty() && samples_.back().time >= time.asUint64()) return;
  }
  note(time, now);
}

bson::Date EntryDates::of(const OpTime& at) const {
  const int64_t millis = millisOf(at.timestamp);
  const std::lock_guard lock(mutex_);
  if (samples_.empty()) return {millis};
  const uint64_t time = at.timestamp.asUint64();
  const auto after = std::ranges::upper_bound(samples_, time, {}, &Sample::time);
  if (after != samples_.begin()) return {millis - std::prev(after)->aheadMillis};
  return {std::min(millis, samples_.front().dateMillis)};
}

}  // namespace troupe
