#include "storage/query/update/update_tree.hpp"

#include <algorithm>

#include "messaging/errors/invariant.hpp"
#include "storage/query/match/field_path.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::View;
using Name = UpdateTree::Name;
using Node = UpdateTree::Node;

namespace {

/// Most elements an update may pad an array with.
constexpr int64_t kMaxPadding = 1'500'000;

/// About what an operator takes beside its path and the bytes of its operand.
constexpr int64_t kOperatorBytes = 256;

/// Several nodes may apply to one element: `a.$[]` and `a.0`.
using Nodes = std::vector<const Node*>;

bool isPositional(std::string_view part) { return part == "$" || (part.starts_with("$[") && part.ends_with(']')); }

/// One walk over the old document writes the new one: the cost grows with the document's bytes, however many paths
/// the update names. Nodes of the tree and elements of the document are matched on the way; all others are copied as
/// blocks.
class Applier {
 public:
  Applier(const UpdateInput& input, const ArrayFilters& filters, QueryWork* work, bson::Builder& out)
      : input_(input), filters_(filters), work_(work), out_(out) {}

  Status object(const Nodes& nodes, View in, const Element& self);
  bool changed() const { return changed_; }

 private:
  /// A name among the children of one or several nodes.
  struct Step {
    Name name;
    Nodes nodes;
    bool seen = false;
  };
  /// The children of all nodes, by name, in the order in which new fields are to appear.
  StatusWith<std::vector<Step>> steps(const Nodes& nodes, const Element& self);
  StatusWith<Name> nameOf(const Node& child, const Element& self);
  Status array(const Nodes& nodes, const Element& self);
  Status elementsBeyond(const Nodes& nodes, int64_t size);
  Status checkArrayNames(const Nodes& nodes, const Element& self) const;
  /// The nodes that stand for the element at `index`, which is absent beyond the array's end.
  StatusWith<Nodes> nodesFor(const Nodes& nodes, int64_t index, const Element& item) const;
  StatusWith<bool> standsFor(const Node& dynamic, int64_t index, const Element& item) const;
  Status field(const Nodes& nodes, const Element& e, std::string_view name, bool inArray);
  Status leaf(const Node& node, const Element& e, std::string_view name, bool inArray);
  Status scalar(const Nodes& nodes, const Element& e, std::string_view name);
  bool creates(const Nodes& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node* n) { return n->creates(input_); });
  }
  Status step(size_t turns = 1) const { return work_ ? work_->step(static_cast<int64_t>(turns)) : Status::OK(); }

  const UpdateInput& input_;
  const ArrayFilters& filters_;
  QueryWork* work_;
  bson::Builder& out_;
  bool changed_ = false;
  std::string matchedName_;
};

/// Copies runs of neighbouring elements as one block.
class Run {
 public:
  explicit Run(bson::Builder& out) : out_(out) {}
  ~Run() { flush(); }
  void add(const Element& e) {
    if (!start_) start_ = e.raw().data();
    end_ = e.raw().data() + e.size();
  }
  void flush() {
    if (start_) out_.appendElements({start_, static_cast<size_t>(end_ - start_)});
    start_ = nullptr;
  }

 private:
  bson::Builder& out_;
  const char* start_ = nullptr;
  const char* end_ = nullptr;
};

Status notFound() {
  return {ErrorCode::kBadValue, "The positional operator did not find the match needed from the query."};
}

/// The name that a child has within a document. Only an array has elements that `$[]` and `$[x]` can stand for; `$`
/// stands for a number, and a document may have a field of that name.
StatusWith<Name> Applier::nameOf(const Node& child, const Element& self) {
  if (!child.isDynamic()) return Name{child.name, child.index};
  if (child.name != "$") {
    if (self.ok())
      return Status(ErrorCode::kBadValue, "Cannot apply array updates to non-array element " + describeElement(self));
    return Status(ErrorCode::kBadValue,
                  "The path '" + child.arrayPath() + "' must exist in the document in order to apply array updates.");
  }
  if (input_.matchedIndex < 0) return notFound();
  matchedName_ = std::to_string(input_.matchedIndex);
  return Name{matchedName_, input_.matchedIndex};
}

