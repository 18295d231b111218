#pragma once
#include <optional>
#include <vector>

#include "storage/query/plan/index_plan.hpp"
#include "storage/query/plan/predicate_bounds.hpp"
#include "storage/query/plan/query_predicates.hpp"

namespace troupe::query {

/// The parts of a query that decide which indexes serve it. Borrowed.
struct IndexQuery {
  Conjuncts conjuncts;
  QueryPredicates predicates;
  PlannedIndexes* indexes = nullptr;
  const SortPattern* sort = nullptr;  ///< null: any order will do
  const bson::Collator* collator = nullptr;
  QueryWork* work = nullptr;  ///< null: no operation

  /// Takes what it needs of the filter, which may be large. Errors: of an interrupt.
  static StatusWith<IndexQuery> of(const MatchExpression* filter, PlannedIndexes& indexes, const ParseContext& context);
  Status step(int64_t steps = 1) const { return work ? work->step(steps) : Status::OK(); }
};

/// How the index can serve the query; nothing when it cannot, or would be no better than a scan of the collection. With
/// `forced` (a hint) any index serves, if need be by all of its keys. Errors: ExceededMemoryLimit, of an interrupt.
StatusWith<std::optional<IndexPlan>> planIndex(const storage::IndexPtr& index, const IndexQuery& query, bool forced);

/// Whether the index may be read at all for these conditions: not when it lacks documents that satisfy them (partial,
/// sparse). Errors: of an interrupt.
StatusWith<bool> holdsAllMatches(const storage::IndexEntry& index, const IndexQuery& query);

}  // namespace troupe::query
