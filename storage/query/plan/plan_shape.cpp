#include "storage/query/plan/plan_shape.hpp"

#include "storage/query/plan/index_matcher.hpp"
#include "storage/query/shape/query_shape.hpp"

namespace troupe::query {

StatusWith<std::string> planShapeOf(const PlanContext& plan) {
  const bson::Document sort = plan.sort ? plan.sort->toBson() : bson::Document();
  return planShape({.filter = plan.filter, .sort = sort, .projection = plan.projectionSpec}, plan.parse);
}

StatusWith<std::string> planCacheKey(const PlanContext& plan, std::string shape) {
  if (!plan.collection) return shape;
  PlannedIndexes indexes(plan.collection->accessPaths(), plan.parse.work);
  TROUPE_ASSIGN(const IndexQuery query, IndexQuery::of(plan.filter, indexes, plan.parse));
  for (const storage::IndexPtr& index : plan.collection->accessPaths()) {
    if (!index->usable()) continue;
    TROUPE_ASSIGN(const bool holdsAll, holdsAllMatches(*index, query));
    shape += holdsAll ? '1' : '0';
    shape += index->spec.name;
    shape += '|';
  }
  return shape;
}

StatusWith<IndexFilterPtr> indexFilterOf(const PlanContext& plan) {
  const IndexFilters* const filters = plan.parse.indexFilters;
  if (!filters || !filters->hasAny(*plan.collection)) return IndexFilterPtr();
  TROUPE_ASSIGN(const std::string shape, planShapeOf(plan));
  return filters->find(*plan.collection, shape);
}

}  // namespace troupe::query
