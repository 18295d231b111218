#pragma once
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// IDHACK: the one document with an `_id`. The fastest plan there is: it allocates nothing for short ids.
class IdLookup final : public PlanStage {
 public:
  /// Takes a copy of the id. `filter`, if there is one, is what else the document must pass.
  IdLookup(PlanContext& plan, const bson::Element& id, const MatchExpression* filter = nullptr) : PlanStage(plan), id_(id), filter_(filter) {}
  std::string_view name() const override { return "IDHACK"; }
  bson::Element id() const { return id_.element(); }

 protected:
  StatusWith<Step> advance(Row& row) override;
  void onSave() override { cursor_ = {}; }
  void describe(bson::Builder& out, bool counters) const override;
  const RowFilter* shownFilter() const override { return &filter_; }

 private:
  bson::Value id_;
  RowFilter filter_;
  bool done_ = false;
  storage::RecordCursor cursor_;
  int64_t keys_ = 0, documents_ = 0;
};

}  // namespace troupe::query