StatusWith<std::vector<Applier::Step>> Applier::steps(const Nodes& nodes, const Element& self) {
  std::vector<Step> result;
  for (const Node* node : nodes) {
    TROUPE_TRY(step(node->children.size()));
    for (const auto& child : node->children) {
      TROUPE_ASSIGN(const Name name, nameOf(*child, self));
      result.push_back({name, {child.get()}});
    }
  }
  // The children of one node are in order; those of several are not, nor is the number that `$` stands for.
  const auto before = [](const Step& a, const Step& b) { return a.name < b.name; };
  const auto notBefore = [&](const Step& a, const Step& b) { return !before(a, b); };
  if (std::adjacent_find(result.begin(), result.end(), notBefore) == result.end()) return result;
  std::stable_sort(result.begin(), result.end(), before);
  std::vector<Step> merged;
  for (auto& each : result) {
    if (!merged.empty() && merged.back().name == each.name) merged.back().nodes.push_back(each.nodes.front());
    else merged.push_back(std::move(each));
  }
  return merged;
}

Status Applier::object(const Nodes& nodes, View in, const Element& self) {
  TROUPE_ASSIGN(auto todo, steps(nodes, self));
  const auto stepFor = [&](std::string_view text) -> Step* {
    const Name name{text, arrayIndex(text)};
    const auto at = std::lower_bound(todo.begin(), todo.end(), name,
                                     [](const Step& step, const Name& wanted) { return step.name < wanted; });
    return at != todo.end() && at->name == name && !at->seen ? &*at : nullptr;
  };
  {
    Run untouched(out_);
    for (const auto& e : in) {
      Step* const own = stepFor(e.name());
      if (!own) {
        untouched.add(e);
        continue;
      }
      untouched.flush();
      own->seen = true;
      TROUPE_TRY(field(own->nodes, e, e.name(), false));
    }
  }
  // Existing fields keep their places; new ones follow in the order of their names (numbers by value).
  for (const auto& each : todo)
    if (!each.seen) TROUPE_TRY(field(each.nodes, {}, each.name.text, false));
  return Status::OK();
}

StatusWith<bool> Applier::standsFor(const Node& dynamic, int64_t index, const Element& item) const {
  TROUPE_TRY(step());
  if (dynamic.name == "$") return input_.matchedIndex == index;
  if (!item.ok()) return false;
  if (dynamic.name == "$[]") return true;
  return filters_.matches(dynamic.identifier(), item);
}

StatusWith<Nodes> Applier::nodesFor(const Nodes& nodes, int64_t index, const Element& item) const {
  Nodes result;
  for (const Node* node : nodes) {
    TROUPE_TRY(step());
    if (const auto own = node->children.find(Name{{}, index}); own != node->children.end())
      result.push_back(own->get());
    for (auto at = node->children.lower_bound(Name{"$"}); at != node->children.end() && (*at)->name[0] == '$'; ++at) {
      if (!(*at)->isDynamic()) continue;
      TROUPE_ASSIGN(const bool applies, standsFor(**at, index, item));
      if (applies) result.push_back(at->get());
    }
  }
  return result;
}

/// Called before anything is written: an array takes no field whose name is not a number. An operator that creates
/// nothing ($unset, $pull ...) ignores such a name, unless it is $pop.
Status Applier::checkArrayNames(const Nodes& nodes, const Element& self) const {
  for (const Node* node : nodes) {
    TROUPE_TRY(step(node->children.size()));
    for (const auto& child : node->children) {
      if (child->name == "$" && input_.matchedIndex < 0) return notFound();
      if (child->index < 0 && !child->isDynamic() && child->needsPath(input_))
        return {ErrorCode::kPathNotViable,
                "Cannot create field '" + child->name + "' in element {" + describeElement(self) + "}"};
    }
  }
  return Status::OK();
}

Status Applier::array(const Nodes& nodes, const Element& self) {
  TROUPE_TRY(checkArrayNames(nodes, self));
  int64_t index = 0;
  {
    Run untouched(out_);
    for (const auto& item : self.asArray()) {
      TROUPE_ASSIGN(const Nodes here, nodesFor(nodes, index++, item));
      if (here.empty()) {
        untouched.add(item);
        continue;
      }
      untouched.flush();
      TROUPE_TRY(field(here, item, item.name(), true));
    }
  }
  return elementsBeyond(nodes, index);
}

