#include "storage/query/plan/flow_stages.hpp"

namespace troupe::query {

StatusWith<PlanStage::Step> SkipRows::advance(Row& row) {
  for (;; ++works_) {
    TROUPE_ASSIGN(const Step step, input().work(row));
    if (step != Step::kRow || left_ == 0) return step;
    --left_;
  }
}

StatusWith<PlanStage::Step> LimitRows::advance(Row& row) {
  if (left_ == 0) return Step::kEnd;
  auto step = input().work(row);
  if (step.isOK() && *step == Step::kRow) --left_;
  return step;
}

}  // namespace troupe::query
