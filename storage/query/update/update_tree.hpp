#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/query/update/array_filters.hpp"
#include "storage/query/update/operator.hpp"

namespace troupe::query {

/// The operators of an update, arranged by path so that one walk over a document applies them all. Siblings are in the
/// order in which new fields appear: by name, numbers by value. Immutable once built; any thread.
class UpdateTree {
 public:
  /// Adds an operator at its path. Errors: ConflictingUpdateOperators (same or enclosing path), EmptyFieldName,
  /// DollarPrefixedFieldName, BadValue (misplaced positional components, unknown filter identifiers).
  Status add(UpdateOperatorPtr op, const ArrayFilters& filters);

  /// Writes the updated document's fields to `out`; `changed` tells whether anything differs.
  Status apply(const UpdateInput& input, const ArrayFilters& filters, bson::Builder& out, bool* changed) const;

  bool needsMatchedIndex() const { return positional_; }
  /// Could the result be nested too deeply, for some document?
  bool mayNestDeeply() const { return depth_ > bson::kMaxNestingDepth; }
  const std::vector<std::string>& usedIdentifiers() const { return identifiers_; }
  const std::vector<std::string>& paths() const { return paths_; }

  struct Node {
    std::string name;
    int64_t index = -1;    ///< the name as an array index
    UpdateOperatorPtr op;  ///< leaves only
    std::vector<Node> children;

    bool isDynamic() const { return name.starts_with('$') && (name.size() == 1 || name[1] == '['); }
    /// "x" of `$[x]`; empty for `$[]`.
    std::string_view identifier() const { return std::string_view(name).substr(2, name.size() - 3); }
    bool creates(const UpdateInput& input) const;
    /// The path above the first `$[...]` of an operator below, for messages.
    std::string arrayPath() const;
  };

 private:
  Status checkPath(const std::string& path, const ArrayFilters& filters);
  Node root_;
  std::vector<std::string> identifiers_;
  std::vector<std::string> paths_;
  int depth_ = 0;
  bool positional_ = false;
};

}  // namespace troupe::query
