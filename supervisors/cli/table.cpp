#include "supervisors/cli/table.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::supervisors {
namespace {

constexpr std::string_view kGap = "  ";

std::string pad(std::string text, size_t width, bool right) {
  const size_t has = displayWidth(text);
  if (has >= width) return text;
  return right ? std::string(width - has, ' ') + text : text + std::string(width - has, ' ');
}

std::string withoutTrailingSpace(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::vector<size_t> Table::widths(size_t available) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t widest = displayWidth(columns_[i].title);
    for (const auto& row : rows_)
      if (i < row.size()) widest = std::max(widest, displayWidth(row[i]));
    result.push_back(widest);
  }
  const size_t gaps = columns_.empty() ? 0 : (columns_.size() - 1) * kGap.size();
  size_t total = std::accumulate(result.begin(), result.end(), gaps);
  while (total > available) {
    size_t pick = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i)
      if (result[i] > columns_[i].atLeast && (pick == columns_.size() || result[i] > result[pick])) pick = i;
    if (pick == columns_.size()) break;
    --result[pick];
    --total;
  }
  return result;
}

std::string Table::render(size_t width, const Paint& paint, std::string_view indent) const {
  const auto sizes = widths(width > indent.size() ? width - indent.size() : 1);
  std::string titles, rule, out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) titles += kGap, rule += kGap;
    titles += pad(fitTo(columns_[i].title, sizes[i]), sizes[i], columns_[i].right);
    for (size_t n = 0; n < sizes[i]; ++n) rule += "─";
  }
  out.append(indent) += paint.bold(withoutTrailingSpace(titles)) + "\n";
  out.append(indent) += paint.dim(rule) + "\n";
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += kGap;
      line += pad(fitTo(i < row.size() ? row[i] : "", sizes[i]), sizes[i], columns_[i].right);
    }
    out.append(indent) += withoutTrailingSpace(line) + "\n";
  }
  return out;
}

}  // namespace troupe::supervisors
