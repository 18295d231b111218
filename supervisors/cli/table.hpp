#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// A table of text with aligned columns, a header and a rule below it.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  ///< numbers are aligned to the right
    size_t atLeast = 8;  ///< columns it keeps when the table is too wide
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells beyond the columns are dropped, missing ones are empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  size_t rows() const { return rows_.size(); }

  /// The whole table, each line indented and ended by a newline. Is it wider than `width`, then the widest columns
  /// are cut, never below their `atLeast`.
  std::string render(size_t width, const Paint& paint, std::string_view indent = "  ") const;

 private:
  std::vector<size_t> widths(size_t available) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace troupe::supervisors
