#pragma once
#include <cstdint>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"

namespace troupe {

/// {ts, t}, as commands and messages of replica sets show the time of an entry.
inline bson::Document shownOpTime(const OpTime& at) { return bson::doc("ts", at.timestamp, "t", at.term); }
/// The second in which the entry was written, on the clock of its writer.
inline bson::Date wallOf(const OpTime& at) { return {int64_t{at.timestamp.seconds} * 1000}; }

}  // namespace troupe
