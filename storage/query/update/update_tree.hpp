#pragma once
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/query/query_work.hpp"
#include "storage/query/update/array_filters.hpp"
#include "storage/query/update/operator.hpp"

namespace troupe::query {

/// The operators of an update, arranged by path so that one walk over a document applies them all. Siblings are in the
/// order in which new fields appear: by name, numbers by value. Immutable once built; used by one thread at a time, as
/// its operation is.
class UpdateTree {
 public:
  /// `work`: the operation whose budget holds the tree, and which may end it; null: none.
  explicit UpdateTree(QueryWork* work) : work_(work), held_(work) {}

  /// Adds an operator at its path. Errors: ConflictingUpdateOperators (same or enclosing path), EmptyFieldName,
  /// DollarPrefixedFieldName, BadValue (misplaced positional components, unknown filter identifiers), Overflow (more
  /// components than documents nest), ExceededMemoryLimit, those of an interrupt.
  Status add(UpdateOperatorPtr op, const ArrayFilters& filters);

  /// Writes the updated document's fields to `out`; `changed` tells whether anything differs. Errors also: those of an
  /// interrupt.
  Status apply(const UpdateInput& input, const ArrayFilters& filters, bson::Builder& out, bool* changed) const;

  bool needsMatchedIndex() const { return positional_; }
  /// Could the result be nested too deeply, for some document?
  bool mayNestDeeply() const { return depth_ > bson::kMaxNestingDepth; }
  const std::set<std::string, std::less<>>& usedIdentifiers() const { return identifiers_; }
  const std::vector<std::string>& paths() const { return paths_; }

  struct Node;
  /// The name of a child. Names that are array indexes are one when their numbers are.
  struct Name {
    std::string_view text;
    int64_t index = -1;  ///< the text as an array index
    /// Numbers first, by value; then names.
    bool operator<(const Name& other) const;
    bool operator==(const Name& other) const { return index == other.index && (index >= 0 || text == other.text); }
  };
  struct InOrder {
    using is_transparent = void;
    static Name nameOf(const std::unique_ptr<Node>& node) { return {node->name, node->index}; }
    static Name nameOf(const Name& name) { return name; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return nameOf(a) < nameOf(b);
    }
  };
  struct Node {
    std::string name;
    int64_t index = -1;    ///< the name as an array index
    UpdateOperatorPtr op;  ///< leaves only
    std::set<std::unique_ptr<Node>, InOrder> children;

    bool isDynamic() const { return name.starts_with('$') && (name.size() == 1 || name[1] == '['); }
    /// "x" of `$[x]`; empty for `$[]`.
    std::string_view identifier() const { return std::string_view(name).substr(2, name.size() - 3); }
    bool creates(const UpdateInput& input) const;
    bool needsPath(const UpdateInput& input) const;
    /// The path above the first `$[...]` of an operator below, for messages.
    std::string arrayPath() const;
  };

 private:
  Status checkPath(const FieldPath& path, const ArrayFilters& filters, bool removesOnly);
  Node* childOf(Node& node, Name name);

  QueryWork* work_;
  HeldMemory held_;
  int64_t bytes_ = 0;  ///< about what the tree takes
  Node root_;
  std::set<std::string, std::less<>> identifiers_;
  std::vector<std::string> paths_;
  int depth_ = 0;
  bool positional_ = false;
};

}  // namespace troupe::query
