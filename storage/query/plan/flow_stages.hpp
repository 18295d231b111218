#pragma once
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// EOF: nothing.
class NoRows final : public PlanStage {
 public:
  using PlanStage::PlanStage;
  std::string_view name() const override { return "EOF"; }

 protected:
  StatusWith<Step> advance(Row&) override { return Step::kEnd; }
};

/// SKIP: all rows but the first so many.
class SkipRows final : public PlanStage {
 public:
  SkipRows(PlanContext& plan, PlanStagePtr input, int64_t count)
      : PlanStage(plan, std::move(input)), count_(count), left_(count) {}
  std::string_view name() const override { return "SKIP"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void describe(bson::Builder& out, bool) const override { out.append("skipAmount", count_); }

 private:
  int64_t count_, left_;
};

/// LIMIT: the first so many rows.
class LimitRows final : public PlanStage {
 public:
  LimitRows(PlanContext& plan, PlanStagePtr input, int64_t count)
      : PlanStage(plan, std::move(input)), count_(count), left_(count) {}
  std::string_view name() const override { return "LIMIT"; }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void describe(bson::Builder& out, bool) const override { out.append("limitAmount", count_); }

 private:
  int64_t count_, left_;
};

}  // namespace troupe::query
