#pragma once
#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"

namespace troupe {

/// {ts, t}, as commands and messages of replica sets show the time of an entry.
inline bson::Document shownOpTime(const OpTime& at) { return bson::doc("ts", at.timestamp, "t", at.term); }

}  // namespace troupe
