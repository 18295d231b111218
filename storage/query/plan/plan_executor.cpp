#include "storage/query/plan/plan_executor.hpp"

#include "storage/catalog/catalog_view.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/query/plan/id_lookup.hpp"
#include "storage/query/plan/plan_shape.hpp"
#include "storage/query/shape/query_shape.hpp"

namespace troupe::query {

namespace {

/// Rows examined without a result before `next` gives others their turn.
constexpr int kSliceRows = 128;

}  // namespace

PlanExecutor::PlanExecutor(storage::CollectionPtr collection, storage::RecoveryUnit& unit, const ParseContext& parse)
    : opened_(std::chrono::steady_clock::now()) {
  plan_.collection = std::move(collection);
  plan_.unit = &unit;
  plan_.parse = parse;
}

void PlanExecutor::setRoot(PlanStagePtr root) {
  root_ = std::move(root);
  plan_.stats.planSummary.clear();
  root_->summarize(plan_.stats.planSummary);
  plan_.stats.fullScan = root_->fullScan();
  plan_.stats.ascending = root_->isAscending();
}

StatusWith<Next> PlanExecutor::next() {
  row_ = {};
  if (plan_.timeIsUp()) return endSlice();  // over results, too: who pulls may take longer for each than the plan
  plan_.budget = kSliceRows;
  TROUPE_ASSIGN(const auto step, root_->work(row_));
  switch (step) {
    case PlanStage::Step::kRow: ++plan_.stats.returned; return Next::of(row_.document);
    case PlanStage::Step::kAgain: return endSlice();
    case PlanStage::Step::kEnd: break;
  }
  return Next::end();
}

Next PlanExecutor::endSlice() {
  plan_.sliceEnd.reset();
  return Next::yield();
}

StatusWith<bson::Document> PlanExecutor::indexKey() const {
  const IndexRow& key = row_.key;
  if (!key.index) return bson::Document();
  return storage::key_string::decodeWithNames(key.key, key.typeBits, key.index->spec.key);
}

StatusWith<int64_t> PlanExecutor::matchedArrayIndex() const {
  MatchDetails details;
  details.work = plan_.parse.work;
  if (plan_.filter && row_.id.ok()) plan_.filter->matches(row_.document, &details);
  TROUPE_TRY(details.error);
  return details.arrayIndex;
}

void PlanExecutor::save() { root_->save(); }

Status PlanExecutor::restore(storage::RecoveryUnit& unit, storage::Catalog& catalog) {
  plan_.unit = &unit;
  plan_.sliceEnd.reset();
  if (!plan_.collection) return Status::OK();
  const storage::Collection& used = *plan_.collection;
  TROUPE_ASSIGN(storage::CatalogView* const view, storage::CatalogView::open(catalog, unit));
  TROUPE_ASSIGN(auto current, view->find(used.uuid()));
  if (!current) return {ErrorCode::kQueryPlanKilled, "collection dropped. UUID " + used.uuid().toString()};
  if (current->ns() != used.ns())
    return {ErrorCode::kQueryPlanKilled, "collection renamed from '" + used.ns().toString() + "' to '" +
                                             current->ns().toString() + "'. UUID " + used.uuid().toString()};
  ++plan_.restores;
  const auto before = std::exchange(plan_.collection, std::move(current));  // stages look at it until they are restored
  return root_->restore();
}

/// The filter in normal form; a lookup by `_id` that was not even parsed shows its own.
bson::Document PlanExecutor::parsedQuery() const {
  if (plan_.filter) return plan_.filter->toBson();
  const auto* lookup = dynamic_cast<const IdLookup*>(root_.get());
  return lookup ? bson::doc("_id", bson::doc("$eq", lookup->id())) : bson::Document();
}

/// Nothing where the operation is interrupted: it ends at its next step.
void PlanExecutor::explainShape(bson::Builder& out) const {
  const auto shape = plan_.filter ? planShapeOf(plan_) : shapeOfLookup();
  if (!shape.isOK()) return;
  const std::string shapeHash = shortHash(*shape);
  out.append("queryHash", shapeHash).append("planCacheShapeHash", shapeHash);
  const auto key = plan_.filter ? planCacheKey(plan_, *shape) : shape;
  if (key.isOK()) out.append("planCacheKey", shortHash(*key));
}

/// Of a lookup by `_id` whose filter was not even parsed.
StatusWith<std::string> PlanExecutor::shapeOfLookup() const {
  const MatchExpression byId(MatchKind::kEq, "_id");
  return planShape({.filter = &byId}, plan_.parse);
}

void PlanExecutor::explainPlanner(bson::Builder& out) const {
  out.append("namespace", plan_.collection ? plan_.collection->ns().toString() : std::string());
  out.append("indexFilterSet", plan_.indexFilter != nullptr);
  out.append("parsedQuery", parsedQuery());
  explainShape(out);
  out.append("maxIndexedOrSolutionsReached", false)
      .append("maxIndexedAndSolutionsReached", false)
      .append("maxScansToExplodeReached", false);
  out.openDocument("winningPlan");
  root_->explain(out, false);
  out.close().openArray("rejectedPlans");
  for (const auto& plan : rejected_) {
    out.pushDocument();
    plan->explain(out, false);
    out.close();
  }
  out.close();
}

void PlanExecutor::explainExecution(bson::Builder& out) const {
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - opened_);
  out.append("executionSuccess", true).append("nReturned", static_cast<int32_t>(plan_.stats.returned));
  out.append("executionTimeMillis", static_cast<int32_t>(elapsed.count()));
  out.append("totalKeysExamined", static_cast<int32_t>(plan_.stats.keysExamined));
  out.append("totalDocsExamined", static_cast<int32_t>(plan_.stats.docsExamined));
  out.openDocument("executionStages");
  root_->explain(out, true);
  out.close();
}

}  // namespace troupe::query
