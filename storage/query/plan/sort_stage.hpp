#pragma once
#include <string>

#include "storage/query/plan/plan_stage.hpp"
#include "storage/query/sort/sorter.hpp"

namespace troupe::query {

/// SORT: reads its whole input, then gives it in the order of the plan's sort pattern. Rows are copies; those that are
/// going to be written are read again when the snapshot changed meanwhile, and left out when they no longer match.
class SortRows final : public PlanStage {
 public:
  /// `limit` 0: all rows.
  SortRows(PlanContext& plan, PlanStagePtr input, SorterOptions options);
  std::string_view name() const override { return "SORT"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override { cursor_ = {}; }
  void describe(bson::Builder& out, bool counters) const override;

 private:
  Status add(const Row& row);
  void unpack(Row& row) const;
  StatusWith<bool> readAgain(Row& row);

  SorterOptions options_;
  std::unique_ptr<Sorter> sorter_;
  bool loaded_ = false;
  uint64_t loadedAt_ = 0;  ///< the plan's snapshot when the first row was read
  std::string current_;
  bson::Document currentKey_;
  storage::RecordCursor cursor_;
};

}  // namespace troupe::query
