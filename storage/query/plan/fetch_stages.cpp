#include "storage/query/plan/fetch_stages.hpp"

#include <algorithm>
#include <utility>

#include "storage/keys/key_string.hpp"

namespace troupe::query {

StatusWith<PlanStage::Step> FetchRows::advance(Row& row) {
  for (;; ++works_) {
    TROUPE_ASSIGN(const Step step, input().work(row));
    if (step != Step::kRow) return step;
    if (plan_.testsWholeFilter && !std::exchange(whole_, true)) filter_ = RowFilter(plan_.filter);
    if (!open_) {
      TROUPE_ASSIGN(cursor_, plan_.records().cursor(*plan_.unit));
      open_ = true;
    }
    TROUPE_ASSIGN(const bool found, cursor_.seekExact(row.id));
    if (!found) continue;
    ++documents_;
    ++plan_.stats.docsExamined;
    row.document = cursor_.document();
    TROUPE_ASSIGN(const bool passes, filter_.passes(row.document, plan_.parse.work));
    if (passes) return step;
  }
}

void FetchRows::onSave() {
  cursor_ = {};
  open_ = false;
}

void FetchRows::describe(bson::Builder& out, bool counters) const {
  if (counters) out.append("docsExamined", documents_).append("alreadyHasObj", int64_t{0});
}

StatusWith<bool> CoveredRows::fromKey(const Row& row) {
  const auto& wanted = plan_.projection->requiredPaths();
  TROUPE_ASSIGN(const bson::Document values,
                storage::key_string::decodeWithNames(row.key.key, row.key.typeBits, index_->spec.key));
  bson::Builder out;
  for (const bson::Element& value : values.view()) {
    if (std::find(wanted.begin(), wanted.end(), value.name()) == wanted.end()) continue;
    if (value.isNullish()) return false;
    out.append(value);
  }
  current_ = out.finish();
  return true;
}

StatusWith<bool> CoveredRows::fromDocument(const Row& row) {
  ++plan_.stats.docsExamined;
  Status projected;
  TROUPE_ASSIGN(const bool found, plan_.records().find(*plan_.unit, row.id, [&](bson::View document) {
    auto result = plan_.projection->apply({.document = document, .recordId = &row.id});
    if (result.isOK()) current_ = std::move(*result);
    else projected = result.status();
  }));
  TROUPE_TRY(projected);
  return found;
}

StatusWith<PlanStage::Step> CoveredRows::advance(Row& row) {
  for (;; ++works_) {
    TROUPE_ASSIGN(const Step step, input().work(row));
    if (step != Step::kRow) return step;
    TROUPE_ASSIGN(bool made, fromKey(row));
    if (!made) {
      TROUPE_ASSIGN(made, fromDocument(row));
    }
    if (!made) continue;
    TROUPE_TRY(memory_.set(static_cast<int64_t>(current_.bytes().size())));
    row.document = current_;
    return step;
  }
}

Status CoveredRows::onRestore() {
  // Keys of a multikey index are no longer whole values.
  if (!index_->multikey()) return Status::OK();
  return {ErrorCode::kQueryPlanKilled, "index '" + index_->spec.name + "' became multikey"};
}

StatusWith<PlanStage::Step> UnionRows::advance(Row& row) {
  for (; at_ < inputs_.size(); ++works_) {
    TROUPE_ASSIGN(const Step step, inputs_[at_]->work(row));
    if (step == Step::kAgain) return step;
    if (step == Step::kEnd) {
      inputs_[at_]->save();  // gives up its cursor: an ended branch is not asked again
      ++at_;
      continue;
    }
    const bool isNew = seen_.insert(row.id);
    TROUPE_TRY(memory_.set(seen_.bytes()));
    if (isNew) return step;
    ++repeats_;
  }
  return Step::kEnd;
}

/// Only the branch at hand: there may be a hundred thousand others, which are not open yet, or have ended.
std::span<const PlanStagePtr> UnionRows::held() const {
  return std::span<const PlanStagePtr>(inputs_).subspan(at_, at_ < inputs_.size() ? 1 : 0);
}

void UnionRows::describe(bson::Builder& out, bool counters) const {
  if (counters) out.append("dupsTested", static_cast<int64_t>(seen_.size()) + repeats_).append("dupsDropped", repeats_);
}

}  // namespace troupe::query
