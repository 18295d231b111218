#pragma once
#include "test/checkers/history.hpp"
#include "test/checkers/linearizability.hpp"

namespace troupe::checkers {

/// Whether the history is causally consistent, a process being a session: an operation is behind what its session did
/// before, a read is behind the write whose value it saw, and no read sees an older value than one that is behind it in
/// that order. A compare-and-set that was applied is a read and a write; one that was refused says nothing. Values are
/// written to a register once in a history.
///
/// Finds reads of values that nobody wrote, writes that are read before they can be, and reads that go back.
Verdict checkCausal(const History<RegisterOperation>& history);

}  // namespace troupe::checkers
