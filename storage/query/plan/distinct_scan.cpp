// DISTINCT_SCAN: the values of an index's first field, one key each.
#include "messaging/bson/collation.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/query/plan/executor.hpp"
#include "storage/query/plan/index_matcher.hpp"
#include "storage/query/plan/index_scan.hpp"
#include "storage/query/plan/plan_shape.hpp"

namespace troupe::query {

namespace {

/// Keys looked at before the jump is given up in favour of a scan, which lets others run meanwhile.
constexpr int64_t kMostKeys = 100'000;

/// An index whose keys hold the unchanged values of `field` and whose bounds cover the whole filter.
StatusWith<std::optional<IndexPlan>> planDistinct(const PlanContext& plan, std::string_view field,
                                                  const IndexQuery& query) {
  const storage::Collection& collection = *plan.collection;
  for (const storage::IndexPtr& index : collection.indexes()) {
    if (!index->usable() || index->multikey() || index->access->collator() || query.collator) continue;
    const bool fits = index->spec.fields.front().path == field && index->spec.kind == storage::IndexKind::kOrdered;
    if (!fits || (plan.indexFilter && !plan.indexFilter->allows(collection, *index))) continue;
    TROUPE_ASSIGN(const bool holdsAll, holdsAllMatches(*index, query));
    if (!holdsAll) continue;
    TROUPE_ASSIGN(auto access, planIndex(index, query, true));
    if (access && access->residual.empty()) return access;
  }
  return std::optional<IndexPlan>();
}

class DistinctScan {
 public:
  DistinctScan(PlanContext& plan, const std::shared_ptr<const IndexPlan>& access, std::string_view field)
      : plan_(plan), access_(access), scan_(plan, access), field_(field) {}

  StatusWith<bool> run(const std::function<Status(const bson::Element&)>& add) {
    Row row;
    while (plan_.stats.keysExamined < kMostKeys) {
      plan_.budget = 128;
      if (plan_.parse.work) TROUPE_TRY(plan_.parse.work->step());
      TROUPE_ASSIGN(const auto step, scan_.work(row));
      if (step == PlanStage::Step::kEnd) return true;
      if (step == PlanStage::Step::kAgain) continue;
      TROUPE_ASSIGN(const bool shown, show(row, add));
      if (shown) scan_.skipFirstComponent(row.key.key);
    }
    return false;
  }

 private:
  /// False when the key's null stands for a missing field, which is no value.
  StatusWith<bool> show(const Row& row, const std::function<Status(const bson::Element&)>& add) {
    TROUPE_ASSIGN(const bson::Document values,
                  storage::key_string::decodeWithNames(row.key.key, row.key.typeBits, access_->index->spec.key));
    const bson::Element value = values.view().first();
    if (!value.isNullish()) {
      TROUPE_TRY(add(value));
      return true;
    }
    bool there = false;
    size_t bytes = 0;
    Status added;
    TROUPE_TRY(plan_.records()
                   .find(*plan_.unit, row.id,
                         [&](bson::View document) {
                           bytes = document.size();
                           const bson::Element e = document.at(field_);
                           there = e.ok();
                           if (there) added = add(e);
                         })
                   .status());
    TROUPE_TRY(added);
    if (plan_.parse.work) TROUPE_TRY(plan_.parse.work->step(stepsFor(bytes)));
    return there;
  }

  PlanContext& plan_;
  const std::shared_ptr<const IndexPlan>& access_;
  IndexScan scan_;
  std::string_view field_;
};

}  // namespace

StatusWith<bool> distinctScan(const storage::Collection& collection, std::string_view field,
                              const MatchExpression& filter, storage::RecoveryUnit& unit, const ParseContext& context,
                              const std::function<Status(const bson::Element&)>& add) {
  PlannedIndexes indexes(collection.indexes(), context.work);
  TROUPE_ASSIGN(const IndexQuery query, IndexQuery::of(&filter, indexes, context));
  PlanContext plan;
  plan.collection = storage::CollectionPtr(storage::CollectionPtr(), &collection);  // borrowed for this call
  plan.unit = &unit;
  plan.parse = context;
  plan.filter = &filter;
  TROUPE_ASSIGN(plan.indexFilter, indexFilterOf(plan));
  TROUPE_ASSIGN(auto planned, planDistinct(plan, field, query));
  if (!planned) return false;
  const auto access = std::make_shared<const IndexPlan>(std::move(*planned));
  return DistinctScan(plan, access, field).run(add);
}

}  // namespace troupe::query