/// Indexes past the end: null in between, then the new element.
Status Applier::elementsBeyond(const Nodes& nodes, int64_t size) {
  std::vector<int64_t> indexes;
  for (const Node* node : nodes) {
    for (const auto& child : node->children) {
      const int64_t index = child->name == "$" ? input_.matchedIndex : child->index;
      if (index >= size && child->creates(input_)) indexes.push_back(index);
    }
  }
  std::sort(indexes.begin(), indexes.end());
  indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
  for (const int64_t index : indexes) {
    // Bounded, because one short path would otherwise make a document of any size.
    if (index - size > kMaxPadding)
      return {ErrorCode::kCannotBackfillArray, "can't backfill more than " + std::to_string(kMaxPadding) + " elements"};
    for (; size < index; ++size) out_.append(std::to_string(size), bson::Null{});
    TROUPE_ASSIGN(const Nodes here, nodesFor(nodes, index, {}));
    TROUPE_TRY(field(here, {}, std::to_string(index), true));
    size = index + 1;
  }
  return Status::OK();
}

Status Applier::leaf(const Node& node, const Element& e, std::string_view name, bool inArray) {
  TROUPE_ASSIGN(const auto outcome, node.op->apply(e, input_));
  switch (outcome.kind) {
    case UpdateOutcome::Kind::kKeep: out_.append(name, e); break;
    case UpdateOutcome::Kind::kSet:
      TROUPE_TRY(checkUpdatedSize(out_.size() + outcome.value.element().valueSize()));
      out_.append(name, outcome.value.element());
      changed_ = true;
      break;
    case UpdateOutcome::Kind::kRemove:
      // $unset of an element leaves null, so that the other elements keep their positions. Where null stood already,
      // nothing has changed.
      if (inArray) out_.append(name, bson::Null{});
      changed_ = changed_ || !inArray || !e.is(Type::kNull);
      break;
  }
  return Status::OK();
}

Status Applier::field(const Nodes& nodes, const Element& e, std::string_view name, bool inArray) {
  for (const Node* node : nodes) {
    if (!node->op) continue;
    if (nodes.size() == 1) return leaf(*node, e, name, inArray);
    // `a.$[]` and `a.0` met in one element. Which paths meet is known only here: filters look at the elements.
    return {ErrorCode::kConflictingUpdateOperators, "Update created a conflict at '" + node->op->path() + "'"};
  }
  if (!e.ok()) {
    if (!creates(nodes)) return Status::OK();
    // A path through a missing field creates documents, never arrays: {$set: {"a.0": 1}} makes {a: {"0": 1}}.
    out_.openDocument(name);
    TROUPE_TRY(object(nodes, {}, {}));
    out_.close();
    changed_ = true;
    return Status::OK();
  }
  if (e.is(Type::kDocument)) {
    out_.openDocument(name);
    TROUPE_TRY(object(nodes, e.asDocument(), e));
    out_.close();
    return Status::OK();
  }
  if (e.is(Type::kArray)) {
    out_.openArray(name);
    TROUPE_TRY(array(nodes, e));
    out_.close();
    return Status::OK();
  }
  return scalar(nodes, e, name);
}

Status Applier::scalar(const Nodes& nodes, const Element& e, std::string_view name) {
  for (const Node* node : nodes) {
    TROUPE_TRY(step(node->children.size()));
    for (const auto& child : node->children) {
      if (child->isDynamic() && child->name != "$")
        return {ErrorCode::kBadValue, "Cannot apply array updates to non-array element " + describeElement(e)};
      if (!child->needsPath(input_)) continue;
      const std::string name = child->name == "$" ? std::to_string(input_.matchedIndex) : child->name;
      return {ErrorCode::kPathNotViable, "Cannot create field '" + name + "' in element {" + describeElement(e) + "}"};
    }
  }
  out_.append(name, e);
  return Status::OK();
}

}  // namespace

bool Name::operator<(const Name& other) const {
  if (index >= 0 || other.index >= 0) return index >= 0 && (other.index < 0 || index < other.index);
  return text < other.text;
}

