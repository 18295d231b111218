#pragma once
#include <chrono>

namespace troupe {

/// A point on the node's monotonic clock (the Environment's; virtual in tests and simulations).
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;
inline constexpr TimePoint kNoDeadline = TimePoint::max();
inline constexpr Duration kNoTimeout = Duration::max();

}  // namespace troupe
