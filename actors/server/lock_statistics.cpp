#include "actors/server/lock_statistics.hpp"

#include <string_view>

namespace troupe::server {

namespace {

/// One figure of a type of resource by mode, e.g. {r: 12, w: 3}; nothing where all are zero.
void appendByMode(bson::Builder& b, std::string_view name, const storage::LockStatistics& statistics,
                  storage::ResourceType type, int64_t storage::LockStatistics::Figures::*figure) {
  bson::Builder modes;
  bool any = false;
  for (const storage::LockMode mode : storage::kHeldModes) {
    const int64_t value = statistics.of(type, mode).*figure;
    if (value == 0) continue;
    modes.append(storage::letterOf(mode), value);
    any = true;
  }
  if (any) b.append(name, modes.finish());
}

}  // namespace

bson::Document lockStatistics(const storage::LockStatistics& statistics) {
  using Figures = storage::LockStatistics::Figures;
  bson::Builder b;
  for (size_t i = 0; i < storage::kResourceTypes; ++i) {
    const auto type = static_cast<storage::ResourceType>(i);
    bson::Builder figures;
    appendByMode(figures, "acquireCount", statistics, type, &Figures::acquireCount);
    appendByMode(figures, "acquireWaitCount", statistics, type, &Figures::acquireWaitCount);
    appendByMode(figures, "timeAcquiringMicros", statistics, type, &Figures::timeAcquiringMicros);
    appendByMode(figures, "deadlockCount", statistics, type, &Figures::deadlockCount);
    if (const bson::Document all = figures.finish(); !all.view().empty()) b.append(storage::nameOf(type), all);
  }
  return b.finish();
}

}  // namespace troupe::server
