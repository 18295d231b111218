#pragma once
#include "actors/server/finished_operation.hpp"

namespace troupe::server {

/// Writes the "Slow query" line of an operation that is `noteworthy`. Where the verbosity of commands is at least 1,
/// all others get a debug line as well.
void logOperation(const FinishedOperation& finished, bool noteworthy);

}  // namespace troupe::server
