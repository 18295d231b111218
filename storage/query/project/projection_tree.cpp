#include "storage/query/project/projection_tree.hpp"

#include <algorithm>
#include <unordered_set>

#include "storage/query/match/field_path.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::View;

namespace {
/// So many names are found faster by looking at each than by their hash.
constexpr size_t kFewNames = 8;

/// Names of fields, to be asked for often.
class NameSet {
 public:
  /// `in` is read through once when `lookups` are many, else by each lookup.
  NameSet(View in, size_t lookups) : in_(in), isHashed_(lookups > kFewNames) {
    if (!isHashed_) return;
    for (const auto& e : in) names_.insert(e.name());
  }
  bool has(std::string_view name) const { return isHashed_ ? names_.contains(name) : in_.has(name); }

 private:
  View in_;
  bool isHashed_;
  std::unordered_set<std::string_view> names_;
};
}  // namespace

ProjectionTree::Node* ProjectionTree::Node::find(std::string_view child) const {
  if (children.size() > kFewNames) {
    const auto known = byName.find(child);
    return known == byName.end() ? nullptr : known->second;
  }
  for (const auto& node : children)
    if (node->name == child) return node.get();
  return nullptr;
}

ProjectionTree::Node* ProjectionTree::Node::add(std::string_view child) {
  Node* const node = children.emplace_back(std::make_unique<Node>()).get();
  node->name = child;
  if (children.size() == kFewNames + 1)
    for (const auto& each : children) byName.emplace(each->name, each.get());
  else if (children.size() > kFewNames) byName.emplace(node->name, node);
  return node;
}

StatusWith<ProjectionTree::Node*> ProjectionTree::insert(std::string_view path, bool computed) {
  const FieldPath parts(path);
  if (work_) TROUPE_TRY(work_->step(stepsFor(path.size())));
  TROUPE_TRY(checkDepth(parts));
  bytes_ += static_cast<int64_t>(2 * path.size());  // which is kept besides, by the parsers of projections
  TROUPE_TRY(held_.set(bytes_));
  Node* node = &root_;
  for (size_t i = 0; i < parts.size(); ++i) {
    node->hasComputed = node->hasComputed || computed;
    Node* const known = node->find(parts[i]);
    const bool last = i + 1 == parts.size();
    if (!known) {
      node = node->add(parts[i]);
      bytes_ += static_cast<int64_t>(sizeof(Node) + parts[i].size() + 64);
      continue;
    }
    if (last) return {ErrorCode::kPathCollisionPrefix, "Path collision at " + parts.text()};
    if (known->children.empty())
      return {ErrorCode::kPathCollision,
              "Path collision at " + parts.text() + " remaining portion " + std::string(parts.tail(i + 1))};
    node = known;
  }
  TROUPE_TRY(held_.set(bytes_));
  node->hasComputed = computed;
  plain_ = plain_ && !computed;
  return node;
}

Status ProjectionTree::mark(std::string_view path) { return insert(path, false).status(); }

Status ProjectionTree::compute(std::string_view path, Compute compute) {
  TROUPE_ASSIGN(Node* const node, insert(path, true));
  node->compute = std::move(compute);
  return Status::OK();
}

Status ProjectionTree::transform(std::string_view path, Transform transform) {
  TROUPE_ASSIGN(Node* const node, insert(path, false));
  node->transform = std::move(transform);
  plain_ = false;
  return Status::OK();
}

StatusWith<bson::Document> ProjectionTree::apply(View document) const {
  Output output{bson::Builder(), Growth(work_)};
  output.builder.reserve(mode_ == Mode::kInclude ? 256 : document.size() + 64);
  TROUPE_TRY(applyFields(root_, document, document, output));
  return output.builder.finish();
}

