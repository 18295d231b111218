#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "test/checkers/history.hpp"

namespace troupe::checkers {

/// An operation on one register of many. Registers begin empty.
struct RegisterOperation {
  enum class Kind { kRead, kWrite, kCompareAndSet };
  Kind kind = Kind::kRead;
  std::string key;
  std::optional<int64_t> expected;  ///< compare-and-set: what it replaces; none: nothing
  int64_t value = 0;                ///< write, compare-and-set: what it puts there
  std::optional<int64_t> read;      ///< read: what it saw; none: nothing
  bool applied = true;              ///< compare-and-set: whether the register held what was expected

  std::string toString() const;
};

/// Whether each register of the history behaves as if every operation happened at one moment between its invocation and
/// its answer. Operations without an answer may have happened at any moment after their invocation, or never.
///
/// Registers are independent, so that each is checked by itself (P-compositionality). One register is checked by
/// depth-first search for an order (Wing and Gong), which never looks twice at the same set of done operations with the
/// same value (Lowe). Thousands of operations a register take milliseconds while few run at the same time; the search
/// gives up, and says so, after `maxSteps`.
Verdict checkLinearizable(const History<RegisterOperation>& history, uint64_t maxSteps = 50'000'000);

}  // namespace troupe::checkers
