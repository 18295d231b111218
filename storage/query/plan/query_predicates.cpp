#include "storage/query/plan/query_predicates.hpp"

#include <algorithm>

namespace troupe::query {

namespace {

/// "a.0.b": within an array also the name of one element, which an $elemMatch must not be confused with.
bool hasIndexComponent(const FieldPath& path) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (path.index(i) >= 0) return true;
  }
  return false;
}

class Collector {
 public:
  explicit Collector(std::vector<QueryPredicate>& out) : out_(out) {}

  void add(const MatchExpression& node, const MatchExpression& conjunct, const std::string& prefix) {
    switch (node.kind()) {
      case MatchKind::kAnd:
        for (const auto& child : node.children()) add(*child, conjunct, prefix);
        return;
      case MatchKind::kElemMatchObject: {
        if (hasIndexComponent(node.fieldPath())) return;
        const std::string path = prefix + node.path();
        elements_.emplace_back(&node, 1 + static_cast<size_t>(std::count(path.begin(), path.end(), '.')));
        add(*node.children().front(), conjunct, path + ".");
        elements_.pop_back();
        return;
      }
      case MatchKind::kNot: return leaf(node, *node.children().front(), conjunct, prefix);
      default: return leaf(node, node, conjunct, prefix);
    }
  }

 private:
  void leaf(const MatchExpression& node, const MatchExpression& of, const MatchExpression& conjunct,
            const std::string& prefix) {
    if (of.path().empty() || (!prefix.empty() && hasIndexComponent(of.fieldPath()))) return;
    out_.push_back({prefix + of.path(), &node, &conjunct, elements_});
  }

  std::vector<QueryPredicate>& out_;
  std::vector<std::pair<const MatchExpression*, size_t>> elements_;
};

}  // namespace

bool QueryPredicate::sharesElement(const QueryPredicate& other, size_t array) const {
  return std::any_of(elements.begin(), elements.end(), [&](const auto& mine) {
    return mine.second == array + 1 &&
           std::find(other.elements.begin(), other.elements.end(), mine) != other.elements.end();
  });
}

std::vector<QueryPredicate> predicatesOf(const Conjuncts& conjuncts) {
  std::vector<QueryPredicate> out;
  Collector collector(out);
  for (const MatchExpression* conjunct : conjuncts) collector.add(*conjunct, *conjunct, "");
  return out;
}

}  // namespace troupe::query