Status ProjectionTree::applyFields(const Node& node, View in, View root, Output& output) const {
  if (work_) TROUPE_TRY(work_->step(stepsFor(in.size())));
  bson::Builder& out = output.builder;
  const bool including = mode_ == Mode::kInclude;
  size_t missing = node.children.size();
  const char* runStart = nullptr;  // untouched neighbours, copied as one block
  const char* runEnd = nullptr;
  const auto flush = [&] {
    if (runStart) out.appendElements({runStart, static_cast<size_t>(runEnd - runStart)});
    runStart = nullptr;
  };
  for (const auto& e : in) {
    const Node* child = node.find(e.name());
    const bool copied =
        child ? including && child->children.empty() && !child->compute && !child->transform : !including;
    if (copied) {
      if (!runStart) runStart = e.raw().data();
      runEnd = e.raw().data() + e.size();
    } else {
      flush();
      if (child) TROUPE_TRY(applyField(*child, e, root, output));
    }
    if (child && --missing == 0 && including) break;
  }
  flush();
  return node.hasComputed ? addComputed(node, in, root, output) : Status::OK();
}

Status ProjectionTree::applyField(const Node& child, const Element& e, View root, Output& output) const {
  bson::Builder& out = output.builder;
  if (child.transform) {
    TROUPE_ASSIGN(const auto value, child.transform(e));
    out.append(e.name(), value);
    return Status::OK();
  }
  if (child.compute) {
    if (mode_ == Mode::kInclude) return Status::OK();  // computed fields follow the included ones
    TROUPE_ASSIGN(const auto value, child.compute(root));
    return output.append(e.name(), value);
  }
  if (child.children.empty()) return Status::OK();  // excluded; inclusions were copied
  if (e.is(Type::kDocument)) {
    out.openDocument(e.name());
    TROUPE_TRY(applyFields(child, e.asDocument(), root, output));
    out.close();
  } else if (e.is(Type::kArray)) {
    out.openArray(e.name());
    TROUPE_TRY(applyArray(child, e.asArray(), root, output));
    out.close();
  } else if (child.hasComputed) {
    out.openDocument(e.name());
    TROUPE_TRY(addComputed(child, {}, root, output));
    out.close();
  } else if (mode_ != Mode::kInclude) {
    out.append(e);
  }
  return Status::OK();
}

Status ProjectionTree::applyArray(const Node& node, View in, View root, Output& output) const {
  bson::Builder& out = output.builder;
  for (const auto& item : in) {
    if (work_) TROUPE_TRY(work_->step());
    if (item.is(Type::kDocument)) {
      out.pushDocument();
      TROUPE_TRY(applyFields(node, item.asDocument(), root, output));
      out.close();
    } else if (item.is(Type::kArray)) {
      out.pushOpenArray();
      TROUPE_TRY(applyArray(node, item.asArray(), root, output));
      out.close();
    } else if (node.hasComputed) {
      out.pushDocument();
      TROUPE_TRY(addComputed(node, {}, root, output));
      out.close();
    } else if (mode_ != Mode::kInclude) {
      out.push(item);
    }
  }
  return Status::OK();
}

Status ProjectionTree::addComputed(const Node& node, View in, View root, Output& output) const {
  bson::Builder& out = output.builder;
  const NameSet present(in, node.children.size());
  for (const auto& child : node.children) {
    if (work_) TROUPE_TRY(work_->step());
    if (!child->hasComputed || ((mode_ != Mode::kInclude || !child->compute) && present.has(child->name))) continue;
    if (child->compute) {
      TROUPE_ASSIGN(const auto value, child->compute(root));
      TROUPE_TRY(output.append(child->name, value));
      continue;
    }
    out.openDocument(child->name);
    TROUPE_TRY(addComputed(*child, {}, root, output));
    out.close();
  }
  return Status::OK();
}

void ProjectionTree::addPaths(const Node& node, const std::string& prefix, std::vector<std::string>& out) {
  for (const auto& child : node.children) {
    const std::string path = prefix.empty() ? child->name : prefix + "." + child->name;
    if (child->children.empty()) out.push_back(path);
    else addPaths(*child, path, out);
  }
}

std::vector<std::string> ProjectionTree::markedPaths() const {
  std::vector<std::string> paths;
  addPaths(root_, "", paths);
  return paths;
}

StatusWith<bson::Document> withValueAt(View document, std::string_view path, const bson::Value& value,
                                       QueryWork* work) {
  ProjectionTree tree(ProjectionTree::Mode::kAdd, work);
  TROUPE_TRY(tree.compute(path, [&value](View) -> StatusWith<bson::Value> { return value; }));
  return tree.apply(document);
}

}  // namespace troupe::query
