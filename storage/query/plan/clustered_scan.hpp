#pragma once
#include <memory>

#include "storage/query/plan/index_plan.hpp"
#include "storage/query/plan/key_ranges.hpp"
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// CLUSTERED_IXSCAN: the records of a clustered collection whose `_id` is within bounds, in the order of `_id` or the
/// reverse, that pass the filter (CLU-002). The bounds are ranges of the record store's own keys: nothing is fetched.
class ClusteredScan final : public PlanStage {
 public:
  /// `access` is a plan of the collection's cluster key; `filter` is what the bounds leave to be tested.
  ClusteredScan(PlanContext& plan, std::shared_ptr<const IndexPlan> access, Conjuncts filter);
  std::string_view name() const override { return "CLUSTERED_IXSCAN"; }
  FullScan fullScan() const override { return access_->isUnbounded() ? FullScan::kCollection : FullScan::kNone; }
  bool isAscending() const override { return access_->forward; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override;
  Status onRestore() override;
  void describe(bson::Builder& out, bool counters) const override;
  const RowFilter* shownFilter() const override { return &filter_; }

 private:
  StatusWith<bool> move();

  std::shared_ptr<const IndexPlan> access_;
  RowFilter filter_;
  KeyRanges ranges_;
  storage::RecordCursor cursor_;
  std::string target_;  ///< where to seek next, when not empty
  bool open_ = false, done_ = false;
  int64_t documents_ = 0;
};

}  // namespace troupe::query
