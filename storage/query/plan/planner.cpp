#include "storage/query/plan/planner.hpp"

#include "storage/query/plan/collection_scan.hpp"
#include "storage/query/plan/id_lookup.hpp"
#include "storage/query/plan/sort_stage.hpp"

namespace troupe::query {

/// Puts a SORT on top when the query wants an order.
PlannedAccess Planner::sorted(PlanStagePtr root) {
  PlannedAccess access;
  if (!plan_.sort) {
    access.root = std::move(root);
    return access;
  }
  SorterOptions options;
  if (request_.limit && *request_.limit > 0) options.limit = static_cast<uint64_t>(*request_.limit + request_.skip);
  options.memoryBytes = plan_.parse.limits.sortMemoryBytes;
  if (request_.allowDiskUse) options.spill = request_.spill;
  access.limited = options.limit > 0;
  access.sorts = true;
  access.root = std::make_unique<SortRows>(plan_, std::move(root), std::move(options));
  return access;
}

StatusWith<PlannedAccess> Planner::collectionScan(bool forward) {
  if (request_.forbidCollectionScan) {
    return {ErrorCode::kNoQueryExecutionPlans, "error processing query: ns=" + plan_.collection->ns().toString() + ": No query solutions"};
  }
  return sorted(std::make_unique<CollectionScan>(plan_, plan_.filter, forward));
}

/// `$natural` of the hint or the sort.
bson::Element Planner::naturalOrder() const {
  if (request_.hint.is(bson::Type::kDocument)) {
    if (const auto e = request_.hint.asDocument()["$natural"]; e) return e;
  }
  return request_.sort["$natural"];
}

StatusWith<PlannedChoice> Planner::choose() {
  PlannedChoice choice;
  const bson::Element natural = naturalOrder();
  TROUPE_ASSIGN(choice.winner, collectionScan(!natural || natural.toInt64() >= 0));
  return choice;
}

}  // namespace troupe::query
