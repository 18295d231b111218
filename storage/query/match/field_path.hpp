#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::query {

/// A dotted path, split once. Knows which components may also be array indexes. The empty path has no components.
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(std::string_view dotted);

  const std::string& text() const { return text_; }
  size_t size() const { return parts_.size(); }
  bool empty() const { return parts_.empty(); }
  std::string_view operator[](size_t i) const {
    return std::string_view(text_).substr(parts_[i].start, parts_[i].size);
  }
  /// The component as an array index, or -1 ("01" is none).
  int64_t index(size_t i) const { return parts_[i].index; }
  /// Components `from` and later, joined.
  std::string_view tail(size_t from) const { return std::string_view(text_).substr(parts_[from].start); }
  /// Components before `to`, joined.
  std::string_view head(size_t to) const;

 private:
  struct Part {
    uint32_t start;
    uint32_t size;
    int64_t index;
  };
  std::string text_;
  std::vector<Part> parts_;
};

/// For paths that make or reshape documents: trees of them are walked by recursion, and documents nest no deeper.
/// Errors: Overflow when there are more components than kMaxNestingDepth.
Status checkDepth(const FieldPath& path);

/// "12" -> 12; -1 when the text is not the plain decimal of an array index.
int64_t arrayIndex(std::string_view text);

/// How a path's last value is shown to a predicate when it is an array.
enum class LeafArray {
  kElementsAndWhole,  ///< each element, then the array
  kWhole,             ///< the array alone
};

namespace detail {
template <class F>
bool walkValue(const bson::Element& e, const FieldPath& path, size_t at, LeafArray leaf, int64_t offset, F& visit) {
  if (at + 1 == path.size()) {
    if (leaf == LeafArray::kElementsAndWhole && e.is(bson::Type::kArray)) {
      int64_t n = 0;
      for (const auto& item : e.asArray()) {
        if (visit(item, offset >= 0 ? offset : n)) return true;
        ++n;
      }
    }
    return visit(e, offset);
  }
  if (e.is(bson::Type::kDocument)) return walkValue(e.asDocument()[path[at + 1]], path, at + 1, leaf, offset, visit);
  if (!e.is(bson::Type::kArray)) return visit(bson::Element(), offset);
  int64_t n = 0;
  for (const auto& item : e.asArray()) {
    const int64_t here = offset >= 0 ? offset : n;
    if (item.is(bson::Type::kDocument) && walkValue(item.asDocument()[path[at + 1]], path, at + 1, leaf, here, visit))
      return true;
    if (path.index(at + 1) == n) {
      // The element that a path ends with is one value, also where it is an array itself.
      const bool last = at + 2 == path.size();
      if (last ? visit(item, offset) : walkValue(item, path, at + 1, leaf, offset, visit)) return true;
    }
    ++n;
  }
  return false;
}
}  // namespace detail

/// Shows `visit(element, offset)` every value a query path leads to, through the elements of arrays on the way, until
/// it returns true; returns whether it did. An absent element is shown where the path ends early in a document or
/// scalar. `offset` is the position in the outermost array that was entered implicitly, or -1.
template <class F>
bool walkPath(bson::View document, const FieldPath& path, LeafArray leaf, F&& visit) {
  return detail::walkValue(document[path[0]], path, 0, leaf, -1, visit);
}

}  // namespace troupe::query
