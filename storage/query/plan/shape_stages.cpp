#include "storage/query/plan/shape_stages.hpp"

#include <algorithm>

#include "storage/keys/key_string.hpp"

namespace troupe::query {

namespace {

/// Only whole top-level fields are kept or dropped.
bool isSimple(bson::View spec) {
  return std::all_of(spec.begin(), spec.end(), [](const bson::Element& e) {
    return (e.isNumber() || e.is(bson::Type::kBool)) && e.name().find_first_of(".$") == std::string_view::npos;
  });
}

}  // namespace

ProjectRows::ProjectRows(PlanContext& plan, PlanStagePtr input, bson::View spec)
    : PlanStage(plan, std::move(input)), spec_(spec), simple_(isSimple(spec)) {}

StatusWith<PlanStage::Step> ProjectRows::advance(Row& row) {
  TROUPE_ASSIGN(const Step step, input().work(row));
  if (step != Step::kRow) return step;
  ProjectionInput in{.document = row.document, .recordId = &row.id};
  bson::Document sortKey;
  if (plan_.projection->needsSortKey() && plan_.sort) {
    TROUPE_ASSIGN(const bson::Document values, plan_.sort->keyValues(row.document, {.recordId = &row.id}));
    bson::Builder array;
    for (const bson::Element& value : values.view()) array.push(value);
    sortKey = array.finish();
    in.sortKey = sortKey;
  }
  TROUPE_ASSIGN(current_, plan_.projection->apply(in));
  TROUPE_TRY(memory_.set(static_cast<int64_t>(current_.bytes().size())));
  row.document = current_;
  return step;
}

StatusWith<PlanStage::Step> ShowRecordId::advance(Row& row) {
  TROUPE_ASSIGN(const Step step, input().work(row));
  if (step != Step::kRow) return step;
  bson::Builder out;
  out.reserve(row.document.size() + 24);
  out.appendAll(row.document).append("$recordId", row.id.toValue());
  current_ = out.finish();
  row.document = current_;
  return step;
}

StatusWith<PlanStage::Step> ReturnKey::advance(Row& row) {
  TROUPE_ASSIGN(const Step step, input().work(row));
  if (step != Step::kRow) return step;
  current_ = {};
  if (row.key.index) {
    TROUPE_ASSIGN(current_,
                  storage::key_string::decodeWithNames(row.key.key, row.key.typeBits, row.key.index->spec.key));
  }
  row.document = current_;
  return step;
}

}  // namespace troupe::query
