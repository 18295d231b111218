#pragma once
#include <string>
#include <vector>

#include "storage/query/plan/index_plan.hpp"
#include "storage/query/plan/plan_stage.hpp"
#include "storage/records/record_id_set.hpp"

namespace troupe::query {

/// FETCH: the documents of the rows, straight from the engine's pages, that pass the rest of the filter.
class FetchRows final : public PlanStage {
 public:
  FetchRows(PlanContext& plan, PlanStagePtr input, Conjuncts residual)
      : PlanStage(plan, std::move(input)), filter_(std::move(residual)) {}
  std::string_view name() const override { return "FETCH"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override;
  void describe(bson::Builder& out, bool counters) const override;
  const RowFilter* shownFilter() const override { return &filter_; }

 private:
  RowFilter filter_;
  bool whole_ = false;  ///< it is the plan's
  storage::RecordCursor cursor_;
  bool open_ = false;
  int64_t documents_ = 0;
};

/// PROJECTION_COVERED: plain fields out of index keys, without the documents. A null in a key may stand for a missing
/// field: such rows are fetched after all.
class CoveredRows final : public PlanStage {
 public:
  CoveredRows(PlanContext& plan, PlanStagePtr input, bson::View spec, storage::IndexPtr index)
      : PlanStage(plan, std::move(input)), spec_(spec), index_(std::move(index)) {}
  std::string_view name() const override { return "PROJECTION_COVERED"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  Status onRestore() override;
  void describe(bson::Builder& out, bool) const override { out.append("transformBy", spec_); }

 private:
  StatusWith<bool> fromKey(const Row& row);
  StatusWith<bool> fromDocument(const Row& row);

  bson::Document spec_;
  storage::IndexPtr index_;
  bson::Document current_;
  HeldMemory memory_{plan_.parse.work};  ///< of it
};

/// OR: the rows of several scans one after the other, each record once.
class UnionRows final : public PlanStage {
 public:
  UnionRows(PlanContext& plan, std::vector<PlanStagePtr> inputs) : PlanStage(plan) { inputs_ = std::move(inputs); }
  std::string_view name() const override { return "OR"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void describe(bson::Builder& out, bool counters) const override;
  std::span<const PlanStagePtr> held() const override;

 private:
  size_t at_ = 0;
  storage::RecordIdSet seen_;
  HeldMemory memory_{plan_.parse.work};  ///< of `seen_`
  int64_t repeats_ = 0;
};

}  // namespace troupe::query
