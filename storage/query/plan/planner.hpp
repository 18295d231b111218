#pragma once
#include <vector>

#include "storage/query/plan/executor.hpp"
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

/// Chooses how to reach the documents of a query: filter, sort and hint; skip, limit and projection come on top. Used once,
/// before execution; borrows the context and the request.
class Planner {
 public:
  Planner(PlanContext& plan, const FindRequest& request) : plan_(plan), request_(request) {}
  /// Errors: BadValue (hint, min and max), NoQueryExecutionPlans (291), those of storage in a trial.
  StatusWith<PlannedChoice> choose();

 private:
  StatusWith<PlannedAccess> collectionScan(bool forward);
  bson::Element naturalOrder() const;
  PlannedAccess sorted(PlanStagePtr root);

  PlanContext& plan_;
  const FindRequest& request_;
};

}  // namespace troupe::query
