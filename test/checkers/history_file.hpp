#pragma once
#include <string_view>

#include "messaging/errors/status.hpp"
#include "test/checkers/linearizability.hpp"
#include "test/checkers/list_append.hpp"

namespace troupe::checkers {

/// What clients of real servers have recorded: operations on lists, and on registers.
struct RecordedHistory {
  History<ListTransaction> lists;
  History<RegisterOperation> registers;
};

/// Reads a history from text, one operation a line, in any order; empty lines are passed over.
///
///   {"process": 3, "begin": 1000, "end": 1250, "outcome": "ok", "append": {"key": "a", "value": 7}}
///   {"process": 4, "begin": 1100, "end": 1300, "outcome": "ok", "read": {"key": "a", "contents": [6, 7]}}
///   {"process": 5, "begin": 1100, "outcome": "unknown", "append": {"key": "a", "value": 8}}
///   {"process": 6, "begin": 1100, "end": 1200, "outcome": "ok", "set": {"key": "r", "value": 1}}
///   {"process": 6, "begin": 1300, "end": 1400, "outcome": "ok", "get": {"key": "r", "value": null}}
///
/// Times are microseconds of one clock. The outcome is `ok`, `failed` (nothing has happened) or `unknown`; only what is
/// unknown has no end. Errors: FailedToParse, with the number of the line.
StatusWith<RecordedHistory> readHistory(std::string_view text);

/// What is broken in it: lists under this isolation, and registers, which are to be linearizable.
Verdict checkRecorded(const RecordedHistory& history, Isolation isolation);

}  // namespace troupe::checkers
