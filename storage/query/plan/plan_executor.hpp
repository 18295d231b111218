#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "storage/query/plan/executor.hpp"
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// Runs a tree of stages. Made empty; the planner fills the context, then sets the tree.
class PlanExecutor final : public Executor {
 public:
  PlanExecutor(storage::CollectionPtr collection, storage::RecoveryUnit& unit, const ParseContext& parse);

  PlanContext& plan() { return plan_; }
  void setRoot(PlanStagePtr root);
  /// Plans that lost, for explain.
  void setRejected(std::vector<PlanStagePtr> rejected) { rejected_ = std::move(rejected); }

  StatusWith<Next> next() override;
  const storage::RecordId& recordId() const override { return row_.id; }
  StatusWith<bson::Document> indexKey() const override;
  StatusWith<int64_t> matchedArrayIndex() const override;
  void save() override;
  Status restore(storage::RecoveryUnit& unit, storage::Catalog& catalog) override;
  const ExecutionStats& stats() const override { return plan_.stats; }
  void explainPlanner(bson::Builder& out) const override;
  void explainExecution(bson::Builder& out) const override;

 private:
  bson::Document parsedQuery() const;
  void explainShape(bson::Builder& out) const;
  StatusWith<std::string> shapeOfLookup() const;
  Next endSlice();

  PlanContext plan_;
  PlanStagePtr root_;
  std::vector<PlanStagePtr> rejected_;
  Row row_;
  std::chrono::steady_clock::time_point opened_;
};

}  // namespace troupe::query
