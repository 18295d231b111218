#pragma once
#include <memory>

#include "storage/query/plan/index_plan.hpp"
#include "storage/query/plan/key_ranges.hpp"
#include "storage/query/plan/plan_stage.hpp"
#include "storage/records/record_id_set.hpp"

namespace troupe::query {

/// IXSCAN: the records whose keys are within bounds, in the order of the index, each once. Rows have no document yet.
/// COUNT_SCAN when nobody looks at the rows.
class IndexScan : public PlanStage {
 public:
  IndexScan(PlanContext& plan, std::shared_ptr<const IndexPlan> access, bool countOnly = false);
  std::string_view name() const override { return countOnly_ ? "COUNT_SCAN" : "IXSCAN"; }
  FullScan fullScan() const override { return access_->isUnbounded() ? FullScan::kIndex : FullScan::kNone; }
  void summarize(std::string& out) const override;
  /// The next row is one that differs from the last in its first component.
  void skipFirstComponent(std::string_view key);

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override;
  Status onRestore() override;
  void describe(bson::Builder& out, bool counters) const override;
  const RowFilter* shownFilter() const override { return &filter_; }

 private:
  Status open();
  /// Whether the index is there, and what its keys tell now. Errors: QueryPlanKilled.
  Status checkIndex();
  /// Moves to the next key; false at the end.
  StatusWith<bool> move();
  StatusWith<bool> passes();
  /// Whether this is the record's first key. Errors: ExceededMemoryLimit.
  StatusWith<bool> isFresh(const storage::RecordId& id);

  std::shared_ptr<const IndexPlan> access_;
  const storage::IndexEntry* index_;
  bool countOnly_;
  RowFilter filter_;
  KeyRanges ranges_;
  storage::IndexCursor cursor_;
  std::string target_;  ///< where to seek next, when not empty
  storage::RecordIdSet seen_;
  HeldMemory memory_{plan_.parse.work};  ///< of `seen_`
  bool removesRepeats_ = false;
  bool open_ = false, done_ = false;
  int64_t keys_ = 0, seeks_ = 0, repeats_ = 0;
};

/// The ranges an access plan reads.
KeyRanges rangesOf(const IndexPlan& access, QueryWork* work);

}  // namespace troupe::query
