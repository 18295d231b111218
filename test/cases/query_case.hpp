#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::cases {

/// One line of a file of cases. The fields of a case are described in test/cases/README.md.
struct QueryCase {
  std::string file;  ///< without folder and extension, e.g. "expression_dates"
  int line = 0;      ///< from 1
  std::string text;

  /// Runs the case: empty when it holds, else what is wrong with the result or with the line itself.
  std::string check() const;
};

/// All cases of the folder's *.jsonl files, in the order of names and lines. Empty lines are skipped.
std::vector<QueryCase> readCases(const std::filesystem::path& folder);

}  // namespace troupe::cases
