#pragma once
#include <chrono>

#include "actors/commands/request.hpp"

namespace troupe::commands {

/// Writes the "Slow query" line when the operation `took` longer than `slowOpThresholdMs`.
void logIfSlow(const Request& request, const Status& outcome, std::chrono::nanoseconds took);

}  // namespace troupe::commands
