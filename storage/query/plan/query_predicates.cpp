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

}  // namespace

class QueryPredicates::Collector {
 public:
  Collector(QueryPredicates& out, QueryWork* work) : out_(out), work_(work) {}

  Status add(const MatchExpression& node, const std::string& prefix) {
    if (work_) TROUPE_TRY(work_->step());
    switch (node.kind()) {
      case MatchKind::kAnd:
        for (const auto& child : node.children()) TROUPE_TRY(add(*child, prefix));
        return Status::OK();
      case MatchKind::kElemMatchObject: {
        if (hasIndexComponent(node.fieldPath())) return Status::OK();
        const std::string path = prefix + node.path() + ".";
        if (!out_.indexes_->leadThrough(path)) return Status::OK();
        elements_.emplace_back(&node, static_cast<size_t>(std::count(path.begin(), path.end(), '.')));
        TROUPE_TRY(add(*node.children().front(), path));
        elements_.pop_back();
        return Status::OK();
      }
      case MatchKind::kNot: leaf(node, *node.children().front(), prefix); return Status::OK();
      default: leaf(node, node, prefix); return Status::OK();
    }
  }

 private:
  void leaf(const MatchExpression& node, const MatchExpression& of, const std::string& prefix) {
    if (of.path().empty() || (!prefix.empty() && hasIndexComponent(of.fieldPath()))) return;
    std::string path = prefix + of.path();
    const size_t position = out_.indexes_->position(path);
    if (position == PlannedIndexes::kNone) return;
    auto& same = out_.byPath_[position];
    if (same.size() < kMostOfOnePath) return same.push_back({std::move(path), &node, elements_, count_++});
    // A point is worth more than what came before it.
    if (node.kind() != MatchKind::kEq || same.back().node->kind() == MatchKind::kEq) return;
    same.back() = {std::move(path), &node, elements_, same.back().number};
  }

  QueryPredicates& out_;
  QueryWork* work_;
  size_t count_ = 0;
  std::vector<std::pair<const MatchExpression*, size_t>> elements_;
};

bool QueryPredicate::sharesElement(const QueryPredicate& other, size_t array) const {
  return std::any_of(elements.begin(), elements.end(), [&](const auto& mine) {
    return mine.second == array + 1 &&
           std::find(other.elements.begin(), other.elements.end(), mine) != other.elements.end();
  });
}

StatusWith<QueryPredicates> QueryPredicates::of(const Conjuncts& conjuncts, const PlannedIndexes& indexes,
                                                QueryWork* work) {
  QueryPredicates out;
  out.indexes_ = &indexes;
  out.byPath_.resize(indexes.paths());
  Collector collector(out, work);
  for (const MatchExpression* conjunct : conjuncts) TROUPE_TRY(collector.add(*conjunct, ""));
  return out;
}

std::span<const QueryPredicate> QueryPredicates::on(std::string_view path) const {
  const size_t position = indexes_ ? indexes_->position(path) : PlannedIndexes::kNone;
  if (position == PlannedIndexes::kNone) return {};
  return byPath_[position];
}

}  // namespace troupe::query
