#pragma once
#include <chrono>

#include "actors/server/request.hpp"

namespace troupe::server {

/// Writes the "Slow query" line when the operation `took` longer than `slowOpThresholdMs`. Where the verbosity of
/// commands is at least 1, all others get a debug line as well.
void logOperation(const Request& request, const Status& outcome, std::chrono::nanoseconds took);

}  // namespace troupe::server
