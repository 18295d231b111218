#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// A tree of field paths that are included, excluded or computed: the machinery shared by find's projection and by
/// $project, $unset and $addFields. Paths reach into every element of arrays. Immutable once built; any thread.
class ProjectionTree {
 public:
  enum class Mode {
    kInclude,  ///< marked paths and computed paths remain
    kExclude,  ///< marked paths go
    kAdd,      ///< everything remains; computed paths are set ($addFields)
  };
  /// Gives the value of a computed path for the root document; a missing value leaves the field out.
  using Compute = std::function<StatusWith<bson::Value>(bson::View root)>;
  /// Gives a new value for the present value at a path (find's $slice and $elemMatch); missing leaves the field out.
  using Transform = std::function<StatusWith<bson::Value>(const bson::Element& present)>;

  /// `work`: the operation that results are made for, whose budget holds while one is made; null: none.
  ProjectionTree(Mode mode, QueryWork* work) : mode_(mode), work_(work), held_(work) {}
  ProjectionTree(ProjectionTree&&) = default;
  ProjectionTree& operator=(ProjectionTree&&) = default;

  Mode mode() const { return mode_; }
  /// Marks a dotted path as included or excluded. Errors, of all three: 31249 / 31250 on collision with an earlier
  /// path, Overflow for more components than documents nest, ExceededMemoryLimit, those of an interrupt.
  Status mark(std::string_view path);
  /// Sets a computed path. `constant` computations do not look at the document.
  Status compute(std::string_view path, Compute compute);
  /// Applies to each value found at the path; when including, it stands for an inclusion.
  Status transform(std::string_view path, Transform transform);

  /// The document after the projection; computed values see the whole input. The order is the input's; new computed
  /// fields follow in the order they were added. Untouched stretches are copied as blocks.
  StatusWith<bson::Document> apply(bson::View document) const;

  bool empty() const { return root_.children.empty(); }
  /// Only marked paths: nothing computed or transformed.
  bool isPlain() const { return plain_; }
  /// The marked paths, dotted.
  std::vector<std::string> markedPaths() const;

 private:
  struct Node {
    std::string name;
    Compute compute;
    Transform transform;
    bool hasComputed = false;  ///< in it or below
    /// In the order they were added; a node without children is a leaf.
    std::vector<std::unique_ptr<Node>> children;
    std::unordered_map<std::string_view, Node*> byName;  ///< of many children

    Node* find(std::string_view child) const;
    Node* add(std::string_view child);
  };
  /// A result in the making.
  struct Output {
    bson::Builder builder;
    Growth growth;
    Status append(std::string_view name, const bson::Value& value) {
      TROUPE_TRY(checkNesting(value.element(), Operand::kMaxDepth - builder.depth(), growth.work()));
      TROUPE_TRY(growth.reserve(builder.size() + value.valueBytes().size()));
      builder.append(name, value);
      return Status::OK();
    }
  };
  StatusWith<Node*> insert(std::string_view path, bool computed);
  Status applyFields(const Node& node, bson::View in, bson::View root, Output& output) const;
  Status applyField(const Node& child, const bson::Element& e, bson::View root, Output& output) const;
  Status applyArray(const Node& node, bson::View in, bson::View root, Output& output) const;
  /// Computed fields that have no place of their own yet: all of them when including, else those absent from `in`.
  Status addComputed(const Node& node, bson::View in, bson::View root, Output& output) const;
  static void addPaths(const Node& node, const std::string& prefix, std::vector<std::string>& out);

  Mode mode_;
  QueryWork* work_;
  HeldMemory held_;
  int64_t bytes_ = 0;  ///< about what the tree takes
  Node root_;
  bool plain_ = true;
};

/// The document with a value at a dotted path, as $addFields sets it. Errors: those of ProjectionTree.
StatusWith<bson::Document> withValueAt(bson::View document, std::string_view path, const bson::Value& value,
                                       QueryWork* work);

}  // namespace troupe::query