bool Node::creates(const UpdateInput& input) const {
  if (op) return op->creates(input);
  return std::any_of(children.begin(), children.end(), [&](const auto& child) { return child->creates(input); });
}

bool Node::needsPath(const UpdateInput& input) const {
  if (op) return op->needsPath(input);
  return std::any_of(children.begin(), children.end(), [&](const auto& child) { return child->needsPath(input); });
}

std::string Node::arrayPath() const {
  const Node* node = this;
  while (!node->op) {
    invariant(!node->children.empty(), "every branch of an update tree ends in an operator");
    node = node->children.begin()->get();
  }
  return node->op->path().substr(0, node->op->path().find(".$["));
}

Status UpdateTree::checkPath(const FieldPath& parts, const ArrayFilters& filters, bool removesOnly) {
  const std::string& path = parts.text();
  if (path.empty()) return {ErrorCode::kEmptyFieldName, "An empty update path is not valid."};
  TROUPE_TRY(checkDepth(parts));
  if (path.find('\0') != std::string::npos) return {ErrorCode::kBadValue, "An update path may not contain '\\0'"};
  int positional = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (part.empty())
      return {ErrorCode::kEmptyFieldName,
              "The update path '" + path + "' contains an empty field name, which is not allowed."};
    if (!part.starts_with('$')) continue;
    if (!isPositional(part)) {
      if (i > 0 || removesOnly) continue;  // below the top, fields may have such names
      return {ErrorCode::kDollarPrefixedFieldName,
              "The dollar ($) prefixed field '" + std::string(part) + "' in '" + path +
                  "' is not allowed in the context of an update's replacement document. "
                  "Consider using an aggregation pipeline with $replaceWith."};
    }
    if (i == 0)
      return {ErrorCode::kBadValue,
              "Cannot have positional (i.e. '$') element in the first position in path '" + path + "'"};
    if (part == "$" && ++positional > 1)
      return {ErrorCode::kBadValue, "Too many positional (i.e. '$') elements found in path '" + path + "'"};
    if (part == "$") positional_ = true;
    if (part.size() > 3) {
      const auto identifier = part.substr(2, part.size() - 3);
      if (!filters.has(identifier))
        return {ErrorCode::kBadValue,
                "No array filter found for identifier '" + std::string(identifier) + "' in path '" + path + "'"};
      identifiers_.emplace(identifier);
    }
  }
  return Status::OK();
}

Node* UpdateTree::childOf(Node& node, Name name) {
  if (const auto known = node.children.find(name); known != node.children.end()) return known->get();
  auto fresh = std::make_unique<Node>();
  fresh->name = name.text;
  fresh->index = name.index;
  bytes_ += static_cast<int64_t>(sizeof(Node) + name.text.size() + 64);
  return node.children.insert(std::move(fresh)).first->get();
}

Status UpdateTree::add(UpdateOperatorPtr op, const ArrayFilters& filters) {
  const FieldPath parts(op->path());
  const std::string& path = parts.text();
  if (work_) TROUPE_TRY(work_->step(stepsFor(path.size())));
  TROUPE_TRY(checkPath(parts, filters, op->removesOnly()));
  const auto conflict = [&](std::string_view at) -> Status {
    return {ErrorCode::kConflictingUpdateOperators,
            "Updating the path '" + path + "' would create a conflict at '" + std::string(at) + "'"};
  };
  depth_ = std::max(depth_, static_cast<int>(parts.size()) + op->depth());
  Node* node = &root_;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (node->op) return conflict(parts.head(i));  // another operator writes the whole field of which this is a part
    node = childOf(*node, {parts[i], parts.index(i)});
  }
  if (node->op || !node->children.empty()) return conflict(path);
  node->op = std::move(op);
  paths_.push_back(path);
  bytes_ += static_cast<int64_t>(2 * path.size()) + kOperatorBytes;
  return held_.set(bytes_);
}

Status UpdateTree::apply(const UpdateInput& input, const ArrayFilters& filters, bson::Builder& out,
                         bool* changed) const {
  Applier applier(input, filters, work_, out);
  TROUPE_TRY(applier.object({&root_}, input.document, {}));
  *changed = applier.changed();
  return Status::OK();
}

}  // namespace troupe::query
