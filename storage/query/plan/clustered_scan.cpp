#include "storage/query/plan/clustered_scan.hpp"

#include "storage/query/plan/index_scan.hpp"

namespace troupe::query {

namespace {

/// Conditions that an index would test on its keys are tested on the document here, like the others.
Conjuncts allConditions(const IndexPlan& access, Conjuncts filter) {
  filter.insert(filter.begin(), access.keyFilter.begin(), access.keyFilter.end());
  return filter;
}

}  // namespace

ClusteredScan::ClusteredScan(PlanContext& plan, std::shared_ptr<const IndexPlan> access, Conjuncts filter)
    : PlanStage(plan),
      access_(std::move(access)),
      filter_(allConditions(*access_, std::move(filter))),
      ranges_(rangesOf(*access_, plan.parse.work)) {}

StatusWith<bool> ClusteredScan::move() {
  if (target_.empty()) return cursor_.next();
  // No key equals a target; which side of it is meant is clear from the direction.
  auto found = cursor_.seekBytes(target_);
  target_.clear();
  return found;
}

StatusWith<PlanStage::Step> ClusteredScan::advance(Row& row) {
  TROUPE_TRY(ranges_.interrupt());
  if (done_ || ranges_.empty()) return Step::kEnd;
  if (!open_) {
    TROUPE_ASSIGN(cursor_, plan_.records().cursor(*plan_.unit, access_->forward));
    target_ = ranges_.start();
    open_ = true;
  }
  for (; plan_.spend(); ++works_) {
    TROUPE_ASSIGN(const bool found, move());
    const auto verdict = found ? ranges_.check(cursor_.id().bytes(), target_) : KeyRanges::Verdict::kEnd;
    if (verdict == KeyRanges::Verdict::kEnd) {
      done_ = true;
      return Step::kEnd;  // the record behind the bounds does not count as examined
    }
    ++documents_;
    ++plan_.stats.docsExamined;
    if (verdict == KeyRanges::Verdict::kSeek) continue;
    row.document = cursor_.document();
    TROUPE_ASSIGN(const bool passes, filter_.passes(row.document, plan_.parse.work));
    if (!passes) continue;
    row.id = cursor_.id();
    row.key = {};
    return Step::kRow;
  }
  return Step::kAgain;
}

void ClusteredScan::onSave() {
  if (!open_) return;
  if (done_) cursor_ = {};  // the session goes back to its pool: not even an idle cursor may stay behind
  else cursor_.save();
}

Status ClusteredScan::onRestore() {
  if (!open_ || done_) return Status::OK();
  return cursor_.restore(*plan_.unit).status();
}

void ClusteredScan::describe(bson::Builder& out, bool counters) const {
  out.append("direction", access_->forward ? "forward" : "backward");
  if (!access_->keyRange && !access_->bounds.empty() && !access_->bounds.front().empty()) {
    const Intervals& bounds = access_->bounds.front();
    if (!bounds.front().low.element().is(bson::Type::kMinKey)) out.append("minRecord", bounds.front().low);
    if (!bounds.back().high.element().is(bson::Type::kMaxKey)) out.append("maxRecord", bounds.back().high);
    access_->explainBounds(out, plan_.parse.work);
  }
  if (counters) out.append("docsExamined", documents_);
}

}  // namespace troupe::query
