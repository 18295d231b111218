#include "storage/query/match/field_path.hpp"

namespace troupe::query {

int64_t arrayIndex(std::string_view text) {
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1)) return -1;
  int64_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    n = n * 10 + (c - '0');
  }
  return n;
}

FieldPath::FieldPath(std::string_view dotted) : text_(dotted) {
  size_t start = 0;
  while (true) {
    const size_t dot = dotted.find('.', start);
    const auto part = dotted.substr(start, dot == std::string_view::npos ? dot : dot - start);
    parts_.push_back({static_cast<uint32_t>(start), static_cast<uint32_t>(part.size()), arrayIndex(part)});
    if (dot == std::string_view::npos) return;
    start = dot + 1;
  }
}

std::string_view FieldPath::head(size_t to) const {
  if (to == 0) return {};
  return std::string_view(text_).substr(0, parts_[to - 1].start + parts_[to - 1].size);
}

Status checkDepth(const FieldPath& path) {
  if (path.size() <= static_cast<size_t>(bson::kMaxNestingDepth)) return Status::OK();
  return {ErrorCode::kOverflow, "FieldPath is too long: it has " + std::to_string(path.size()) +
                                    " components, and documents nest to " + std::to_string(bson::kMaxNestingDepth) +
                                    " levels"};
}

}  // namespace troupe::query
