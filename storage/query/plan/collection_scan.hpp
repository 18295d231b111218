#pragma once
#include <utility>

#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// COLLSCAN: all records in the order of insertion, or the reverse, that pass the filter.
class CollectionScan final : public PlanStage {
 public:
  /// `tailable`: its end is not final.
  CollectionScan(PlanContext& plan, const MatchExpression* filter, bool forward, bool tailable = false)
      : PlanStage(plan), filter_(filter), forward_(forward), tailable_(tailable) {}
  /// Begins behind a record (FindRequest::behind), instead of with the first one. Before the first row.
  void beginBehind(storage::RecordId record, bool fromNearest) {
    behind_ = std::move(record);
    fromNearest_ = fromNearest;
  }
  std::string_view name() const override { return "COLLSCAN"; }
  /// A tailable one reads what is new, again and again: its first pass is no burden that others should pass.
  FullScan fullScan() const override { return tailable_ ? FullScan::kNone : FullScan::kCollection; }
  bool isAscending() const override { return forward_; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override;
  Status onRestore() override;
  void describe(bson::Builder& out, bool counters) const override;
  const RowFilter* shownFilter() const override { return &filter_; }

 private:
  /// Places the cursor; true where it stands on the first row already.
  StatusWith<bool> open();
  StatusWith<bool> next();

  RowFilter filter_;
  bool forward_;
  bool tailable_;
  storage::RecordId behind_;
  bool fromNearest_ = false;
  bool open_ = false;
  bool done_ = false;
  storage::RecordCursor cursor_;
  int64_t examined_ = 0;
};

}  // namespace troupe::query
