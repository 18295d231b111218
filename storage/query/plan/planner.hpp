#pragma once
#include <memory>
#include <vector>

#include "storage/query/plan/executor.hpp"
#include "storage/query/plan/index_matcher.hpp"
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// A way to the matching documents in the wanted order.
struct PlannedAccess {
  PlanStagePtr root;
  bool sorts = false;    ///< there is a blocking SORT
  bool limited = false;  ///< SORT keeps no more rows than skip and limit ask for
  bool covered = false;  ///< the rows' documents are projected already
};

struct PlannedChoice {
  PlannedAccess winner;
  std::vector<PlannedAccess> rejected;
};

/// Chooses how to reach the documents of a query: filter, sort and hint; skip, limit and projection come on top. Used
/// once, before execution; borrows the context and the request. Its loops over conditions, branches and indexes are
/// steps of the operation.
class Planner {
 public:
  Planner(PlanContext& plan, const FindRequest& request);
  /// Errors: BadValue (hint, min and max), NoQueryExecutionPlans (291), those of storage in a trial, of an interrupt.
  StatusWith<PlannedChoice> choose();

 private:
  /// One index, or one for each branch of an $or.
  struct Candidate {
    std::vector<std::shared_ptr<const IndexPlan>> scans;
    Conjuncts residual;
    bool providesSort = false;
    bool covered = false;
    bool isUnion() const { return scans.size() > 1; }
  };

  StatusWith<PlannedAccess> collectionScan(bool forward);
  PlanStagePtr scanByIdIndex(bool forward);
  bool isClusterKey(const IndexPlan& access) const;
  StatusWith<PlannedChoice> natural(const bson::Element& direction);
  StatusWith<storage::IndexPtr> hinted() const;
  StatusWith<PlannedChoice> byHint();
  StatusWith<PlannedChoice> byKeyRange(const storage::IndexPtr& index);
  StatusWith<PlannedChoice> among();
  bool mayUse(const storage::IndexEntry& index) const;

  StatusWith<std::vector<Candidate>> candidates();
  Status addUnions(std::vector<Candidate>& out);
  Candidate single(IndexPlan access) const;
  StatusWith<std::optional<Candidate>> unionFor(const MatchExpression& either);
  StatusWith<std::optional<IndexPlan>> bestForBranch(const MatchExpression& branch);
  bool covers(const IndexPlan& access) const;
  bool dominates(const Candidate& a, const Candidate& b) const;
  StatusWith<size_t> tryOut(const std::vector<Candidate>& candidates);

  bson::Element naturalOrder() const;
  PlannedAccess build(const Candidate& candidate);
  PlannedAccess sorted(PlanStagePtr root);

  PlanContext& plan_;
  const FindRequest& request_;
  PlannedIndexes indexes_;
  IndexQuery query_;
};

/// Whether `{_id: id}` finds at most one document, by the `_id` index or the cluster key.
bool isPointId(const bson::Element& id, const storage::Collection& collection, const bson::Collator* collator);

}  // namespace troupe::query
