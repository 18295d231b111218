#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/plan/plan_stage.hpp"
#include "storage/query/plan/planned_indexes.hpp"

namespace troupe::query {

/// A condition on one path, out of the conjunction that a filter is. Borrowed from the filter.
struct QueryPredicate {
  std::string path;
  const MatchExpression* node = nullptr;
  /// The object $elemMatches around it: each with how many components its path has from the root.
  std::vector<std::pair<const MatchExpression*, size_t>> elements;
  size_t number = 0;  ///< among those of the query

  /// Whether one and the same element of the array at component `array` of the path must satisfy both.
  bool sharesElement(const QueryPredicate& other, size_t array) const;
};

/// The conditions of a conjunction that bounds may come from, by path.
class QueryPredicates {
 public:
  /// So many of one path are offered to indexes: bounds of more narrow a scan little, and each is compared with those
  /// used before it. The others are tested like any condition without an index.
  static constexpr size_t kMostOfOnePath = 64;

  QueryPredicates() = default;
  /// Those on paths that indexes are on. Errors: of an interrupt.
  static StatusWith<QueryPredicates> of(const Conjuncts& conjuncts, const PlannedIndexes& indexes, QueryWork* work);

  std::span<const QueryPredicate> on(std::string_view path) const;

 private:
  class Collector;
  const PlannedIndexes* indexes_ = nullptr;
  std::vector<std::vector<QueryPredicate>> byPath_;
};

}  // namespace troupe::query
