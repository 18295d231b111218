#pragma once
#include <string>

#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// The plan shape of a query whose filter, sort and projection have been parsed. Errors: of an interrupt.
StatusWith<std::string> planShapeOf(const PlanContext& plan);

/// The shape together with what its constants mean for the indexes there are: which of them hold all that the query can
/// match. Queries of one key have the same plans to choose from. Errors: of an interrupt.
StatusWith<std::string> planCacheKey(const PlanContext& plan, std::string shape);

/// The index filter of the query's shape; null when there is none. Errors: of an interrupt.
StatusWith<IndexFilterPtr> indexFilterOf(const PlanContext& plan);

}  // namespace troupe::query
