#include "storage/query/plan/executor.hpp"

#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/flow_stages.hpp"
#include "storage/query/plan/id_lookup.hpp"
#include "storage/query/plan/plan_executor.hpp"
#include "storage/query/plan/plan_shape.hpp"
#include "storage/query/plan/planner.hpp"
#include "storage/query/plan/shape_stages.hpp"

namespace troupe::query {

namespace {

using bson::Element;
using bson::Type;

/// A request that asks for nothing but documents by a filter.
bool isPlain(const FindRequest& r) {
  return !r.hint.ok() && r.sort.empty() && r.projection.empty() && r.min.empty() && r.max.empty() && r.skip == 0 &&
         !r.returnKey && !r.showRecordId && !r.tailable;
}

std::unique_ptr<PlanExecutor> pointLookup(storage::CollectionPtr collection, const Element& id,
                                          storage::RecoveryUnit& unit, const ParseContext& context) {
  auto executor = std::make_unique<PlanExecutor>(std::move(collection), unit, context);
  executor->setRoot(std::make_unique<IdLookup>(executor->plan(), id));
  return executor;
}

Status checkFlags(const FindRequest& request) {
  const auto hint = request.hint;
  if (hint.ok() && !hint.is(Type::kString) && !hint.is(Type::kDocument)) {
    return {ErrorCode::kFailedToParse, "hint must be either a string or nested object"};
  }
  return Status::OK();
}

/// The stages between the access plan and the result: fetch, sort, skip, limit, projection.
PlanStagePtr shape(PlanContext& plan, PlanStagePtr root, const FindRequest& request, bool covered) {
  if (request.returnKey) return std::make_unique<ReturnKey>(plan, std::move(root));
  if (plan.projection && !covered) root = std::make_unique<ProjectRows>(plan, std::move(root), request.projection);
  if (request.showRecordId) root = std::make_unique<ShowRecordId>(plan, std::move(root));
  return root;
}

Status build(PlanExecutor& executor, const FindRequest& request, const ParseContext& context) {
  PlanContext& plan = executor.plan();
  plan.keepKeys = request.returnKey || request.keepKeys;
  plan.changesResults = request.changesResults;
  TROUPE_TRY(checkFlags(request));
  const bool natural = request.sort.first().name() == "$natural";
  if (!request.sort.empty() && !natural) {
    TROUPE_ASSIGN(auto sort, SortPattern::parse(request.sort, context));
    plan.sort = std::make_unique<SortPattern>(std::move(sort));
  }
  if (!plan.collection) {
    executor.setRoot(std::make_unique<NoRows>(plan));
    return Status::OK();
  }
  TROUPE_ASSIGN(plan.indexFilter, indexFilterOf(plan));
  Planner planner(plan, request);
  TROUPE_ASSIGN(auto chosen, planner.choose());
  const auto finish = [&](PlannedAccess& access) {
    PlanStagePtr root = std::move(access.root);
    if (request.skip > 0) root = std::make_unique<SkipRows>(plan, std::move(root), request.skip);
    root = shape(plan, std::move(root), request, access.covered);
    if (request.limit && *request.limit > 0 && !access.limited)
      root = std::make_unique<LimitRows>(plan, std::move(root), *request.limit);
    return root;
  };
  plan.stats.hasSortStage = chosen.winner.sorts;
  executor.setRoot(finish(chosen.winner));
  // The limit ends a scan that skips no rows; with a filter, or a sort, it may read on to the end.
  if (request.limit && !chosen.winner.sorts && plan.filter && RowFilter(plan.filter).empty())
    plan.stats.fullScan = FullScan::kNone;
  std::vector<PlanStagePtr> rejected;
  for (auto& loser : chosen.rejected) rejected.push_back(finish(loser));
  executor.setRejected(std::move(rejected));
  return Status::OK();
}

}  // namespace

StatusWith<std::unique_ptr<Executor>> openFind(storage::CollectionPtr collection, const FindRequest& request,
                                               storage::RecoveryUnit& unit, const ParseContext& context) {
  const Element first = request.filter.first();
  if (collection && first.name() == "_id" && request.filter.size() == first.size() + 5 && isPlain(request) &&
      isIdLookup(first, *collection, context.collator)) {
    return std::unique_ptr<Executor>(pointLookup(std::move(collection), first, unit, context));
  }
  auto executor = std::make_unique<PlanExecutor>(std::move(collection), unit, context);
  PlanContext& plan = executor->plan();
  TROUPE_ASSIGN(plan.ownedFilter, parseMatch(request.filter, context));
  plan.filter = plan.ownedFilter.get();
  if (!request.projection.empty()) {
    TROUPE_ASSIGN(plan.projection, parseProjection(request.projection, plan.filter, context));
    plan.projectionSpec = bson::Document(request.projection);
  }
  TROUPE_TRY(build(*executor, request, context));
  return std::unique_ptr<Executor>(std::move(executor));
}

StatusWith<std::unique_ptr<Executor>> openScan(storage::CollectionPtr collection, const MatchExpression& filter,
                                               const FindRequest& request, storage::RecoveryUnit& unit,
                                               const ParseContext& context) {
  auto executor = std::make_unique<PlanExecutor>(std::move(collection), unit, context);
  executor->plan().filter = &filter;
  executor->plan().refetch = true;
  TROUPE_TRY(build(*executor, request, context));
  return std::unique_ptr<Executor>(std::move(executor));
}

StatusWith<std::optional<int64_t>> fastCount(const storage::Collection& collection, const MatchExpression& filter,
                                             storage::RecoveryUnit& unit, const ParseContext&) {
  // The counter has no history: a read of an earlier time counts what it sees.
  const bool isOfPresent =
      unit.readSource() != storage::ReadSource::kProvided && unit.readSource() != storage::ReadSource::kMajority;
  if (isOfPresent && RowFilter(&filter).empty()) return std::optional<int64_t>(collection.records().count());
  return std::optional<int64_t>();
}

}  // namespace troupe::query
