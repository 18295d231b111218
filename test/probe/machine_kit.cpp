#include "test/probe/machine_kit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::probe {

Line ends(const Status& outcome, Durability durability) {
  return {"ends with " + machines::toText(outcome) + detail::safety(durability)};
}

namespace detail {

std::string safety(Durability durability) {
  switch (durability) {
    case Durability::kLocal: return " (local)";
    case Durability::kJournaled: return " (journaled)";
    case Durability::kMajority: break;
  }
  return " (majority)";
}

namespace {

/// The two lists as one: what is in both, "-" what was expected only, "+" what came only.
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& came) {
  const size_t n = expected.size(), m = came.size();
  std::vector<std::vector<size_t>> common(n + 1, std::vector<size_t>(m + 1));  // of what begins at i and j
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;)
      common[i][j] = expected[i] == came[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string lines;
  for (size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && expected[i] == came[j]) lines += "    " + expected[i++] + "\n", ++j;
    else if (i < n && (j == m || common[i + 1][j] >= common[i][j + 1])) lines += "  - " + expected[i++] + "\n";
    else lines += "  + " + came[j++] + "\n";
  }
  return lines;
}

}  // namespace

void compareLines(const std::vector<std::string>& expected, const std::vector<std::string>& came,
                  const std::string& story, const std::source_location& at) {
  if (expected == came) return;
  ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line())) << story << "\n(- expected, + came)\n"
                                                              << difference(expected, came);
}

}  // namespace detail

}  // namespace troupe::probe
