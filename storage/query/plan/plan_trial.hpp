#pragma once
#include <vector>

#include "storage/query/plan/planner.hpp"

namespace troupe::query {

/// Runs each plan a little on the same snapshot and tells which gave most for its work; those that come to their end,
/// or to `wanted` results (0: a first batch), win over others; ties go to plans without SORT, then to covered ones,
/// then to the first. The plans are used up. Errors: those of the best plan when all fail.
StatusWith<size_t> mostProductive(PlanContext& plan, std::vector<PlannedAccess>& entrants, int64_t wanted);

}  // namespace troupe::query
