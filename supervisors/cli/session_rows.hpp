#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// Rows of sessionInfo for people: a table of the sessions, and how many of them there are. `total`: all sessions of
/// the node. `nowMillis`: since 1970, for how long a session was not used.
std::string renderSessions(const std::vector<bson::Document>& rows, int64_t total, int64_t nowMillis, size_t width,
                           const Paint& paint);

}  // namespace troupe::supervisors
