#pragma once
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// PROJECTION_SIMPLE, PROJECTION_DEFAULT: the plan's projection of fetched documents.
class ProjectRows final : public PlanStage {
 public:
  /// `spec` is shown by explain.
  ProjectRows(PlanContext& plan, PlanStagePtr input, bson::View spec);
  std::string_view name() const override { return simple_ ? "PROJECTION_SIMPLE" : "PROJECTION_DEFAULT"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void describe(bson::Builder& out, bool) const override { out.append("transformBy", spec_); }

 private:
  bson::Document spec_;
  bool simple_;
  bson::Document current_;
  HeldMemory memory_{plan_.parse.work};  ///< of it
};

/// RECORD ID as a field `$recordId` (`showRecordId`).
class ShowRecordId final : public PlanStage {
 public:
  using PlanStage::PlanStage;
  std::string_view name() const override { return "PROJECTION_DEFAULT"; }

 protected:
  StatusWith<Step> advance(Row& row) override;

 private:
  bson::Document current_;
};

/// RETURN_KEY: instead of the document the index key it was found by; empty without an index.
class ReturnKey final : public PlanStage {
 public:
  using PlanStage::PlanStage;
  std::string_view name() const override { return "RETURN_KEY"; }

 protected:
  StatusWith<Step> advance(Row& row) override;

 private:
  bson::Document current_;
};

}  // namespace troupe::query
