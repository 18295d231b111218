#pragma once
#include <string>
#include <utility>
#include <vector>

#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// A condition on one path, out of the conjunction that a filter is. Borrowed from the filter.
struct QueryPredicate {
  std::string path;
  const MatchExpression* node = nullptr;
  /// The condition of the filter it is in: itself, or an object $elemMatch around it.
  const MatchExpression* conjunct = nullptr;
  /// The object $elemMatches around it: each with how many components its path has from the root.
  std::vector<std::pair<const MatchExpression*, size_t>> elements;

  /// Whether it is a condition of the filter itself.
  bool isConjunct() const { return node == conjunct; }
  /// Whether one and the same element of the array at component `array` of the path must satisfy both.
  bool sharesElement(const QueryPredicate& other, size_t array) const;
};

/// The conditions of a conjunction that bounds may come from.
std::vector<QueryPredicate> predicatesOf(const Conjuncts& conjuncts);

}  // namespace troupe::query
